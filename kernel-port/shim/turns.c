// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Turns on the GPU without a kernel module: RM's control call sets the timeslice of a channel
 * group (TSG). libcuda creates its groups by an ioctl, which names them; so ioctl() is hooked,
 * and the call is made on the same descriptor and for the same RM client. It needs root.
 *
 * Numbers, in NVIDIA's open kernel modules (src/common/sdk/nvidia/inc): NV_ESC_RM_FREE 0x29,
 * NV_ESC_RM_CONTROL 0x2a, NV_ESC_RM_ALLOC 0x2b (nv_escape.h); KEPLER_CHANNEL_GROUP_A 0xa06c;
 * NVA06C_CTRL_CMD_SET_TIMESLICE 0xa06c0103 and GET 0xa06c0104 (ctrla06c.h). They
 * are the same in 535 to 595. Measured on an H200 with driver 580: 16 us to 131 ms
 * were read back and in force.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

#define RM_MAGIC	 'F'
#define RM_FREE		 0x29
#define RM_CONTROL	 0x2a
#define RM_ALLOC	 0x2b
#define RM_CHANNEL_GROUP 0xa06cu
#define RM_SET_TIMESLICE 0xa06c0103u
#define RM_GET_TIMESLICE 0xa06c0104u
#define GROUPS_MAX	 1024

/* NVOS21_PARAMETERS is 32 bytes and NVOS64_PARAMETERS 48; both begin alike. */
struct rm_alloc {
	u32 client, parent, object, class;
	u64 parameters;
	u32 rest[6];
};

struct rm_free {
	u32 client, parent, object, status;
};

struct rm_control {
	u32 client, object, command, flags;
	u64 parameters;
	u32 size, status;
};

struct turns_group {
	int fd;
	dev_t device; /* of the file that was @fd when the group was made */
	ino_t inode;
	u32 client;
	u32 parent; /* RM's object for the GPU, whose parent is the client */
	u32 object;
	bool due;
};

static struct turns_group groups[GROUPS_MAX];
static _Atomic u32 group_count;
static _Atomic bool due;
static bool told;
static pthread_mutex_t turns_lock = PTHREAD_MUTEX_INITIALIZER;

u32 turns_groups(void)
{
	return group_count;
}

bool turns_due(void)
{
	return due && shim_settings.timeslice_us;
}

void turns_changed(void)
{
	pthread_mutex_lock(&turns_lock);
	for (u32 i = 0; i < group_count; i++)
		groups[i].due = true;
	due = true;
	told = false;
	pthread_mutex_unlock(&turns_lock);
}

/*
 * Forget the groups that go with @object of @client. RM frees an object with all objects below it.
 * LOCKING: turns_lock.
 */
static void forget(u32 client, u32 object)
{
	for (u32 i = 0; i < group_count;) {
		const struct turns_group *group = &groups[i];

		if (group->client == client &&
		    (group->object == object || group->parent == object || client == object))
			groups[i] = groups[--group_count];
		else
			i++;
	}
}

static void note_alloc(int fd, const struct rm_alloc *alloc, size_t size)
{
	u32 status = size == 32 ? alloc->rest[1] : alloc->rest[4];
	struct stat info;

	if (alloc->class != RM_CHANNEL_GROUP || status || fstat(fd, &info))
		return;
	pthread_mutex_lock(&turns_lock);
	/*
	 * The close of a file frees its clients, and the shim does not see it. So a group that
	 * is known by this handle has gone.
	 */
	forget(alloc->client, alloc->object);
	if (group_count < GROUPS_MAX) {
		groups[group_count++] = (struct turns_group){
			.fd = fd,
			.device = info.st_dev,
			.inode = info.st_ino,
			.client = alloc->client,
			.parent = alloc->parent,
			.object = alloc->object,
			.due = true,
		};
		due = true;
	}
	pthread_mutex_unlock(&turns_lock);
}

/*
 * The application's call that frees an object. It is made under the lock, so turns_apply() makes
 * no call for a group that has gone and is still known.
 */
static long free_object(int fd, unsigned long request, struct rm_free *freed)
{
	long result;

	pthread_mutex_lock(&turns_lock);
	result = syscall(SYS_ioctl, fd, request, freed);
	if (!result && !freed->status)
		forget(freed->client, freed->object);
	pthread_mutex_unlock(&turns_lock);
	return result;
}

/* Forget the groups whose file the application has closed. LOCKING: turns_lock. */
static void forget_closed(void)
{
	struct stat info;

	for (u32 i = 0; i < group_count;) {
		if (fstat(groups[i].fd, &info) || info.st_dev != groups[i].device ||
		    info.st_ino != groups[i].inode)
			groups[i] = groups[--group_count];
		else
			i++;
	}
}

static u32 control(const struct turns_group *group, u32 command, u64 *us)
{
	struct rm_control call = {
		.client = group->client,
		.object = group->object,
		.command = command,
		.parameters = (u64)(uintptr_t)us,
		.size = sizeof(*us),
	};

	if (syscall(SYS_ioctl, group->fd, _IOWR(RM_MAGIC, RM_CONTROL, struct rm_control),
		    &call))
		return 0xffff0000u | (u32)errno;
	return call.status;
}

/* Set a group's timeslice and read it back into *ret_us. Returns 0 or RM's status. */
static u32 set(const struct turns_group *group, u64 wanted, u64 *ret_us)
{
	u32 status;

	*ret_us = wanted;
	status = control(group, RM_SET_TIMESLICE, ret_us);
	*ret_us = 0;
	return status ? status : control(group, RM_GET_TIMESLICE, ret_us);
}

/* @status: 0 if the driver took another one, @us. */
static void tell_not_set(u32 count, u64 wanted, u32 status, u64 us)
{
	if (status)
		shim_warn("the timeslice of %u channel groups cannot be set (status 0x%x)%s",
			  count, status, geteuid() ? ": it needs root" : "");
	else
		shim_warn("the timeslice of %u channel groups is %llu us and not %llu us: the "
			  "driver has chosen it",
			  count, us, wanted);
}

void turns_apply(void)
{
	u64 wanted = shim_settings.timeslice_us;
	u64 other_us = 0;
	u32 done = 0;
	u32 wrong = 0;
	u32 tried = 0;

	pthread_mutex_lock(&turns_lock);
	due = false;
	forget_closed();
	for (u32 i = 0; i < group_count; i++) {
		u32 status;
		u64 us;

		if (!groups[i].due)
			continue;
		groups[i].due = false;
		tried++;
		status = set(&groups[i], wanted, &us);
		if (!status && us == wanted) {
			done++;
			continue;
		}
		wrong = status;
		other_us = us;
	}
	if (tried)
		shim_log("timeslice %llu us set and read back on %u of %u new channel groups",
			 wanted, done, tried);
	if (done < tried && !told) {
		told = true;
		tell_not_set(tried - done, wanted, wrong, other_us);
	}
	pthread_mutex_unlock(&turns_lock);
}

void turns_reset(void)
{
	pthread_mutex_init(&turns_lock, NULL);
	group_count = 0;
	due = false;
}

SHIM_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	void *argument;
	va_list args;
	long result;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (_IOC_TYPE(request) == RM_MAGIC && _IOC_NR(request) == RM_FREE && argument &&
	    _IOC_SIZE(request) == sizeof(struct rm_free))
		return (int)free_object(fd, request, argument);
	result = syscall(SYS_ioctl, fd, request, argument);
	if (result || _IOC_TYPE(request) != RM_MAGIC || !argument)
		return (int)result;
	if (_IOC_NR(request) == RM_ALLOC && _IOC_SIZE(request) >= 32 &&
	    _IOC_SIZE(request) <= sizeof(struct rm_alloc))
		note_alloc(fd, argument, _IOC_SIZE(request));
	return (int)result;
}
