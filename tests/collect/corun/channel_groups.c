// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An application under tools/corun/timeslice.c, with an RM of its own: the library's system
 * calls come to syscall() below. Prints each timeslice that is set. Class 0xa06c is a channel
 * group, 0xc86f a channel.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>

struct control {
	uint32_t client, object, command, flags;
	uint64_t parameters;
	uint32_t size, status;
};

static int refuse;

long syscall(long number, ...)
{
	struct control *control;
	unsigned long request;
	va_list list;

	(void)number;
	va_start(list, number);
	(void)va_arg(list, int);
	request = va_arg(list, unsigned long);
	control = va_arg(list, struct control *);
	va_end(list);
	if (_IOC_NR(request) != 0x2a)
		return 0;
	control->status = refuse ? 0x1b : 0; /* NV_ERR_INSUFFICIENT_PERMISSIONS */
	if (!refuse && control->command == 0xa06c0103 && control->size == 8)
		printf("object %u: %llu us\n", control->object,
		       *(const unsigned long long *)(uintptr_t)control->parameters);
	return 0;
}

static void alloc(uint32_t object, uint32_t class)
{
	uint32_t parameters[12] = { 1, 2, object, class };

	ioctl(3, _IOC(_IOC_READ | _IOC_WRITE, 'F', 0x2b, sizeof(parameters)), parameters);
}

int main(void)
{
	int (*set)(uint64_t us), (*count)(void);
	uint32_t object_free[4] = { 1, 2, 11, 0 };
	int taken;

	*(void **)&set = dlsym(RTLD_DEFAULT, "corun_set_timeslice");
	*(void **)&count = dlsym(RTLD_DEFAULT, "corun_groups");
	if (!set || !count)
		return puts("not preloaded") < 0;
	alloc(11, 0xa06c);
	alloc(99, 0xc86f);
	alloc(12, 0xa06c);
	taken = set(131072);
	printf("%d of %d groups\n", taken, count());
	ioctl(3, _IOWR('F', 0x29, object_free), object_free);
	taken = set(64);
	printf("%d of %d groups\n", taken, count());
	refuse = 1;
	taken = set(2048);
	printf("refused: %d of %d groups\n", taken, count());
	return 0;
}
