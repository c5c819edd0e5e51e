// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What turns.c and freeze.c make control calls about: channel groups, channels, and the GPUs that
 * they are on. libcuda makes these objects by an ioctl of NVIDIA's resource manager (RM), which
 * names them. So ioctl() is hooked, and calls are made on the same descriptor and for the same
 * client of RM's.
 *
 * Numbers, in NVIDIA's open kernel modules (src/common/sdk/nvidia/inc): NV_ESC_RM_FREE 0x29,
 * NV_ESC_RM_CONTROL 0x2a, NV_ESC_RM_ALLOC 0x2b (nv_escape.h); NV20_SUBDEVICE_0 0x2080,
 * KEPLER_CHANNEL_GROUP_A 0xa06c; channels are classes that end with 0x6f, from
 * KEPLER_CHANNEL_GPFIFO_A 0xa06f on; NVA06C_CTRL_CMD_GPFIFO_SCHEDULE 0xa06c0101 and
 * NVA06F_CTRL_CMD_GPFIFO_SCHEDULE 0xa06f0103. They are the same in 535 to 595.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rm.h"

#define RM_MAGIC	    'F'
#define RM_FREE		    0x29
#define RM_CONTROL	    0x2a
#define RM_ALLOC	    0x2b
#define CLASS_SUBDEVICE	    0x2080u
#define CLASS_GROUP	    0xa06cu
#define CLASS_FIRST_CHANNEL 0xa06fu
#define GROUP_SCHEDULE	    0xa06c0101u
#define CHANNEL_SCHEDULE    0xa06f0103u
#define OBJECTS_MAX	    4096

/* NVOS21_PARAMETERS is 32 bytes and NVOS64_PARAMETERS 48; both begin alike. */
struct rm_alloc_call {
	u32 client, parent, object, class;
	u64 parameters;
	u32 rest[6];
};

struct rm_free_call {
	u32 client, parent, object, status;
};

struct rm_control_call {
	u32 client, object, command, flags;
	u64 parameters;
	u32 size, status;
};

static struct rm_object objects[OBJECTS_MAX];
static u32 object_count;
static bool full;
static pthread_mutex_t rm_lock = PTHREAD_MUTEX_INITIALIZER;

static bool kind_of(u32 class, enum rm_kind *ret_kind)
{
	if (class == CLASS_SUBDEVICE)
		*ret_kind = RM_SUBDEVICE;
	else if (class == CLASS_GROUP)
		*ret_kind = RM_GROUP;
	else if (class >= CLASS_FIRST_CHANNEL && (class & 0xff) == 0x6f)
		*ret_kind = RM_CHANNEL;
	else
		return false;
	return true;
}

/* Has the object a mark, among the first @count? Parents come before their children. */
static bool goes(const bool *gone, u32 count, u32 client, u32 object)
{
	for (u32 i = 0; i < count; i++)
		if (gone[i] && objects[i].client == client && objects[i].object == object)
			return true;
	return false;
}

/* Remove the objects with a mark from the table. The others keep their order. LOCKING: rm_lock. */
static void drop_gone(const bool *gone)
{
	u32 left = 0;

	for (u32 i = 0; i < object_count; i++)
		if (!gone[i])
			objects[left++] = objects[i];
	object_count = left;
}

/*
 * Forget what goes with @object of @client: RM frees it with all objects below it.
 * LOCKING: rm_lock.
 */
static void forget(u32 client, u32 object)
{
	bool gone[OBJECTS_MAX];
	bool any = false;

	for (u32 i = 0; i < object_count; i++) {
		const struct rm_object *it = &objects[i];

		gone[i] = it->client == client &&
			  (it->object == object || it->parent == object || client == object ||
			   (any && goes(gone, i, client, it->parent)));
		any |= gone[i];
	}
	if (any)
		drop_gone(gone);
}

/* Forget those whose file the application has closed. LOCKING: rm_lock. */
static void forget_closed(void)
{
	bool gone[OBJECTS_MAX];
	struct stat info;

	for (u32 i = 0; i < object_count; i++)
		gone[i] = fstat(objects[i].fd, &info) || info.st_dev != objects[i].device ||
			  info.st_ino != objects[i].inode;
	drop_gone(gone);
}

static void note_alloc(int fd, const struct rm_alloc_call *alloc, size_t size)
{
	u32 status = size == 32 ? alloc->rest[1] : alloc->rest[4];
	enum rm_kind kind;
	struct stat info;

	if (!kind_of(alloc->class, &kind) || status || fstat(fd, &info))
		return;
	pthread_mutex_lock(&rm_lock);
	/*
	 * The close of a file frees its clients, and the shim does not see it. So an object that
	 * is known by this handle has gone.
	 */
	forget(alloc->client, alloc->object);
	if (object_count < OBJECTS_MAX)
		objects[object_count++] = (struct rm_object){
			.kind = kind,
			.fd = fd,
			.device = info.st_dev,
			.inode = info.st_ino,
			.client = alloc->client,
			.parent = alloc->parent,
			.object = alloc->object,
			.due = kind == RM_GROUP,
		};
	else
		full = true;
	pthread_mutex_unlock(&rm_lock);
	if (kind == RM_GROUP)
		turns_group_made();
}

/*
 * The application's call that frees an object. It is made under the lock, so no control call is
 * made about an object that has gone and is still known.
 */
static long free_object(int fd, unsigned long request, struct rm_free_call *freed)
{
	long result;

	pthread_mutex_lock(&rm_lock);
	result = syscall(SYS_ioctl, fd, request, freed);
	if (!result && !freed->status)
		forget(freed->client, freed->object);
	pthread_mutex_unlock(&rm_lock);
	return result;
}

struct rm_object *rm_lock_objects(u32 *ret_count)
{
	pthread_mutex_lock(&rm_lock);
	forget_closed();
	*ret_count = object_count;
	return objects;
}

void rm_unlock_objects(void)
{
	pthread_mutex_unlock(&rm_lock);
}

u32 rm_control(const struct rm_object *of, u32 object, u32 command, void *params, u32 size)
{
	struct rm_control_call call = {
		.client = of->client,
		.object = object,
		.command = command,
		.parameters = (u64)(uintptr_t)params,
		.size = size,
	};

	if (syscall(SYS_ioctl, of->fd, _IOWR(RM_MAGIC, RM_CONTROL, struct rm_control_call),
		    &call))
		return 0xffff0000u | (u32)errno;
	return call.status;
}

bool rm_table_is_full(void)
{
	return full;
}

void rm_reset(void)
{
	pthread_mutex_init(&rm_lock, NULL);
	object_count = 0;
	full = false;
}

/* RM has put a channel, or all of a group's, on the runlist. */
static void note_control(const struct rm_control_call *call)
{
	if (!call->status &&
	    (call->command == GROUP_SCHEDULE || call->command == CHANNEL_SCHEDULE))
		freeze_scheduled(call->client, call->object);
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
	    _IOC_SIZE(request) == sizeof(struct rm_free_call))
		return (int)free_object(fd, request, argument);
	result = syscall(SYS_ioctl, fd, request, argument);
	if (result || _IOC_TYPE(request) != RM_MAGIC || !argument)
		return (int)result;
	if (_IOC_NR(request) == RM_ALLOC && _IOC_SIZE(request) >= 32 &&
	    _IOC_SIZE(request) <= sizeof(struct rm_alloc_call))
		note_alloc(fd, argument, _IOC_SIZE(request));
	else if (_IOC_NR(request) == RM_CONTROL &&
		 _IOC_SIZE(request) == sizeof(struct rm_control_call))
		note_control(argument);
	return (int)result;
}
