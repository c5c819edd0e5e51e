// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The compact form of a trace: any bytes are read or refused, a failed write leaves the old
 * file, and the shipped trace is right.
 */
#include "trace/trace_file.h"
#include "trace_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <zstd.h>

static bool same_trace(const struct trace *a, const struct trace *b)
{
	bool same = a->count == b->count && a->failures == b->failures &&
		    a->bad_rows == b->bad_rows && a->two_responses == b->two_responses &&
		    !strcmp(a->attribution, b->attribution);

	for (size_t i = 0; same && i < a->count; i++) {
		const struct trace_request *x = &a->requests[i], *y = &b->requests[i];

		same = x->arrival_ns == y->arrival_ns && x->prompt_tokens == y->prompt_tokens &&
		       !memcmp(x->response_tokens, y->response_tokens,
			       sizeof(x->response_tokens));
	}
	return same;
}

/* Compact form */

/* A compact file of the 383 requests in @bytes; returns its size. */
static size_t small_compact(u8 *bytes, struct trace *trace)
{
	must_read(FIRST400, trace);
	ck_assert_int_eq(trace_write(out_path, trace, &error), 0);
	return get_file(out_path, bytes, FILE_BYTES_MAX);
}

static void assert_round_trip(const struct trace *trace)
{
	struct trace again;

	ck_assert_msg(!trace_write(out_path, trace, &error), "%s", error.text);
	must_read(out_path, &again);
	ck_assert(same_trace(trace, &again));
	trace_destroy(&again);
}

START_TEST(round_trip_keeps_one_response)
{
	struct trace trace;

	must_read(FIRST400, &trace);
	trace.bad_rows = 3;
	assert_round_trip(&trace);
	trace_destroy(&trace);
}
END_TEST

START_TEST(round_trip_keeps_two_responses_and_extremes)
{
	struct trace_request last = { U64_MAX, U32_MAX, { U32_MAX, 1 }, 0 };
	struct trace trace;

	trace_init(&trace);
	trace.two_responses = true;
	trace.failures = U64_MAX;
	memset(trace.attribution, 'x', sizeof(trace.attribution) - 1);
	add(&trace, 0, 127);
	add(&trace, 0, 128);
	ck_assert_int_eq(trace_append(&trace, &last, &error), 0);
	assert_round_trip(&trace);
	trace_destroy(&trace);
}
END_TEST

START_TEST(write_gives_the_same_bytes_again)
{
	static u8 once[FILE_BYTES_MAX], twice[FILE_BYTES_MAX];
	struct trace trace;
	size_t len;

	len = small_compact(once, &trace);
	ck_assert_int_eq(trace_write(out_path, &trace, &error), 0);
	ck_assert_uint_eq(get_file(out_path, twice, sizeof(twice)), len);
	ck_assert_mem_eq(once, twice, len);
	trace_destroy(&trace);
}
END_TEST

START_TEST(truncation_at_every_byte_fails_cleanly)
{
	static u8 bytes[FILE_BYTES_MAX];
	struct trace trace, cut;
	size_t len;

	len = small_compact(bytes, &trace);
	for (size_t i = 0; i < len; i++) {
		ck_assert_int_eq(read_bytes(bytes, i, TRACE_BAD_ROWS_FAIL, &cut),
				 -SIM_EXIT_USER);
		assert_empty(&cut);
		ck_assert_ptr_nonnull(strstr(error.text, in_path));
	}
	trace_destroy(&trace);
}
END_TEST

START_TEST(no_flipped_bit_gives_a_different_trace)
{
	static u8 bytes[FILE_BYTES_MAX];
	struct trace trace, flipped;
	size_t len, harmless = 0;

	len = small_compact(bytes, &trace);
	for (size_t bit = 0; bit < 8 * len; bit++) {
		bytes[bit / 8] ^= (u8)(1 << bit % 8);
		if (read_bytes(bytes, len, TRACE_BAD_ROWS_FAIL, &flipped)) {
			assert_empty(&flipped);
		} else {
			ck_assert_msg(same_trace(&trace, &flipped), "bit %zu", bit);
			harmless++;
		}
		trace_destroy(&flipped);
		bytes[bit / 8] ^= (u8)(1 << bit % 8);
	}
	/*
	 * zstd has bits without effect: one is reserved, others code symbols that do not occur.
	 */
	ck_assert_uint_lt(harmless, 8 * len / 100);
	trace_destroy(&trace);
}
END_TEST

START_TEST(bytes_after_the_frame_are_refused)
{
	static u8 bytes[FILE_BYTES_MAX];
	struct trace trace;
	char message[128];
	size_t len;

	len = small_compact(bytes, &trace);
	bytes[len] = '\n';
	snprintf(message, sizeof(message),
		 ": byte %zu: damaged compact trace: more bytes follow the frame", len);
	assert_refused_bytes(bytes, len + 1, message);
	trace_destroy(&trace);
}
END_TEST

/* Wrap @content into a frame, as "zstd FILE" does. Returns the length of @frame. */
static size_t pack(const void *content, size_t len, u8 frame[FILE_BYTES_MAX])
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t frame_len;

	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	frame_len = ZSTD_compress2(zstd, frame, FILE_BYTES_MAX, content, len);
	ck_assert(!ZSTD_isError(frame_len));
	ZSTD_freeCCtx(zstd);
	return frame_len;
}

/* Wrap @content into a frame and expect @message after the path. */
static void assert_content_refused(const void *content, size_t len, const char *message)
{
	static u8 frame[FILE_BYTES_MAX];

	assert_refused_bytes(frame, pack(content, len, frame), message);
}

/* Any form that is text is the same file after "zstd FILE"; gzip is named. */
START_TEST(text_is_read_from_zstd)
{
	static const char csv[] = "Timestamp,Request tokens,Response tokens\n1,2,3\n";
	static const char other[] = "time;tokens\n1;2\n";
	static u8 frame[FILE_BYTES_MAX];
	size_t len = pack(csv, strlen(csv), frame);
	struct trace trace;

	ck_assert_int_eq(read_bytes(frame, len, TRACE_BAD_ROWS_FAIL, &trace), 0);
	ck_assert_uint_eq(trace.count, 1);
	assert_request(&trace, 0, 1 * NS_PER_SEC, 2, 3, 3);
	trace_destroy(&trace);
	len = pack(other, strlen(other), frame);
	ck_assert_int_eq(read_bytes(frame, len, TRACE_BAD_ROWS_FAIL, &trace), -SIM_EXIT_USER);
	ck_assert_ptr_nonnull(strstr(error.text, ":1: unknown header"));
	assert_refused_bytes("\x1f\x8b\x08", 3,
			     ": is packed by gzip, allowed is a trace, plain or by zstd");
}
END_TEST

#define INVALID(at, problem) ": content byte " #at ": invalid compact trace: " problem
#define CONTENT(text, at, problem)                           \
	{                                                    \
		text, sizeof(text) - 1, INVALID(at, problem) \
	}

static const struct {
	const char *content;
	size_t len;
	const char *message;
} invalid[] = {
	CONTENT("", 0, "the magic is not GVMTRACE"),
	CONTENT("GVMTRASH\1\0", 0, "the magic is not GVMTRACE"),
	CONTENT("GVMTRACE", 8, "the version is cut off"),
	CONTENT("GVMTRACE\2\0\1\0\0\0\0\1\1", 8,
		"the version is not 1, the only one supported"),
	CONTENT("GVMTRACE\1\4\1\0\0\0\0\1\1", 9, "the flags have unknown bits"),
	CONTENT("GVMTRACE\1\2\1\0\0\0\0\1\1", 14, "the prefix hash is 0"),
	CONTENT("GVMTRACE\1\2\1\0\0\0\1\0\2\1\0", 18, "the prefix hashes are cut off"),
	CONTENT("GVMTRACE\1\0", 10, "the count is cut off"),
	CONTENT("GVMTRACE\1\0\0\0\0\0", 10, "the count is 0"),
	CONTENT("GVMTRACE\1\0\2\0\0\0\0\1\1\0\1", 10,
		"the count is more than the content can hold"),
	CONTENT("GVMTRACE\1\0\377\377\377\377\377\377\377\377\377\1\0\0\0\0\1\1", 10,
		"the count is more than the content can hold"),
	CONTENT("GVMTRACE\1\0\377\377\377\377\377\377\377\377\377\2\0\0\0\0\1\1", 10,
		"the count is too large"),
	CONTENT("GVMTRACE\1\0\201\0\0\0\0\0\1\1", 10, "the count is not in its shortest form"),
	CONTENT("GVMTRACE\1\0\1\0\0\200\4\0\1\1", 13, "the attribution's length is too large"),
	CONTENT("GVMTRACE\1\0\1\0\0\7GPT", 14, "the attribution is cut off"),
	CONTENT("GVMTRACE\1\0\1\0\0\3G\nT\0\1\1", 14, "the attribution has control characters"),
	CONTENT("GVMTRACE\1\0\1\0\0\0\0\0\1", 15, "the prompt is 0"),
	CONTENT("GVMTRACE\1\0\1\0\0\0\0\1\0", 16, "the generated response is 0"),
	CONTENT("GVMTRACE\1\1\1\0\0\0\0\1\1\0", 17, "the recorded response is 0"),
	CONTENT("GVMTRACE\1\0\1\0\0\0\0\200\200\200\200\20\1", 15, "the prompt is too large"),
	CONTENT("GVMTRACE\1\0\1\0\0\0\0\1\201", 16, "the generated response is cut off"),
	CONTENT("GVMTRACE\1\0\1\0\0\0\0\1\1\0", 17,
		"the content goes on after the last request"),
	CONTENT("GVMTRACE\1\0\2\0\0\0\1\1\1\377\377\377\377\377\377\377\377\377\1\1\1", 17,
		"the arrival is too large"),
};

START_TEST(invalid_content_is_refused_with_its_offset)
{
	assert_content_refused(invalid[_i].content, invalid[_i].len, invalid[_i].message);
}
END_TEST

START_TEST(a_frame_without_checksum_is_refused)
{
	u8 frame[128];
	size_t len;

	len = ZSTD_compress(frame, sizeof(frame), "GVMTRACE\1\0\1\0\0\0\0\1\1", 17, 3);
	assert_refused_bytes(
		frame, len,
		": byte 4: damaged compact trace: the frame has no content checksum");
}
END_TEST

/* 1 GiB and one byte of zeros, which compress to about 32 KiB. */
START_TEST(a_decompression_bomb_is_cut_off)
{
	static u8 zeros[1 << 20], frame[FILE_BYTES_MAX];
	ZSTD_outBuffer out = { frame, sizeof(frame), 0 };
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	ZSTD_inBuffer in;

	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	for (int i = 0; i <= 1024; i++) {
		in = (ZSTD_inBuffer){ zeros, i < 1024 ? sizeof(zeros) : 1, 0 };
		ZSTD_compressStream2(zstd, &out, &in, i < 1024 ? ZSTD_e_continue : ZSTD_e_end);
		ck_assert_uint_eq(in.pos, in.size);
	}
	ZSTD_freeCCtx(zstd);
	assert_refused_bytes(frame, out.pos,
			     ": the content exceeds 1 GiB, the most that is supported");
}
END_TEST

/* Writing */

START_TEST(an_unwritable_folder_is_named_and_left_empty)
{
	static const char path[] = "/proc/trace";
	struct trace trace;

	/*
	 * A folder without mode bits would not do: root may write into it, and tests often run
	 * as root.
	 */
	trace_init(&trace);
	add(&trace, 1, 1);
	ck_assert_int_eq(trace_write(path, &trace, &error), -SIM_EXIT_RUNTIME);
	ck_assert_str_eq(error.text, "/proc/trace: cannot write: No such file or directory");
	trace_destroy(&trace);
}
END_TEST

/* The fixture's teardown() proves that no temporary file is left. */
START_TEST(a_full_disk_is_named_and_leaves_the_old_file)
{
	const struct rlimit full = { 100, RLIM_INFINITY },
			    roomy = { RLIM_INFINITY, RLIM_INFINITY };
	char old[8] = "", expected[256];
	struct trace trace;

	must_read(FIRST400, &trace);
	put_file(out_path, "old", 3);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &full), 0);
	ck_assert_int_eq(trace_write(out_path, &trace, &error), -SIM_EXIT_RUNTIME);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &roomy), 0);
	snprintf(expected, sizeof(expected), "%s: cannot write: File too large", out_path);
	ck_assert_str_eq(error.text, expected);
	ck_assert_uint_eq(get_file(out_path, old, sizeof(old)), 3);
	ck_assert_str_eq(old, "old");
	trace_destroy(&trace);
}
END_TEST

START_TEST(write_does_not_replace_what_is_no_file)
{
	char expected[256];
	struct trace trace;

	trace_init(&trace);
	add(&trace, 1, 1);
	snprintf(expected, sizeof(expected), "%s: cannot write: is not a regular file", folder);
	ck_assert_int_eq(trace_write(folder, &trace, &error), -SIM_EXIT_USER);
	ck_assert_str_eq(error.text, expected);
	trace_destroy(&trace);
}
END_TEST

START_TEST(write_refuses_what_read_would_refuse)
{
	char expected[256];
	struct trace trace;

	trace_init(&trace);
	ck_assert_int_eq(trace_write(out_path, &trace, &error), -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "%s: the trace has no requests", out_path);
	ck_assert_str_eq(error.text, expected);
	add(&trace, 1, 1);
	strcpy(trace.attribution, "two\nlines");
	ck_assert_int_eq(trace_write(out_path, &trace, &error), -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "%s: the attribution has control characters",
		 out_path);
	ck_assert_str_eq(error.text, expected);
	trace_destroy(&trace);
}
END_TEST

/* The shipped trace */

START_TEST(the_shipped_trace_is_the_replayed_one)
{
	u64 prompt = 0, response[TRACE_RESPONSE_COUNT] = { 0 };
	struct trace trace;

	must_read(SHIPPED, &trace);
	ck_assert_uint_eq(trace.count, 3256);
	ck_assert_uint_eq(trace.failures, 0);
	ck_assert(trace.two_responses);
	assert_request(&trace, 0, 5 * NS_PER_SEC, 472, 18, 18);
	assert_request(&trace, 3255, UINT64_C(118848890000000), 238, 2, 209);
	for (size_t i = 0; i < trace.count; i++) {
		prompt += trace.requests[i].prompt_tokens;
		for (int kind = 0; kind < TRACE_RESPONSE_COUNT; kind++)
			response[kind] += trace.requests[i].response_tokens[kind];
	}
	ck_assert_uint_eq(prompt, 2090478);
	ck_assert_uint_eq(response[TRACE_RESPONSE_GENERATED], 729189);
	ck_assert_uint_eq(response[TRACE_RESPONSE_RECORDED], 858696);
	trace_destroy(&trace);
}
END_TEST

/* Two independent reconstructions: they must agree where they overlap. */
START_TEST(the_shipped_trace_begins_like_the_public_file)
{
	struct trace public, shipped;

	must_read(FIRST400, &public);
	must_read(SHIPPED, &shipped);
	for (size_t i = 0; i < public.count; i++) {
		const struct trace_request *request = &public.requests[i];

		ck_assert_uint_eq(request->arrival_ns, shipped.requests[i].arrival_ns);
		ck_assert_uint_eq(request->prompt_tokens, shipped.requests[i].prompt_tokens);
		ck_assert_uint_eq(request->response_tokens[TRACE_RESPONSE_RECORDED],
				  shipped.requests[i].response_tokens[TRACE_RESPONSE_RECORDED]);
	}
	trace_destroy(&public);
	trace_destroy(&shipped);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, text_is_read_from_zstd);
	tcase_add_test(tests, round_trip_keeps_one_response);
	tcase_add_test(tests, round_trip_keeps_two_responses_and_extremes);
	tcase_add_test(tests, write_gives_the_same_bytes_again);
	tcase_add_test(tests, truncation_at_every_byte_fails_cleanly);
	tcase_add_test(tests, no_flipped_bit_gives_a_different_trace);
	tcase_add_test(tests, bytes_after_the_frame_are_refused);
	tcase_add_loop_test(tests, invalid_content_is_refused_with_its_offset, 0,
			    COUNT(invalid));
	tcase_add_test(tests, a_frame_without_checksum_is_refused);
	tcase_add_test(tests, a_decompression_bomb_is_cut_off);
	tcase_add_test(tests, an_unwritable_folder_is_named_and_left_empty);
	tcase_add_test(tests, a_full_disk_is_named_and_leaves_the_old_file);
	tcase_add_test(tests, write_does_not_replace_what_is_no_file);
	tcase_add_test(tests, write_refuses_what_read_would_refuse);
	tcase_add_test(tests, the_shipped_trace_is_the_replayed_one);
	tcase_add_test(tests, the_shipped_trace_begins_like_the_public_file);
}

int main(void)
{
	return fixture_run("trace_file", add_tests);
}
