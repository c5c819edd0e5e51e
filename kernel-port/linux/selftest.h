/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Calls between the files of gvm_selftest.ko. */
#ifndef GVM_SELFTEST_H
#define GVM_SELFTEST_H

#include <linux/fs.h>

/* selftest_space.c. The data of the file's inode is the device. */
extern const struct file_operations selftest_space_fops;

/* selftest_wrong.c. */
extern const struct file_operations selftest_wrong_fops;

/* selftest_second.c. Add or remove the second GPU. Returns 0 or -errno. CONTEXT: process. */
int selftest_second_set(bool present);
extern const struct file_operations selftest_second_fops;

#endif
