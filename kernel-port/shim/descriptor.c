// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Descriptors of the shim, which live among those of the application. An application may close
 * all that it does not know, and then have a file of its own under the same number: nothing of
 * that may be read, written or closed.
 *
 * A number is ours if the inode behind it is. On Linux all eventfds, inotify descriptors and the
 * like have one inode. So each open file of ours has a mark, too: the signal that would tell of
 * its events. The kernel sends it only where O_ASYNC is set, which the shim never does.
 *
 * Between the look at a number and its use another thread may close it and open another file.
 * No system call does both at once.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim.h"

/* The C library keeps this signal to itself: no application has it for a file of its own. */
#define OUR_SIGNAL (SIGRTMIN - 1)

static bool same(const struct shim_descriptor *descriptor, const struct stat *info)
{
	return info->st_dev == descriptor->device && info->st_ino == descriptor->inode &&
	       fcntl(descriptor->fd, F_GETSIG) == descriptor->signal;
}

void descriptor_set(struct shim_descriptor *descriptor, int fd)
{
	struct stat info = { 0 };

	descriptor->signal = 0;
	if (fd >= 0) {
		fstat(fd, &info);
		fcntl(fd, F_SETSIG, OUR_SIGNAL);
		descriptor->signal = fcntl(fd, F_GETSIG);
	}
	descriptor->device = info.st_dev;
	descriptor->inode = info.st_ino;
	descriptor->fd = fd;
}

int descriptor_of(const struct shim_descriptor *descriptor)
{
	struct stat info;

	if (descriptor->fd < 0 || fstat(descriptor->fd, &info) || !same(descriptor, &info))
		return -1;
	return descriptor->fd;
}

void descriptor_close(struct shim_descriptor *descriptor)
{
	int fd = descriptor_of(descriptor);

	if (fd >= 0)
		close(fd);
	descriptor->fd = -1;
}
