// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads any bytes as a trace. The first byte says whether bad rows are skipped, and how the
 * others are read: as they are, CSV or compact, or as the content of a compact file, whose
 * checksum no fuzzer would get right. Either they are a trace, which can be written and reads
 * back the same. Or the mistake is told in one line.
 */
#include "fuzz.h"
#include "trace/trace_file.h"
#include "trace/trace_info.h"
#include "trace/trace_read.h"

#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define HOW_SKIP_BAD   1u
#define HOW_COMPRESSED 2u

/* A compact file with this content. */
static void open_compressed(struct fuzz_file *file, const void *content, size_t size)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t room = ZSTD_compressBound(size);
	void *bytes = malloc(room);

	FUZZ_ASSERT(context && bytes);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	size = ZSTD_compress2(context, bytes, room, content, size);
	FUZZ_ASSERT(!ZSTD_isError(size));
	fuzz_file_open(file, bytes, size);
	ZSTD_freeCCtx(context);
	free(bytes);
}

static void check_requests(const struct trace *trace)
{
	FUZZ_ASSERT(trace->count > 0);
	for (size_t i = 0; i < trace->count; i++) {
		const struct trace_request *request = &trace->requests[i];

		FUZZ_ASSERT(!i || request[-1].arrival_ns <= request->arrival_ns);
		FUZZ_ASSERT(request->prompt_tokens && request->response_tokens[0] &&
			    request->response_tokens[1]);
	}
}

/* Every trace has statistics. */
static void check_info(const struct trace *trace)
{
	struct trace_info info;
	struct sim_error err = { 0 };

	FUZZ_ASSERT(trace_info_compute(trace, (struct trace_divisor){ 1, 1 }, &info, &err) ==
		    0);
	FUZZ_ASSERT(info.count == trace->count && info.rate_per_s >= 0);
	FUZZ_ASSERT(info.prompt.min <= info.prompt.max && info.prompt.p50 <= info.prompt.p99);
}

static void check_same(const struct trace *a, const struct trace *b)
{
	FUZZ_ASSERT(a->count == b->count && a->two_responses == b->two_responses);
	FUZZ_ASSERT(a->failures == b->failures && a->bad_rows == b->bad_rows);
	FUZZ_ASSERT(strcmp(a->attribution, b->attribution) == 0);
	FUZZ_ASSERT(memcmp(a->requests, b->requests, a->count * sizeof(*a->requests)) == 0);
}

/*
 * A written trace reads back the same. Writing renames a temporary file, so it needs a folder.
 */
static void check_written(const struct trace *trace)
{
	char folder[] = "/tmp/gvmsim-fuzz-XXXXXX";
	char path[sizeof(folder) + 16];
	struct sim_error err = { 0 };
	struct trace again;

	FUZZ_ASSERT(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trace", folder);
	FUZZ_ASSERT(trace_write(path, trace, &err) == 0);
	trace_init(&again);
	FUZZ_ASSERT(trace_read(path, TRACE_BAD_ROWS_FAIL, &again, &err) == 0);
	check_same(trace, &again);
	trace_destroy(&again);
	unlink(path);
	FUZZ_ASSERT(rmdir(folder) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t how = size ? data[0] : 0;
	struct sim_error err = { 0 };
	struct fuzz_file file;
	struct trace trace;
	int status;

	if (how & HOW_COMPRESSED)
		open_compressed(&file, data + 1, size - 1);
	else
		fuzz_file_open(&file, data + !!size, size - !!size);
	trace_init(&trace);
	status = trace_read(file.path,
			    how & HOW_SKIP_BAD ? TRACE_BAD_ROWS_SKIP : TRACE_BAD_ROWS_FAIL,
			    &trace, &err);
	fuzz_file_close(&file);
	fuzz_accepted = !status;
	if (status) {
		fuzz_check_mistake(status, &err);
		FUZZ_ASSERT(!trace.requests && !trace.count);
		return 0;
	}
	check_requests(&trace);
	check_info(&trace);
	check_written(&trace);
	trace_destroy(&trace);
	return 0;
}
