// SPDX-License-Identifier: MIT OR GPL-2.0
#include "sweep/slurm.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/error.h"

/* Print a word that the shell takes as it is, whatever is in it. */
static void print_quoted(FILE *stream, const char *text)
{
	putc('\'', stream);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stream);
		else
			putc(*text, stream);
	}
	putc('\'', stream);
}

/* Print a word of an #SBATCH line, where a backslash quotes and a doubled % is no pattern. */
static void print_sbatch_word(FILE *stream, const char *text)
{
	putc('"', stream);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', stream);
		if (*text == '%')
			putc('%', stream);
		putc(*text, stream);
	}
	putc('"', stream);
}

int slurm_print(FILE *stream, const char *file, const char *out, size_t tasks,
		const char *const *sets, size_t set_count, struct sim_error *err)
{
	char program[PATH_MAX], sweep[PATH_MAX], folder[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (length < 0)
		return sim_runtime_error(err, "/proc/self/exe: %s", strerror(errno));
	program[length] = '\0';
	if (!realpath(file, sweep))
		return sim_user_error(err, "%s: %s", file, strerror(errno));
	if (!realpath(out, folder))
		return sim_runtime_error(err, "%s: %s", out, strerror(errno));
	if (strpbrk(folder, "\r\n"))
		return sim_user_error(err, "--out: has a line end in its path, which a batch "
					   "script cannot name");
	fprintf(stream,
		"#!/bin/sh\n"
		"#SBATCH --job-name=gvmsim-sweep\n"
		"#SBATCH --array=0-%zu\n"
		"#SBATCH --output=",
		tasks - 1);
	print_sbatch_word(stream, folder);
	fputs("/slurm-%A_%a.out\n"
	      "# Each task makes its part of the runs and skips what is finished: a requeued "
	      "or\n"
	      "# repeated job repeats none. When all have ended, \"gvmsim sweep\" with the "
	      "same\n"
	      "# file and folder gathers the results.\n"
	      "exec ",
	      stream);
	print_quoted(stream, program);
	fputs(" sweep ", stream);
	print_quoted(stream, sweep);
	fputs(" --out ", stream);
	print_quoted(stream, folder);
	for (size_t i = 0; i < set_count; i++) {
		fputs(" --set ", stream);
		print_quoted(stream, sets[i]);
	}
	fprintf(stream, " --part \"$SLURM_ARRAY_TASK_ID/%zu\"\n", tasks);
	return 0;
}
