/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Control files of the processes of this host, wherever they are: those of gvm.ko, of the
 * public GVM driver, and of the shim (kernel-port/shim), in directories ROOT/PID/GPU. gvm.ko
 * has ROOT/cgroup/PATH/GPU, too, for the cgroups that are containers.
 */
#ifndef SIM_CTL_HOST_FILES_H
#define SIM_CTL_HOST_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "engine/types.h"

#define CTL_TEXT_MAX	256
#define CTL_COMMAND_MAX 32
#define CTL_DAY_NS	86400000000000ull /* between two looks, at most: dates do not overflow */
#define CTL_MODULE_ROOT "/sys/kernel/gvm" /* there while gvm.ko is loaded */

struct ctl_container {
	u64 pid; /* 0: it is a cgroup */
	u64 gpu;
	char command[CTL_COMMAND_MAX]; /* as in /proc/PID/comm; "-": unknown, "(ended)" */
	bool ended;		       /* the process has gone, and left its files */
	char path[PATH_MAX];
	char cgroup[PATH_MAX]; /* "/tenant-a"; "" of a process */
};

/* All-zero is empty. Owned by the caller: ctl_list(), ctl_list_destroy(). */
struct ctl_list {
	struct ctl_container *containers;
	size_t count;
};

/*
 * Find all directories below @root, by process and GPU, and then those of cgroups. NULL: below
 * the directories of gvm.ko, of the public driver, and of the shim for the caller's environment
 * and user. A directory that cannot be read is left out. Returns 0 or -ENOMEM.
 */
int ctl_list(const char *root, struct ctl_list *ret_list);
void ctl_list_destroy(struct ctl_list *list);

/*
 * Check the folder that a user gives as root. Returns a text that says what is wrong, or NULL. A
 * missing folder is right: the first process may make it.
 */
const char *ctl_wrong_root(const char *root);

/*
 * The command's name in /proc/PID/comm, without control characters. False:
 * there is none to be read.
 */
bool ctl_command(u64 pid, char command[CTL_COMMAND_MAX]);

/*
 * Read a control file without the newline at its end, by its name or alias. Returns
 * 0 or -errno; then the text is empty. Control characters become '?': a file cannot
 * steer the user's terminal.
 */
int ctl_read(const struct ctl_container *container, const char *file, char text[CTL_TEXT_MAX]);

/* Write a control file. Returns 0 or -errno. *ret_inode: the file that was written. */
int ctl_write(const struct ctl_container *container, const char *file, const char *text,
	      ino_t *ret_inode);

/*
 * Are these files of the shim, which takes a write when its thread has read it, and then
 * replaces the file? Else a driver answers the write itself.
 */
bool ctl_is_shim(const struct ctl_container *container);

/* The file of that name now; 0: there is none. */
ino_t ctl_inode(const struct ctl_container *container, const char *file);

#endif
