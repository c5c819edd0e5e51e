/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Control files as a real host has them: a short text each, in a directory per process and GPU.
 * A driver removes them when the process ends, even in the middle of a read.
 *
 * Which files there are, under which names, and what they hold is in the table of the core
 * (gvm/control.h). A file is sampled because it has a row there.
 */
#ifndef SIM_COLLECT_HOST_FILE_H
#define SIM_COLLECT_HOST_FILE_H

#include "gvm/control.h"

/* One reading. */
struct host_value {
	char text[GVM_CONTROL_TEXT_MAX]; /* one line: blanks in place of line ends */
	u64 number; /* the value, "max": U64_MAX; of gcgroup.stat the pending kernels */
};

/* A setting is written by users. All other files are counted by the driver. */
static inline bool host_file_is_setting(const struct gvm_control_file *file)
{
	return file->mode & 0222;
}

/*
 * Read @file in the open directory @dir, by its name or else its alias. Returns 0 or
 *   -ENOENT  it is not there, or not any more
 *   -EINVAL  its content is not of its kind; text has the content as far as it can be printed
 *   another -errno, such as -EACCES: it cannot be read, and *ret_value is not set.
 */
int host_file_read(int dir, const struct gvm_control_file *file, struct host_value *ret_value);

/* "bytes, or max": what @file may hold, for messages. */
const char *host_file_allowed(const struct gvm_control_file *file);

#endif
