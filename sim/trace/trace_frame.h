/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The zstd frame that a compact trace is: exactly one, with a content checksum, and nothing
 * after it.
 *
 * zstd brings a checksum that covers all content. A frame without one is refused: one flipped
 * bit in the header of the frame turns the checksum off.
 */
#ifndef SIM_TRACE_TRACE_FRAME_H
#define SIM_TRACE_TRACE_FRAME_H

#include <stddef.h>
#include <stdio.h>

#include "engine/types.h"
#include "trace/trace_store.h"

struct sim_error;

/* The first byte of a frame: of the zstd magic number, little-endian 0xFD2FB528. */
#define TRACE_FRAME_FIRST_BYTE 0x28

/*
 * The content of a frame, growing. Start with zeros, and a folder in store.folder for a long
 * one. The caller frees @store.
 */
struct trace_content {
	u8 *data;
	size_t len;
	size_t capacity;
	struct trace_store store;
};

/*
 * Make room for @more bytes. Returns 0; -SIM_EXIT_USER above 1 GiB of content;
 * -SIM_EXIT_RUNTIME without memory. *err names no file.
 */
int trace_content_reserve(struct trace_content *content, size_t more, struct sim_error *err);

/*
 * Compress @content into the new buffer *@ret_frame, which the caller frees. The same libzstd
 * gives the same bytes. Returns 0 or -SIM_EXIT_RUNTIME; *err names no file.
 */
int trace_frame_compress(const struct trace_content *content, void **ret_frame, size_t *ret_len,
			 struct sim_error *err);

/*
 * Decompress @file, whose first byte is next, into the empty @content. Content is collected as
 * it comes out of the decompressor, never as the frame announces it. @path is for messages.
 * Returns 0 or a negative enum sim_exit with *err filled; @content may then hold a part.
 */
int trace_frame_decompress(FILE *file, const char *path, struct trace_content *content,
			   struct sim_error *err);

#endif
