// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads any bytes as a recorded trace of pages. Either they are one, and all of its runs are
 * within the memory. Or the mistake is told in one line, and nothing is left.
 */
#include "fuzz.h"
#include "trace/page_trace.h"

#define PAGES 1000

static void check_trace(const struct page_trace *trace)
{
	FUZZ_ASSERT(trace->kernel_count && trace->run_count >= trace->kernel_count);
	for (size_t i = 0; i < trace->kernel_count; i++) {
		const struct page_kernel *kernel = &trace->kernels[i];
		size_t end = page_trace_runs_end(trace, i);

		FUZZ_ASSERT(kernel->first_run < end && end <= trace->run_count);
		FUZZ_ASSERT(end - kernel->first_run <= trace->most_runs);
		FUZZ_ASSERT(!i || kernel[-1].start_ns <= kernel->start_ns);
		FUZZ_ASSERT(!trace->timed == !kernel->time_ns);
		FUZZ_ASSERT(trace->dated || !kernel->start_ns);
	}
	for (size_t i = 0; i < trace->run_count; i++)
		FUZZ_ASSERT(trace->runs[i].pages && trace->runs[i].page < PAGES &&
			    trace->runs[i].pages <= PAGES - trace->runs[i].page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_error err = { 0 };
	struct page_trace trace;
	struct fuzz_file file;
	int status;

	fuzz_file_open(&file, data, size);
	status = page_trace_read(file.path, PAGES, &trace, &err);
	fuzz_file_close(&file);
	fuzz_accepted = !status;
	if (status) {
		fuzz_check_mistake(status, &err);
		FUZZ_ASSERT(!trace.runs && !trace.kernels);
		return 0;
	}
	check_trace(&trace);
	page_trace_destroy(&trace);
	return 0;
}
