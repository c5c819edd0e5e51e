// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/trace_file.h"

#include "results/results.h"
#include "timeline/timeline_trace.h"

int trace_file_write(struct writer *writer, const struct machine *machine,
		     struct sim_error *err)
{
	u64 form = machine->config->trace.form;
	int status;

	if (form == CFG_TRACE_NONE)
		return 0;
	status = writer_begin(writer, results_trace_names[form], err);
	if (!status) {
		writer->error = timeline_trace_write(machine, writer->stream);
		status = writer_end(writer, err);
	}
	return status;
}
