// SPDX-License-Identifier: MIT OR GPL-2.0
/* What all figures print; see figure.h. */
#include "cli/figure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/error.h"
#include "results/summary.h"
#include "results/writer.h"

int figure_flush(struct sim_error *err)
{
	if (fflush(stdout) || ferror(stdout))
		return sim_runtime_error(err, "standard output: cannot write: %s",
					 strerror(errno));
	return 0;
}

int figure_print_pictures(const char *name, const struct writer *writer, struct sim_error *err)
{
	printf("picture     %s/%s.svg\n", writer->folder, name);
	printf("%s/%s.png\n", writer->folder, name);
	return figure_flush(err);
}

void figure_print_failures(const char *prefix, const struct summary *summary)
{
	for (size_t i = 0; i < summary->container_count; i++)
		if (strcmp(summary->containers[i].status, SUMMARY_OK) != 0)
			printf("%s%s: %s\n", prefix, summary->containers[i].name,
			       summary->containers[i].status);
}
