// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The compact form of a trace
 *
 * A file is one zstd frame (trace_frame.h). Its content is:
 *
 * 	offset  size    what
 * 	0       8       magic "GVMTRACE"
 * 	8       1       version, 1
 * 	9       1       flags: bit 0 set if the two responses differ, bit 1 if there are prefix
 * 	                hashes; others are 0
 * 	10      varint  requests, at least 1
 * 	        varint  recorded failures that the import skipped
 * 	        varint  bad rows that the import skipped
 * 	        varint  bytes of attribution, up to 511
 * 	        bytes   attribution: UTF-8, no control characters, no terminator
 * 	        varint  tokens that a prefix hash stands for, at least 1; only if flag bit 1 is set
 * 	        then for each request
 * 	        varint  arrival, nanoseconds since the request before (the first: since zero)
 * 	        varint  prompt tokens, 1 to 2^32 - 1
 * 	        varint  response tokens, generated, likewise
 * 	        varint  response tokens, recorded, likewise; only if flag bit 0 is set
 * 	        varint  each prefix hash of its prompt, as the difference from the hash before it
 * 	                plus 1 (the first of all: from 0), with its sign in the lowest bit; only
 * 	                if flag bit 1 is set
 *
 * A varint is an unsigned LEB128: 7 bits a byte, the lowest first, the top bit set in all but
 * the last. Only the shortest spelling of a number is valid, so a trace has one content. It
 * holds no date and no file name: the same import gives the same bytes with the same libzstd.
 *
 * Reading trusts nothing: the count of requests is refused if the bytes after it cannot hold
 * so many. trace_frame.h guards the frame, and trace_append() each request.
 */
#include "trace/trace_file.h"

#include "engine/error.h"
#include "engine/whole_file.h"
#include "trace/trace.h"
#include "trace/trace_frame.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define TRACE_FILE_MAGIC	 "GVMTRACE"
#define TRACE_FILE_MAGIC_BYTES	 8
#define TRACE_FILE_VERSION	 1
#define TRACE_FILE_TWO_RESPONSES 0x01
#define TRACE_FILE_HASHES	 0x02

/* The position of a reader in the content. */
struct trace_cursor {
	const u8 *data; /* borrowed */
	size_t len;
	size_t at;
	const char *path; /* for messages */
};

/* Append @len bytes. trace_content_reserve() has made room for them. */
static void trace_content_put(struct trace_content *content, const void *bytes, size_t len)
{
	assert(len <= content->capacity - content->len);
	memcpy(content->data + content->len, bytes, len);
	content->len += len;
}

static void trace_content_put_varint(struct trace_content *content, u64 value)
{
	u8 bytes[10];
	size_t len = 0;

	for (; value > 0x7f; value >>= 7)
		bytes[len++] = (u8)(0x80 | (value & 0x7f));
	bytes[len++] = (u8)value;
	trace_content_put(content, bytes, len);
}

/* Append all that stands before the first request. */
static int trace_encode_header(struct trace_content *content, const struct trace *trace,
			       struct sim_error *err)
{
	size_t attribution = strnlen(trace->attribution, sizeof(trace->attribution));
	const u8 head[] = { TRACE_FILE_VERSION,
			    (u8)((trace->two_responses ? TRACE_FILE_TWO_RESPONSES : 0) |
				 (trace->hash_tokens ? TRACE_FILE_HASHES : 0)) };
	const char *problem;
	int status;

	problem = trace_attribution_problem(trace->attribution, attribution);
	if (problem)
		return sim_user_error(err, "the attribution %s", problem);
	status = trace_content_reserve(content, 64 + attribution, err);
	if (status)
		return status;
	trace_content_put(content, TRACE_FILE_MAGIC, TRACE_FILE_MAGIC_BYTES);
	trace_content_put(content, head, sizeof(head));
	trace_content_put_varint(content, trace->count);
	trace_content_put_varint(content, trace->failures);
	trace_content_put_varint(content, trace->bad_rows);
	trace_content_put_varint(content, attribution);
	trace_content_put(content, trace->attribution, attribution);
	if (trace->hash_tokens)
		trace_content_put_varint(content, trace->hash_tokens);
	return 0;
}

/*
 * Hashes of a prompt are mostly numbered one after the other. So the difference from the
 * number after @last is mostly 0. Its sign goes to the lowest bit.
 */
static u64 trace_hash_pack(u64 hash, u64 last)
{
	u64 difference = hash - (last + 1);

	return difference << 1 ^ (difference >> 63 ? U64_MAX : 0);
}

static u64 trace_hash_unpack(u64 packed, u64 last)
{
	return (packed >> 1 ^ (packed & 1 ? U64_MAX : 0)) + last + 1;
}

/* Append the prefix hashes of @request; *@last is the one before them. */
static int trace_encode_hashes(struct trace_content *content, const struct trace *trace,
			       const struct trace_request *request, u64 *last,
			       struct sim_error *err)
{
	size_t count = trace_hash_count(trace, request);
	int status = trace_content_reserve(content, 10 * count, err);

	for (size_t i = 0; i < count && !status; i++) {
		u64 hash = trace->hashes[request->first_hash + i];

		trace_content_put_varint(content, trace_hash_pack(hash, *last));
		*last = hash;
	}
	return status;
}

/* Append all requests. */
static int trace_encode_requests(struct trace_content *content, const struct trace *trace,
				 struct sim_error *err)
{
	u64 last_ns = 0, last_hash = U64_MAX;
	int status;

	for (size_t i = 0; i < trace->count; i++) {
		const struct trace_request *request = &trace->requests[i];
		const u32 *response = request->response_tokens;

		assert(request->arrival_ns >= last_ns);
		status = trace_content_reserve(content, 4 * 10, err);
		if (status)
			return status;
		trace_content_put_varint(content, request->arrival_ns - last_ns);
		trace_content_put_varint(content, request->prompt_tokens);
		trace_content_put_varint(content, response[TRACE_RESPONSE_GENERATED]);
		if (trace->two_responses)
			trace_content_put_varint(content, response[TRACE_RESPONSE_RECORDED]);
		last_ns = request->arrival_ns;
		status = trace_encode_hashes(content, trace, request, &last_hash, err);
		if (status)
			return status;
	}
	return 0;
}

/* Make the bytes of the file, *@ret_frame, which the caller frees. */
static int trace_encode(const struct trace *trace, void **ret_frame, size_t *ret_len,
			struct sim_error *err)
{
	struct trace_content content = { 0 };
	int status;

	if (!trace->count)
		return sim_user_error(err, "the trace has no requests");
	status = trace_encode_header(&content, trace, err);
	if (!status)
		status = trace_encode_requests(&content, trace, err);
	if (!status)
		status = trace_frame_compress(&content, ret_frame, ret_len, err);
	trace_store_free(&content.store);
	return status;
}

/* Writing: the file */

int trace_write(const char *path, const struct trace *trace, struct sim_error *err)
{
	struct whole_file file;
	void *frame = NULL;
	size_t len = 0;
	int status = whole_file_open(&file, path, err);

	if (status)
		return status;
	status = trace_encode(trace, &frame, &len, err);
	if (status) {
		whole_file_abort(&file);
		return trace_error_at(path, err, status);
	}
	fwrite(frame, 1, len, file.stream);
	free(frame);
	return whole_file_commit(&file, err);
}

bool trace_file_is(const char *path)
{
	u8 begin[4096], magic[TRACE_FILE_MAGIC_BYTES];
	ZSTD_outBuffer out = { magic, sizeof(magic), 0 };
	ZSTD_inBuffer in = { begin, 0, 0 };
	ZSTD_DStream *stream = ZSTD_createDStream();
	FILE *file = fopen(path, "re");
	size_t status = 0;

	if (file)
		in.size = fread(begin, 1, sizeof(begin), file);
	while (stream && out.pos < out.size && in.pos < in.size && !ZSTD_isError(status))
		status = ZSTD_decompressStream(stream, &out, &in);
	if (file)
		fclose(file);
	ZSTD_freeDStream(stream);
	return out.pos == out.size && !memcmp(magic, TRACE_FILE_MAGIC, TRACE_FILE_MAGIC_BYTES);
}

/* Report that @what, at byte @at of the content, has @problem. */
static int trace_cursor_error(const struct trace_cursor *cursor, size_t at, const char *what,
			      const char *problem, struct sim_error *err)
{
	return sim_user_error(err, "%s: content byte %zu: invalid compact trace: %s %s",
			      cursor->path, at, what, problem);
}

/* Take @len bytes. Returns NULL if there are fewer. */
static const u8 *trace_cursor_take(struct trace_cursor *cursor, size_t len)
{
	const u8 *bytes = cursor->data + cursor->at;

	if (len > cursor->len - cursor->at)
		return NULL;
	cursor->at += len;
	return bytes;
}

/* Take a varint of at most @max; @what names it in errors. */
static int trace_cursor_varint(struct trace_cursor *cursor, const char *what, u64 max,
			       u64 *ret_value, struct sim_error *err)
{
	unsigned int shift = 0;
	size_t start = cursor->at;
	u64 value = 0;
	u8 byte;

	do {
		if (cursor->at == cursor->len)
			return trace_cursor_error(cursor, start, what, "is cut off", err);
		byte = cursor->data[cursor->at++];
		/* The tenth byte has room for one bit, and none for a promise of more. */
		if (shift == 63 && byte > 1)
			return trace_cursor_error(cursor, start, what, "is too large", err);
		value |= (u64)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);

	if (!byte && shift > 7)
		return trace_cursor_error(cursor, start, what, "is not in its shortest form",
					  err);
	if (value > max)
		return trace_cursor_error(cursor, start, what, "is too large", err);
	*ret_value = value;
	return 0;
}

/* Take a number of tokens, at least 1. @what names it in errors. */
static int trace_decode_tokens(struct trace_cursor *cursor, const char *what, u32 *ret_tokens,
			       struct sim_error *err)
{
	size_t start = cursor->at;
	u64 tokens;
	int status;

	status = trace_cursor_varint(cursor, what, U32_MAX, &tokens, err);
	if (status)
		return status;
	if (!tokens)
		return trace_cursor_error(cursor, start, what, "is 0", err);
	*ret_tokens = (u32)tokens;
	return 0;
}

/* Take all that stands before the first request. *@ret_count is how many requests follow. */
static int trace_decode_header(struct trace_cursor *cursor, struct trace *trace, u64 *ret_count,
			       struct sim_error *err)
{
	const u8 *magic = trace_cursor_take(cursor, TRACE_FILE_MAGIC_BYTES);
	const u8 *head = trace_cursor_take(cursor, 2);
	size_t count_at, text_at, request_bytes;
	const char *problem;
	const u8 *text;
	u64 len = 0;
	int status;

	if (!magic || memcmp(magic, TRACE_FILE_MAGIC, TRACE_FILE_MAGIC_BYTES) != 0)
		return trace_cursor_error(cursor, 0, "the magic", "is not " TRACE_FILE_MAGIC,
					  err);
	if (!head)
		return trace_cursor_error(cursor, cursor->at, "the version", "is cut off", err);
	if (head[0] != TRACE_FILE_VERSION)
		return trace_cursor_error(cursor, 8, "the version",
					  "is not 1, the only one supported", err);
	if (head[1] & ~(TRACE_FILE_TWO_RESPONSES | TRACE_FILE_HASHES))
		return trace_cursor_error(cursor, 9, "the flags", "have unknown bits", err);
	trace->two_responses = head[1] & TRACE_FILE_TWO_RESPONSES;

	count_at = cursor->at;
	status = trace_cursor_varint(cursor, "the count", U64_MAX, ret_count, err);
	if (!status)
		status = trace_cursor_varint(cursor, "the failures", U64_MAX, &trace->failures,
					     err);
	if (!status)
		status = trace_cursor_varint(cursor, "the bad rows", U64_MAX, &trace->bad_rows,
					     err);
	if (!status)
		status = trace_cursor_varint(cursor, "the attribution's length",
					     sizeof(trace->attribution) - 1, &len, err);
	if (status)
		return status;

	text_at = cursor->at;
	text = trace_cursor_take(cursor, (size_t)len);
	problem = text ? trace_attribution_problem((const char *)text, (size_t)len) :
			 "is cut off";
	if (problem)
		return trace_cursor_error(cursor, text_at, "the attribution", problem, err);
	memcpy(trace->attribution, text, (size_t)len); /* trace_init() has cleared the rest */

	if (head[1] & TRACE_FILE_HASHES) {
		status = trace_decode_tokens(cursor, "the prefix hash", &trace->hash_tokens,
					     err);
		if (status)
			return status;
	}
	request_bytes = (trace->two_responses ? 4u : 3u) + (trace->hash_tokens ? 1 : 0);
	if (!*ret_count)
		return trace_cursor_error(cursor, count_at, "the count", "is 0", err);
	if (*ret_count > (cursor->len - cursor->at) / request_bytes)
		return trace_cursor_error(cursor, count_at, "the count",
					  "is more than the content can hold", err);
	return 0;
}

/* Take a request. The request before it arrived at @last_ns. */
static int trace_decode_request(struct trace_cursor *cursor, bool two_responses, u64 last_ns,
				struct trace_request *request, struct sim_error *err)
{
	u32 *response = request->response_tokens;
	u64 delta_ns;
	int status;

	status = trace_cursor_varint(cursor, "the arrival", U64_MAX - last_ns, &delta_ns, err);
	if (!status)
		status =
			trace_decode_tokens(cursor, "the prompt", &request->prompt_tokens, err);
	if (!status)
		status = trace_decode_tokens(cursor, "the generated response",
					     &response[TRACE_RESPONSE_GENERATED], err);
	if (status)
		return status;
	request->arrival_ns = last_ns + delta_ns;
	response[TRACE_RESPONSE_RECORDED] = response[TRACE_RESPONSE_GENERATED];
	if (!two_responses)
		return 0;
	return trace_decode_tokens(cursor, "the recorded response",
				   &response[TRACE_RESPONSE_RECORDED], err);
}

/* Take the prefix hashes of @request; *@last is the one before them. */
static int trace_decode_hashes(struct trace_cursor *cursor, struct trace *trace,
			       struct trace_request *request, u64 *last, struct sim_error *err)
{
	size_t start = cursor->at;
	u64 packed = 0;
	int status;

	/* Each takes a byte: a prompt that claims more is refused before memory is taken. */
	if (trace_hash_count(trace, request) > cursor->len - cursor->at)
		return trace_cursor_error(cursor, start, "the prefix hashes", "are cut off",
					  err);
	status = trace_append_hashes(trace, request, err);
	if (status)
		return trace_error_at(cursor->path, err, status);
	for (size_t i = 0; i < trace_hash_count(trace, request) && !status; i++) {
		status = trace_cursor_varint(cursor, "a prefix hash", U64_MAX, &packed, err);
		*last = trace_hash_unpack(packed, *last);
		trace->hashes[request->first_hash + i] = *last;
	}
	return status;
}

/* Take the whole content, which is in @content. */
static int trace_decode(struct trace_cursor *cursor, const struct trace_store *content,
			struct trace *trace, struct sim_error *err)
{
	struct trace_request request = { 0 };
	u64 count = 0, last_hash = U64_MAX;
	int status;

	status = trace_decode_header(cursor, trace, &count, err);
	while (!status && trace->count < count) {
		if (trace->count % TRACE_PASSED == 0)
			trace_store_forget(content);
		status = trace_decode_request(cursor, trace->two_responses, request.arrival_ns,
					      &request, err);
		if (!status)
			status = trace_decode_hashes(cursor, trace, &request, &last_hash, err);
		if (status)
			break;
		status = trace_append(trace, &request, err);
		if (status)
			return trace_error_at(cursor->path, err, status);
	}
	if (!status && cursor->at < cursor->len)
		return trace_cursor_error(cursor, cursor->at, "the content",
					  "goes on after the last request", err);
	return status;
}

int trace_file_read(const struct trace_content *content, const char *path, struct trace *trace,
		    struct sim_error *err)
{
	struct trace_cursor cursor = {
		.data = content->data,
		.len = content->len,
		.path = path,
	};

	return trace_decode(&cursor, &content->store, trace, err);
}
