// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A stand-in for gvm.ko in a program: the shim calls its open() and syscall() in the place of
 * the C library's, and so opens a /dev/gvm that takes reports of launches as the module does. Its
 * calls for NVIDIA's resource manager go to rm_stand_in.c.
 *
 * MODULE_REPORT: a file that gets a line for each report, with the sums of its GPU.
 * MODULE_REFUSES: so many reports come before the process has managed memory.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gvm_ioctl.h"
#include "rm_stand_in.h"

#define OPEN_MAX_HERE 4

/* An open file of the device. */
struct opened {
	int fd;
	int gpu; /* -1: no report yet */
	unsigned long long submitted, ended;
};

static struct opened opened[OPEN_MAX_HERE];
static int opened_count;
static int refused;

long syscall(long number, ...);
int open(const char *path, int flags, ...);

static long call_library(long number, const long words[6])
{
	static __typeof__(&syscall) real;

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "syscall");
	return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static long refuse(int error)
{
	errno = error;
	return -1;
}

/* gvm.ko knows a process by the files that its driver has open. */
static bool driver_has_ended(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	bool (*has_ended)(void) = NULL;

	if (driver)
		has_ended = (bool (*)(void))dlsym(driver, "fake_has_ended");
	return has_ended && has_ended();
}

static long take_report(struct opened *file, const struct gvm_launch_report *report)
{
	const char *refuses = getenv("MODULE_REFUSES"), *path = getenv("MODULE_REPORT");
	FILE *out;

	if (report->reserved)
		return refuse(EINVAL);
	if (file->gpu >= 0 && file->gpu != (int)report->gpu)
		return refuse(EBUSY);
	if (driver_has_ended())
		return refuse(ESRCH);
	if (refused < (refuses ? atoi(refuses) : 0)) {
		refused++;
		return refuse(ESRCH);
	}
	file->gpu = (int)report->gpu;
	file->submitted += report->submitted;
	file->ended += report->ended;
	out = path ? fopen(path, "a") : NULL;
	if (!out)
		return refuse(EFAULT);
	fprintf(out, "gpu %d submitted %llu ended %llu behind %d of %d\n", file->gpu,
		file->submitted, file->ended, refused, (int)getpid());
	fclose(out);
	return 0;
}

long syscall(long number, ...)
{
	long words[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_ioctl && words[0] == rm_file && _IOC_TYPE(words[1]) == 'F')
		return rm_call(rm_file, (unsigned long)words[1], (void *)words[2]);
	for (int i = 0; i < opened_count; i++)
		if (number == SYS_ioctl && words[0] == opened[i].fd &&
		    (unsigned int)words[1] == GVM_IOCTL_LAUNCHES)
			return take_report(&opened[i], (void *)words[2]);
	return call_library(number, words);
}

int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list args;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (strcmp(path, "/dev/gvm") != 0)
		return openat(AT_FDCWD, path, flags, mode);
	if (opened_count == OPEN_MAX_HERE)
		return (int)refuse(EMFILE);
	opened[opened_count] = (struct opened){ .fd = eventfd(0, EFD_CLOEXEC), .gpu = -1 };
	return opened[opened_count++].fd;
}
