/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Between the files of gvm_selftest.ko. */
#ifndef GVM_SELFTEST_H
#define GVM_SELFTEST_H

#include <linux/fs.h>

/* selftest_space.c. Data: the device. */
extern const struct file_operations selftest_space_fops;

/* selftest_wrong.c. */
extern const struct file_operations selftest_wrong_fops;

/* selftest_second.c. The GPU appears or goes; returns 0 or -errno. CONTEXT: process. */
int selftest_second_set(bool present);
extern const struct file_operations selftest_second_fops;

#endif
