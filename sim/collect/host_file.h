/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Control files on a real host: short texts in a directory per process and GPU. A driver
 * removes them when the process ends, even in the middle of a read.
 *
 * The core's table (gvm/control.h) lists the files with their names and contents. Every file in
 * the table is sampled.
 */
#ifndef SIM_COLLECT_HOST_FILE_H
#define SIM_COLLECT_HOST_FILE_H

#include "gvm/control.h"

/* One reading. */
struct host_value {
	char text[GVM_CONTROL_TEXT_MAX]; /* one line: blanks in place of line ends */
	u64 number; /* the value, "max": U64_MAX; of gcgroup.stat the pending kernels */
};

/* Is the file a setting, which users write? The driver counts all others. */
static inline bool host_file_is_setting(const struct gvm_control_file *file)
{
	return file->mode & 0222;
}

/*
 * Read @file in the open directory @dir, by its name or else its alias. Returns 0 or
 *   -ENOENT  the file does not exist, or is gone
 *   -EINVAL  the content is not of the file's kind; text has what of it can be printed
 *   another -errno, such as -EACCES: the file cannot be read, and *ret_value is not set.
 */
int host_file_read(int dir, const struct gvm_control_file *file, struct host_value *ret_value);

/*
 * The number after @key in the text of a reading with lines of a key and a number, "high 7 oom
 * 1". False: it has no such key.
 */
bool host_file_number(const char *text, const char *key, u64 *ret_number);

/* "bytes, or max": what @file may hold, for messages. */
const char *host_file_allowed(const struct gvm_control_file *file);

#endif
