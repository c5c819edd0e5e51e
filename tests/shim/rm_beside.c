// SPDX-License-Identifier: MIT OR GPL-2.0
/* See rm_beside.h. */
#include "rm_beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct shim_settings shim_settings;
char beside_warning[256];

void shim_log(const char *fmt, ...)
{
	(void)fmt;
}

void shim_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(beside_warning, sizeof(beside_warning), fmt, args);
	va_end(args);
}

long syscall(long number, ...)
{
	unsigned long request;
	void *argument;
	va_list args;
	int fd;

	va_start(args, number);
	fd = va_arg(args, int);
	request = va_arg(args, unsigned long);
	argument = va_arg(args, void *);
	va_end(args);
	if (number == SYS_ioctl && _IOC_TYPE(request) == 'F')
		return rm_call(fd, request, argument);
	errno = ENOSYS;
	return -1;
}

void beside_begin(void)
{
	rm_forget_all();
	*beside_warning = '\0';
	rm_file = open("/dev/null", O_RDWR | O_CLOEXEC);
	rm_reset();
	turns_reset();
	freeze_reset();
	for (u32 client = 1; client <= 2; client++) {
		rm_make(client, 0, client, RM_CLASS_CLIENT);
		for (u32 gpu = 0; gpu < 2; gpu++) {
			rm_make(client, client, 0x10 + gpu, RM_CLASS_DEVICE);
			rm_make(client, 0x10 + gpu, 0x18 + gpu, RM_CLASS_SUBDEVICE);
			rm_make(client, 0x10 + gpu, 0x20 + gpu, RM_CLASS_GROUP);
			rm_make(client, 0x20 + gpu, 0x30 + 2 * gpu, RM_CLASS_CHANNEL);
			rm_make(client, 0x20 + gpu, 0x31 + 2 * gpu, RM_CLASS_CHANNEL);
		}
	}
}

void beside_end(void)
{
	close(rm_file);
}
