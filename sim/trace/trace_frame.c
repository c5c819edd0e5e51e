// SPDX-License-Identifier: MIT OR GPL-2.0
#include "trace/trace_frame.h"

#include "engine/error.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define TRACE_CONTENT_MAX ((size_t)1 << 30)

/* On 1.5 million generated rows, level 19 saved another 2 % and took five times as long. */
#define TRACE_FRAME_LEVEL 12

/* RFC 8878, 3.1.1.1.1: the descriptor follows the magic; this bit announces the checksum. */
#define TRACE_FRAME_DESCRIPTOR	     4
#define TRACE_FRAME_DESCRIPTOR_CHECK 0x04

int trace_content_reserve(struct trace_content *content, size_t more, struct sim_error *err)
{
	size_t capacity = content->capacity ? content->capacity : 4096;

	if (more > TRACE_CONTENT_MAX - content->len)
		return sim_user_error(err,
				      "the content exceeds 1 GiB, the most that is supported");
	while (capacity < content->len + more)
		capacity *= 2;
	if (capacity == content->capacity)
		return 0;
	if (!trace_store_grow(&content->store, capacity))
		return sim_runtime_error(err, "out of memory for %zu bytes of content",
					 capacity);
	content->data = content->store.data;
	content->capacity = capacity;
	return 0;
}

int trace_frame_compress(const struct trace_content *content, void **ret_frame, size_t *ret_len,
			 struct sim_error *err)
{
	size_t bound = ZSTD_compressBound(content->len);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	void *frame = malloc(bound);
	size_t len = 0;

	if (zstd && frame) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, TRACE_FRAME_LEVEL);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
		len = ZSTD_compress2(zstd, frame, bound, content->data, content->len);
	}
	ZSTD_freeCCtx(zstd);
	if (!len || ZSTD_isError(len)) {
		free(frame);
		return sim_runtime_error(err, "cannot compress: %s",
					 len ? ZSTD_getErrorName(len) : "out of memory");
	}
	*ret_frame = frame;
	*ret_len = len;
	return 0;
}

/* Report that the frame is wrong at byte @offset of the file. */
static int trace_frame_damaged(const char *path, u64 offset, const char *problem,
			       struct sim_error *err)
{
	return sim_user_error(err, "%s: byte %llu: damaged compact trace: %s", path, offset,
			      problem);
}

/* A frame while it is decompressed. */
struct trace_frame {
	FILE *file;	  /* borrowed */
	const char *path; /* for messages */
	ZSTD_DCtx *zstd;  /* owned */
	ZSTD_inBuffer in; /* the part of buf that is not decompressed yet */
	u64 consumed;	  /* bytes of the file before buf */
	u8 buf[1 << 16];  /* a piece of the file */
};

/* Read the next piece of the file. Returns its size, 0 at the end, or -SIM_EXIT_RUNTIME. */
static int trace_frame_fill(struct trace_frame *frame, struct sim_error *err)
{
	frame->consumed += frame->in.size;
	frame->in.src = frame->buf;
	frame->in.pos = 0;
	frame->in.size = fread(frame->buf, 1, sizeof(frame->buf), frame->file);
	if (ferror(frame->file))
		return sim_runtime_error(err, "%s: cannot read: %s", frame->path,
					 strerror(errno));
	return (int)frame->in.size;
}

/* Decompress one step. Returns 1; 0 when the frame is complete; a negative enum sim_exit. */
static int trace_frame_step(struct trace_frame *frame, struct trace_content *content,
			    struct sim_error *err)
{
	ZSTD_outBuffer out;
	size_t left;
	int status;

	status = trace_content_reserve(content, 1, err);
	if (status)
		return trace_error_at(frame->path, err, status);
	out.dst = content->data + content->len;
	out.size = content->capacity - content->len;
	out.pos = 0;
	left = ZSTD_decompressStream(frame->zstd, &out, &frame->in);
	if (ZSTD_isError(left))
		return trace_frame_damaged(frame->path, frame->consumed + frame->in.pos,
					   ZSTD_getErrorName(left), err);
	if (content->len / TRACE_STORE_MEMORY != (content->len + out.pos) / TRACE_STORE_MEMORY)
		trace_store_forget(&content->store);
	content->len += out.pos;
	if (!left || out.pos == out.size || frame->in.pos < frame->in.size)
		return left != 0;
	status = trace_frame_fill(frame, err);
	if (!status)
		return trace_frame_damaged(frame->path, frame->consumed, "is cut off", err);
	return status < 0 ? status : 1;
}

/* Decompress all of @frame. It begins the file, promises a checksum, and ends the file. */
static int trace_frame_read(struct trace_frame *frame, struct trace_content *content,
			    struct sim_error *err)
{
	static const u8 magic[] = { TRACE_FRAME_FIRST_BYTE, 0xb5, 0x2f, 0xfd };
	int status = trace_frame_fill(frame, err);
	u64 end;

	if (status < 0)
		return status;
	if (frame->in.size <= TRACE_FRAME_DESCRIPTOR ||
	    memcmp(frame->buf, magic, sizeof(magic)) != 0)
		return trace_frame_damaged(frame->path, 0, "is not a zstd frame", err);
	if (!(frame->buf[TRACE_FRAME_DESCRIPTOR] & TRACE_FRAME_DESCRIPTOR_CHECK))
		return trace_frame_damaged(frame->path, TRACE_FRAME_DESCRIPTOR,
					   "the frame has no content checksum", err);
	do {
		status = trace_frame_step(frame, content, err);
	} while (status > 0);
	end = frame->consumed + frame->in.pos;
	if (!status && frame->in.pos == frame->in.size)
		status = trace_frame_fill(frame, err);
	if (status < 0)
		return status;
	if (frame->in.pos < frame->in.size)
		return trace_frame_damaged(frame->path, end, "more bytes follow the frame",
					   err);
	return 0;
}

int trace_frame_decompress(FILE *file, const char *path, struct trace_content *content,
			   struct sim_error *err)
{
	struct trace_frame frame = { .file = file, .path = path };
	int status;

	frame.zstd = ZSTD_createDCtx();
	if (!frame.zstd)
		return sim_runtime_error(err, "%s: out of memory", path);
	status = trace_frame_read(&frame, content, err);
	ZSTD_freeDCtx(frame.zstd);
	return status;
}
