// SPDX-License-Identifier: MIT OR GPL-2.0
/* A process with channels, which its control file takes off the GPU. Its RM is rm_stand_in.h's. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "program.h"
#include "rm_stand_in.h"

static void print_channels(void)
{
	printf("%d channels run, %d are off\n", rm_channels(false), rm_channels(true));
	fflush(stdout);
}

/* What a context has of RM's, and NUMBER launches that do not end. */
static void begin(int number)
{
	rm_file = open("/dev/null", O_RDWR | O_CLOEXEC);
	rm_make(1, 0, 1, RM_CLASS_CLIENT);
	rm_make(1, 1, 0x10, RM_CLASS_DEVICE);
	rm_make(1, 0x10, 0x18, RM_CLASS_SUBDEVICE);
	rm_make(1, 0x10, 0x20, RM_CLASS_GROUP);
	rm_make(1, 0x20, 0x30, RM_CLASS_CHANNEL);
	rm_make(1, 0x20, 0x31, RM_CLASS_CHANNEL);
	rm_schedule(1, 0x20);
	open_device();
	allocate_numbers();
	hold();
	for (int i = 0; i < number; i++)
		launch(NULL);
	wait_for_line();
	print_channels();
}

/*
 * While it is frozen, a thread that waits for the GPU has a lock of the driver's: the next call of
 * libcuda's does not return.
 */
static void task_frozen(int number)
{
	__typeof__(&fake_stay) stay =
		(__typeof__(stay))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_stay");

	begin(number);
	rm_make(1, 0x20, 0x32, RM_CLASS_CHANNEL);
	rm_schedule(1, 0x32);
	print_channels();
	stay("cuEventQuery");
	wait_for_line();
	while (rm_channels(true))
		usleep(1000);
	print_channels();
	fflush(stdout);
	_exit(0);
}

/* It ends while it is frozen. */
static void task_frozen_end(int number)
{
	atexit(print_channels); /* after the shim's own */
	begin(number);
}

const struct task frozen_tasks[] = {
	{ "frozen", task_frozen },
	{ "frozen_end", task_frozen_end },
	{ NULL, NULL },
};
