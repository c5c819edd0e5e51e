/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Control files as a real host has them: a short text each, in a directory per process and GPU.
 * A driver removes them when the process ends, be it in the middle of a read.
 *
 * The names are those of sim/core (gvm/control.h) and, as aliases, of the public GVM driver.
 */
#ifndef SIM_COLLECT_HOST_FILE_H
#define SIM_COLLECT_HOST_FILE_H

#include "gvm/control.h"

/* Settings come first: a sample that sees a new setting sees at least what was then in use. */
enum host_file_id {
	HOST_LIMIT_HIGH,
	HOST_LIMIT_LOW,
	HOST_HMEM_LIMIT,
	HOST_TIMESLICE,
	HOST_PRIORITY,
	HOST_WEIGHT,
	HOST_FREEZE,
	HOST_CURRENT,
	HOST_PEAK,
	HOST_SWAP,
	HOST_CLEAN,
	HOST_EVENTS,
	HOST_STAT,
	HOST_FILES,
};

/* What a file may hold. */
enum host_file_kind {
	HOST_BYTES,	   /* "6000000000" or "max" */
	HOST_NUMBER,	   /* "8" */
	HOST_MICROSECONDS, /* "2048us" */
	HOST_KEYED,	   /* lines of "key number" or "key: number" */
};

struct host_file {
	const char *name;
	const char *alias; /* in the public GVM driver; NULL: the same, or it has none */
	enum host_file_kind kind;
	bool setting; /* somebody wrote it; the others are counted by the driver */
};

extern const struct host_file host_files[HOST_FILES];

/* What was read. */
struct host_value {
	char text[GVM_CONTROL_TEXT_MAX]; /* one line: blanks in place of line ends */
	u64 number; /* the value, "max": U64_MAX; of gcgroup.stat the pending kernels */
};

/*
 * Read file @id in the open directory @dir, by its name or else its alias. Returns 0 or
 *   -ENOENT  it is not there, or not any more
 *   -EINVAL  it holds something else than it should, which is in text as far as it can be printed
 *   or why it cannot be read, such as -EACCES; then *ret_value is not set.
 */
int host_file_read(int dir, enum host_file_id id, struct host_value *ret_value);

/* "bytes or max": what a file of this kind holds, for messages. */
const char *host_file_allowed(enum host_file_id id);

#endif
