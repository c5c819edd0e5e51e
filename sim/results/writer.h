/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Writes a set of files into a folder so that there are never half results.
 *
 * Each file is first written to a temporary file beside it and synced to the disk. When all of
 * them are complete, they are renamed over the old ones, one by one. Other files in the folder
 * stay. On failure the writer removes the temporary files and the folders that it created. While
 * it has temporary files, it holds a shared lock on the folder, which the kernel releases however
 * the process ends. Two writers that end at once put their files in place one after the other.
 */
#ifndef SIM_RESULTS_WRITER_H
#define SIM_RESULTS_WRITER_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "engine/temporary.h"

struct sim_error;

#define WRITER_FILES_MAX  12
#define WRITER_MADE_MAX	  32 /* folders beyond that stay when writing fails */
#define WRITER_NAME_MAX	  64
#define WRITER_FOLDER_MAX (PATH_MAX - 2 * WRITER_NAME_MAX)

/* Owned by the caller: writer_open(), then writer_commit() or writer_abort(). */
struct writer {
	char folder[WRITER_FOLDER_MAX];
	size_t made[WRITER_MADE_MAX]; /* folders that were created, as lengths of the path */
	size_t made_count;
	char names[WRITER_FILES_MAX][WRITER_NAME_MAX]; /* files that have a temporary file */
	size_t count;
	char mark[TEMPORARY_MARK_MAX]; /* what the names of its temporary files end with */
	int lock;     /* descriptor of the folder while it has temporary files; -1: none */
	int excludes; /* descriptor of the lock of writer_exclude(); -1: none */
	bool packs;   /* CSV files get PACKED_ENDING and are compressed (results/packed.h) */
	FILE *stream; /* the last file, while it is open */
	FILE *below;  /* the file itself, if stream compresses into it; else NULL */
	int error;    /* first errno of writing the last file */
};

/*
 * Make @folder with its parents and prove that files can be written into it. Returns 0 or
 * -SIM_EXIT_RUNTIME; then nothing is left behind.
 */
int writer_open(struct writer *writer, const char *folder, struct sim_error *err);

/* Can a file of this name be put in place? A folder of that name is an error. */
int writer_check(const struct writer *writer, const char *name, struct sim_error *err);

/*
 * Begin file @name, print into it, and end it. Files are written one at a time, at most
 * WRITER_FILES_MAX of them. Begin and end return 0, or -SIM_EXIT_RUNTIME and an error that
 * names the file. An error of printing is returned by writer_end().
 */
int writer_begin(struct writer *writer, const char *name, struct sim_error *err);
void writer_printf(struct writer *writer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void writer_put(struct writer *writer, const char *bytes, size_t count);
int writer_end(struct writer *writer, struct sim_error *err);

/* The path of file @name until it is committed, for another program that writes it. */
void writer_temporary_path(const struct writer *writer, const char *name, char *ret_path,
			   size_t size);

/*
 * Keep other writers from putting files into this folder, until writer_commit() or writer_abort().
 * Waits while another one does so, no longer than ten seconds. Where there are no locks, none is
 * kept out. writer_commit() calls it. It is called before where more has to be done together.
 */
void writer_exclude(struct writer *writer);

/*
 * Put all files in place, in the order in which they were begun. The older file of another form
 * goes when the new one is in place, plain or compressed. On failure the rest is removed. Returns
 * 0 or -SIM_EXIT_RUNTIME.
 */
int writer_commit(struct writer *writer, struct sim_error *err);

/* Is a file @name to be put in place, plain or compressed? */
bool writer_has(const struct writer *writer, const char *name);

/* Remove the file @name from the folder, plain or compressed. */
void writer_remove(const struct writer *writer, const char *name);

/*
 * Remove temporary files that killed processes left, if no other writer has any in the folder.
 * This writer has none yet. Removes nothing where there are no locks.
 */
void writer_remove_stale(const struct writer *writer);

/*
 * Remove all files that are not committed. Does nothing after writer_commit() or a second time.
 */
void writer_abort(struct writer *writer);

#endif
