/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Files of gvmfence's commands. */
#ifndef KERNEL_PORT_GUARDIAN_SOURCE_H
#define KERNEL_PORT_GUARDIAN_SOURCE_H

#include "ptx_parse.h"

/*
 * A file of PTX, read and cut into tokens. Owned by the caller:
 * source_read(), source_destroy().
 */
struct source {
	char *bytes;
	struct ptx_text text;
};

/* Read @path; "-" is standard input. Returns 0 or a negative enum sim_exit. */
int source_read(const char *path, struct source *ret_source, struct sim_error *err);
void source_destroy(struct source *source);

/* Write a file as a whole or not at all; NULL or "-": standard output. */
int source_write(const char *path, const char *bytes, size_t size, struct sim_error *err);

#endif
