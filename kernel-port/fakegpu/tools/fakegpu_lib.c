// SPDX-License-Identifier: MIT OR GPL-2.0
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fakegpu_lib.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int fakegpu_ioctl(int fd, unsigned long command, void *argument)
{
	return ioctl(fd, command, argument) ? errno : 0;
}

int fakegpu_open_device(unsigned int gpu, int *ret_fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/dev/gvm_fakegpu%u", gpu);
	*ret_fd = open(path, O_RDWR | O_CLOEXEC);
	return *ret_fd < 0 ? errno : 0;
}

int fakegpu_open(unsigned int gpu, uint32_t group_tgid, uint32_t tsgs, int *ret_context)
{
	struct gvm_fakegpu_create create = { .group_tgid = group_tgid, .tsgs = tsgs };
	int error = fakegpu_open_device(gpu, ret_context);

	if (error)
		return error;
	error = fakegpu_ioctl(*ret_context, GVM_FAKEGPU_CREATE, &create);
	if (error) {
		close(*ret_context);
		*ret_context = -1;
	}
	return error;
}

void fakegpu_close(int context)
{
	close(context);
}

static int fakegpu_map_flags(int context, uint64_t bytes, uint32_t flags, uint64_t seed,
			     uint64_t *ret_va)
{
	struct gvm_fakegpu_map map = { .bytes = bytes, .flags = flags, .seed = seed };
	int error = fakegpu_ioctl(context, GVM_FAKEGPU_MAP, &map);

	*ret_va = map.ret_va;
	return error;
}

int fakegpu_map(int context, uint64_t bytes, uint64_t *ret_va)
{
	return fakegpu_map_flags(context, bytes, 0, 0, ret_va);
}

int fakegpu_map_on_host(int context, uint64_t bytes, uint64_t seed, uint64_t *ret_va)
{
	return fakegpu_map_flags(context, bytes, GVM_FAKEGPU_MAP_ON_HOST, seed, ret_va);
}

int fakegpu_unmap(int context, uint64_t va)
{
	struct gvm_fakegpu_span span = { .va = va };

	return fakegpu_ioctl(context, GVM_FAKEGPU_UNMAP, &span);
}

int fakegpu_discard(int context, uint64_t va, uint64_t bytes)
{
	struct gvm_fakegpu_span span = { .va = va, .bytes = bytes };

	return fakegpu_ioctl(context, GVM_FAKEGPU_DISCARD, &span);
}

int fakegpu_launch(int context, struct gvm_fakegpu_launch *launch)
{
	int error = fakegpu_ioctl(context, GVM_FAKEGPU_LAUNCH, launch);

	if (!error && launch->ret_mismatches)
		error = EBADMSG;
	return error;
}

/* A kernel over all pages, forward. */
static int fakegpu_run(int context, uint32_t op, uint64_t va, uint64_t bytes, uint64_t seed,
		       uint64_t *ret_first_va)
{
	struct gvm_fakegpu_launch launch = {
		.va = va,
		.bytes = bytes,
		.seed = seed,
		.op = op,
		.order = GVM_FAKEGPU_FORWARD,
	};
	int error = fakegpu_launch(context, &launch);

	if (ret_first_va)
		*ret_first_va = launch.ret_first_va;
	return error;
}

int fakegpu_fill(int context, uint64_t va, uint64_t bytes, uint64_t seed)
{
	return fakegpu_run(context, GVM_FAKEGPU_FILL, va, bytes, seed, NULL);
}

int fakegpu_verify(int context, uint64_t va, uint64_t bytes, uint64_t seed,
		   uint64_t *ret_first_va)
{
	return fakegpu_run(context, GVM_FAKEGPU_VERIFY, va, bytes, seed, ret_first_va);
}

int fakegpu_verify_zero(int context, uint64_t va, uint64_t bytes, uint64_t *ret_first_va)
{
	return fakegpu_run(context, GVM_FAKEGPU_VERIFY_ZERO, va, bytes, 0, ret_first_va);
}

int fakegpu_load(int context, uint64_t va, void *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got =
			pread(context, (char *)bytes + done, size - done, (off_t)(va + done));

		if (got <= 0)
			return got ? errno : EIO;
		done += (size_t)got;
	}
	return 0;
}

int fakegpu_store(int context, uint64_t va, const void *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pwrite(context, (const char *)bytes + done, size - done,
				     (off_t)(va + done));

		if (got <= 0)
			return got ? errno : EIO;
		done += (size_t)got;
	}
	return 0;
}

int fakegpu_check(int fd)
{
	return fakegpu_ioctl(fd, GVM_FAKEGPU_CHECK, NULL);
}

int fakegpu_info(int fd, struct gvm_fakegpu_info *ret_info)
{
	memset(ret_info, 0, sizeof(*ret_info));
	return fakegpu_ioctl(fd, GVM_FAKEGPU_INFO, ret_info);
}
