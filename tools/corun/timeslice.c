// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Preloaded into an application: sets the timeslice of its own channel groups.
 *
 *	cc -O2 -shared -fPIC -o timeslice.so timeslice.c -ldl
 *	CORUN_TIMESLICE_US=512 LD_PRELOAD=./timeslice.so APPLICATION
 *
 * A process makes its channel groups by NVIDIA's RM, through ioctl() on /dev/nvidiactl: RM's
 * "alloc" of class 0xa06c (KEPLER_CHANNEL_GROUP_A). Its control call 0xa06c0103 sets a group's
 * timeslice. A stock driver permits it to any user (h200-580-freeze.txt). It ends with the
 * process; no setting of the GPU is touched. The structs are those of NVIDIA's open kernel
 * modules: nvos.h, ctrla06c.h.
 *
 * A group gets CORUN_TIMESLICE_US as soon as it exists. corun_set_timeslice() sets another one.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RM_FREE	      0x29
#define RM_CONTROL    0x2a
#define RM_ALLOC      0x2b
#define GROUP_CLASS   0xa06c
#define SET_TIMESLICE 0xa06c0103
#define GROUPS_MAX    1024

/* The beginning of NVOS21_PARAMETERS and of NVOS64_PARAMETERS. */
struct rm_alloc {
	uint32_t client, parent, object, class;
};

struct rm_free {
	uint32_t client, parent, object, status;
};

struct rm_control {
	uint32_t client, object, command, flags;
	uint64_t parameters;
	uint32_t size, status;
};

struct group {
	int fd;
	uint32_t client, object;
};

static struct group groups[GROUPS_MAX];
static int group_count;
static uint64_t timeslice_us; /* 0: leave groups alone */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int set(const struct group *group, uint64_t us)
{
	struct rm_control control = { .client = group->client,
				      .object = group->object,
				      .command = SET_TIMESLICE,
				      .parameters = (uintptr_t)&us,
				      .size = sizeof(us) };

	return syscall(SYS_ioctl, group->fd, _IOWR('F', RM_CONTROL, struct rm_control),
		       &control) ||
	       control.status;
}

static void add_group(int fd, const struct rm_alloc *alloc)
{
	pthread_mutex_lock(&lock);
	if (group_count < GROUPS_MAX) {
		groups[group_count] = (struct group){ fd, alloc->client, alloc->object };
		if (timeslice_us)
			set(&groups[group_count], timeslice_us);
		group_count++;
	}
	pthread_mutex_unlock(&lock);
}

static void remove_group(const struct rm_free *free)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < group_count; i++)
		if (groups[i].client == free->client && groups[i].object == free->object)
			groups[i] = groups[--group_count];
	pthread_mutex_unlock(&lock);
}

/* Set the timeslice of all groups. Returns how many took it. */
int corun_set_timeslice(uint64_t us)
{
	int taken = 0;

	pthread_mutex_lock(&lock);
	timeslice_us = us;
	for (int i = 0; i < group_count; i++)
		taken += !set(&groups[i], us);
	pthread_mutex_unlock(&lock);
	return taken;
}

/* The number of groups. */
int corun_groups(void)
{
	return group_count;
}

__attribute__((constructor)) static void begin(void)
{
	const char *us = getenv("CORUN_TIMESLICE_US");

	timeslice_us = us ? strtoull(us, NULL, 10) : 0;
}

/* The application's ioctl() comes here. glibc's does nothing but this system call. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *argument;
	int status;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	status = (int)syscall(SYS_ioctl, fd, request, argument);
	if (status || !argument || _IOC_TYPE(request) != 'F')
		return status;
	if (_IOC_NR(request) == RM_ALLOC && _IOC_SIZE(request) >= sizeof(struct rm_alloc) &&
	    ((const struct rm_alloc *)argument)->class == GROUP_CLASS)
		add_group(fd, argument);
	if (_IOC_NR(request) == RM_FREE && _IOC_SIZE(request) >= sizeof(struct rm_free))
		remove_group(argument);
	return status;
}
