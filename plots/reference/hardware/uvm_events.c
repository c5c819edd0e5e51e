// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A library for uvm_batches.py: what nvidia-uvm tells tools (/dev/nvidia-uvm-tools) of its own
 * process: each fault of the GPU, with its batch and the unit that it came from, each copy, and each
 * replay. The ioctls and the entries of the queue are those of open-gpu-kernel-modules 580,
 * uvm_ioctl.h and uvm_types.h.
 *
 * build: cc -O2 -shared -fPIC -o uvm_events.so uvm_events.c
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define TOOLS_INIT_EVENT_TRACKER 56
#define TOOLS_ENABLE_EVENTS	 58
#define TOOLS_DISABLE_EVENTS	 59
#define TOOLS_FLUSH_EVENTS	 67

#define ENTRY_BYTES 64u
/* Copies, faults, replays, overflows of the fault buffer. */
#define EVENT_TYPES (1ull << 2 | 1ull << 3 | 1ull << 4 | 1ull << 5)

struct init_event_tracker {
	uint64_t queue, entries, control;
	uint8_t processor[16];
	uint32_t all_processors, uvm_fd, status;
};

struct event_types {
	uint64_t types;
	uint32_t status;
};

struct control {
	volatile uint32_t get_ahead, get_behind, put_ahead, put_behind;
	uint64_t dropped[64];
};

static int tools = -1, uvm = -1;
static struct control *control;
static uint8_t *queue;
static uint32_t entries;

static void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Follow the address space behind a file of this process. 0, or why not. */
static int follow(int fd)
{
	struct init_event_tracker init = {
		.queue = (uintptr_t)queue,
		.entries = entries,
		.control = (uintptr_t)control,
		.uvm_fd = (uint32_t)fd,
	};

	if (ioctl(tools, TOOLS_INIT_EVENT_TRACKER, &init))
		return -errno;
	return (int)init.status;
}

/* After CUDA was initialised: a queue of @count entries, a power of two. 0, or an error. */
int uvm_events_open(uint32_t count)
{
	struct dirent *entry;
	DIR *files = opendir("/proc/self/fd");
	int status = -ENOENT;

	entries = count;
	queue = map((size_t)count * ENTRY_BYTES);
	control = map(4096);
	tools = open("/dev/nvidia-uvm-tools", O_RDWR | O_CLOEXEC);
	if (!files || !queue || !control || tools < 0)
		return -errno;
	while (status && (entry = readdir(files))) {
		char path[300], target[300] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		if (readlink(path, target, sizeof(target) - 1) < 0 ||
		    strcmp(target, "/dev/nvidia-uvm") != 0)
			continue;
		uvm = atoi(entry->d_name);
		status = follow(uvm);
	}
	closedir(files);
	return status;
}

static int set_events(unsigned long request)
{
	struct event_types types = { .types = EVENT_TYPES };

	return ioctl(tools, request, &types) ? -errno : (int)types.status;
}

/* Take entries from now on. */
int uvm_events_start(void)
{
	control->get_ahead = control->get_behind = control->put_behind;
	memset(control->dropped, 0, sizeof(control->dropped));
	return set_events(TOOLS_ENABLE_EVENTS);
}

/* Write the entries since then to a file. 0, or an error; -ENOBUFS: some were dropped. */
int uvm_events_stop(const char *path)
{
	uint32_t status = 0, at = control->get_behind;
	FILE *file = fopen(path, "wb");

	if (!file || ioctl(uvm, TOOLS_FLUSH_EVENTS, &status) || status ||
	    set_events(TOOLS_DISABLE_EVENTS))
		return -EIO;
	for (; at != control->put_behind; at = (at + 1) & (entries - 1))
		fwrite(queue + (size_t)at * ENTRY_BYTES, ENTRY_BYTES, 1, file);
	for (size_t i = 0; i < 64; i++)
		if (control->dropped[i])
			return -ENOBUFS;
	return fclose(file) ? -EIO : 0;
}
