// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Two forms of traces are in JSON: Mooncake's lines (trace_jsonl.c), and the one object of vLLM's
 * benchmark client (trace_vllm.c). The first key that only one of them has tells the form. A
 * line is no measure: tools that print JSON spread one object over many lines.
 *
 * A file without such a key is read as Mooncake's, whose reader names the line. The file may be
 * a pipe, so the bytes that were looked at are kept and read again.
 */
#include "trace/trace_json.h"

#include "engine/error.h"
#include "trace/trace.h"
#include "trace/trace_jsonl.h"
#include "trace/trace_vllm.h"

#include <stdbool.h>
#include <string.h>

/* vLLM's own keys stand in the first kilobyte, and Mooncake's at the head of a line. */
#define JSON_HEAD_MAX 8192

/* A file, and its first bytes, which were read already. */
struct json_head {
	FILE *file; /* borrowed */
	char bytes[JSON_HEAD_MAX];
	size_t len;
	size_t at; /* of the second reading */
};

static bool json_is_among(const char *key, size_t len, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == len && !memcmp(*names, key, len))
			return true;
	return false;
}

/* The next byte, which is kept; EOF also where there is no more room. */
static int json_next(struct json_head *head)
{
	int c = head->len < sizeof(head->bytes) ? getc(head->file) : EOF;

	if (c != EOF)
		head->bytes[head->len++] = (char)c;
	return c;
}

/* Read on to the end of a string whose quote was read. Returns its length. */
static size_t json_string(struct json_head *head)
{
	size_t start = head->len;
	int c;

	while ((c = json_next(head)) != EOF && c != '"')
		if (c == '\\')
			json_next(head);
	return head->len - start - (c != EOF);
}

/* Look for a key that only one form has, in the first object. */
static bool json_is_vllm(struct json_head *head)
{
	static const char *const vllm[] = {
		"num_prompts", "request_throughput", "start_times", "ttfts",	       "itls",
		"input_lens",  "output_lens",	     "errors",	    "generated_texts", NULL
	};
	static const char *const mooncake[] = { "timestamp", "input_length", "output_length",
						"hash_ids", NULL };
	int c, last = 0, depth = 0;

	while ((c = json_next(head)) != EOF) {
		if (c == '{' || c == '[')
			depth++;
		if ((c == '}' || c == ']') && --depth <= 0)
			return false;
		if (c == '"') {
			const char *key = head->bytes + head->len;
			size_t len = json_string(head);
			bool is_key = depth == 1 && last != ':';

			if (is_key && json_is_among(key, len, vllm))
				return true;
			if (is_key && json_is_among(key, len, mooncake))
				return false;
		}
		if (!strchr(" \t\r\n", c))
			last = c;
	}
	return false;
}

static ssize_t json_read_again(void *cookie, char *bytes, size_t size)
{
	struct json_head *head = cookie;
	size_t left = head->len - head->at;

	if (left) {
		size = left < size ? left : size;
		memcpy(bytes, head->bytes + head->at, size);
		head->at += size;
		return (ssize_t)size;
	}
	size = fread(bytes, 1, size, head->file);
	return ferror(head->file) ? -1 : (ssize_t)size;
}

int trace_json_read(FILE *file, const char *path, enum trace_bad_rows bad_rows,
		    struct trace *trace, struct sim_error *err)
{
	static const cookie_io_functions_t calls = { .read = json_read_again };
	struct json_head head = { .file = file };
	bool vllm = json_is_vllm(&head);
	FILE *again = fopencookie(&head, "r", calls);
	int status;

	if (!again)
		return sim_runtime_error(err, "%s: out of memory", path);
	status = vllm ? trace_vllm_read(again, path, bad_rows, trace, err) :
			trace_jsonl_read(again, path, bad_rows, trace, err);
	fclose(again);
	return status;
}
