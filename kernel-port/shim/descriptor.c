// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Descriptors of the shim, which live among those of the application. An application may close
 * all that it does not know, and then have a file of its own under the same number: nothing of
 * that may be read, written or closed.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "shim.h"

static bool same(const struct shim_descriptor *descriptor, const struct stat *info)
{
	return info->st_dev == descriptor->device && info->st_ino == descriptor->inode;
}

void descriptor_set(struct shim_descriptor *descriptor, int fd)
{
	struct stat info = { 0 };

	if (fd >= 0)
		fstat(fd, &info);
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
