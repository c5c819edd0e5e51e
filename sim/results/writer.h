/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Writing a set of files into a folder so that there are never half results.
 *
 * Each file is written completely to a temporary neighbour and put on the disk; only when all of
 * them are there are they renamed over the old ones, one by one. Other files in the folder are
 * left alone. If anything fails, the temporary files go, and so do folders that were made for it.
 */
#ifndef SIM_RESULTS_WRITER_H
#define SIM_RESULTS_WRITER_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct sim_error;

#define WRITER_FILES_MAX  8
#define WRITER_MADE_MAX	  32 /* folders beyond that stay when writing fails */
#define WRITER_NAME_MAX	  64
#define WRITER_FOLDER_MAX (PATH_MAX - 2 * WRITER_NAME_MAX)

/* Owned by the caller: writer_open(), then writer_commit() or writer_abort(). */
struct writer {
	char folder[WRITER_FOLDER_MAX];
	size_t made[WRITER_MADE_MAX]; /* which parts of it we made: their lengths */
	size_t made_count;
	char names[WRITER_FILES_MAX][WRITER_NAME_MAX]; /* whose temporary files exist */
	size_t count;
	FILE *stream; /* of the last of them, while it is open */
	int error;    /* first errno of writing it */
};

/*
 * Make @folder with its parents and prove that files can be written into it. Returns 0 or
 * -SIM_EXIT_RUNTIME, having left nothing behind.
 */
int writer_open(struct writer *writer, const char *folder, struct sim_error *err);

/* Can a file of this name be put in place? Something else than a file may stand there. */
int writer_check(const struct writer *writer, const char *name, struct sim_error *err);

/*
 * Begin file @name, at most WRITER_FILES_MAX of them and one at a time; print into it; end it.
 * Begin and end return 0 or -SIM_EXIT_RUNTIME and an error that names the file; printing
 * remembers its errors for writer_end().
 */
int writer_begin(struct writer *writer, const char *name, struct sim_error *err);
void writer_printf(struct writer *writer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int writer_end(struct writer *writer, struct sim_error *err);

/* Where file @name is until it is committed: for programs that we let write it. */
void writer_temporary_path(const struct writer *writer, const char *name, char *ret_path,
			   size_t size);

/* Put all files in place. On failure the rest is removed. Returns 0 or -SIM_EXIT_RUNTIME. */
int writer_commit(struct writer *writer, struct sim_error *err);

/* After writer_commit(): an older file of this name is no part of what was written, and goes. */
void writer_remove(const struct writer *writer, const char *name);

/* Remove whatever is not committed. After writer_commit() or a second time: nothing. */
void writer_abort(struct writer *writer);

#endif
