/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A file that appears whole or not at all. It is filled under a name beside its
 * own, and renamed when all bytes have reached the disk. So a full disk, a crash or
 * a signal leaves the old file. Of several writers of one file, the last one's stands. The part
 * that a killed one left is removed by the next one.
 */
#ifndef SIM_ENGINE_WHOLE_FILE_H
#define SIM_ENGINE_WHOLE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "engine/error.h"

struct whole_file {
	FILE *stream; /* to write to, between open and commit or abort */
	char path[PATH_MAX];
	char beside[PATH_MAX];
	int lock; /* of the folder, see temporary.h; -1: none */
};

/*
 * Begin to write the file @path. There is a regular file now, or nothing: a device or a FIFO is
 * refused, since the rename would replace /dev/null by a file. A file that is replaced keeps its
 * mode. Returns 0 or a negative enum sim_exit; after 0 the caller calls one of the two below.
 */
int whole_file_open(struct whole_file *file, const char *path, struct sim_error *err);

/* Are @path and @other the same file or folder? An output must not replace its input. */
bool whole_file_is(const char *path, const char *other);

/*
 * Give the file its name. Returns 0, or -SIM_EXIT_RUNTIME: a write failed, this one or an
 * earlier one to the stream, and the old file stands.
 */
int whole_file_commit(struct whole_file *file, struct sim_error *err);

/* Drop what was written. The old file stands. */
void whole_file_abort(struct whole_file *file);

#endif
