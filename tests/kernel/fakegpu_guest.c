// SPDX-License-Identifier: MIT OR GPL-2.0
/* See fakegpu_guest.h. */
#define _GNU_SOURCE
#include "fakegpu_guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gvm_ioctl.h"

static uint64_t fakegpu_seed;

void fakegpu_seed_init(void)
{
	const char *text = getenv("GVM_TEST_SEED");

	if (text)
		fakegpu_seed = strtoull(text, NULL, 0);
	else if (getrandom(&fakegpu_seed, sizeof(fakegpu_seed), GRND_INSECURE) < 0)
		fakegpu_seed = 1;
	guest_log("# GVM_TEST_SEED=%llu", (unsigned long long)fakegpu_seed);
}

struct dice fakegpu_dice(uint64_t stream)
{
	return (struct dice){ .state = gvm_fakegpu_word(fakegpu_seed, stream << 40) };
}

uint64_t roll(struct dice *dice, uint64_t below)
{
	dice->state += 8;
	return gvm_fakegpu_word(fakegpu_seed, dice->state) % below;
}

void require(bool ok, const char *fmt, ...)
{
	char text[300];
	va_list args;

	if (ok)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	guest_log("# process %d: %s", getpid(), text);
	_exit(1);
}

int tenant_open(uint32_t group_tgid)
{
	int context;
	int error = fakegpu_open(0, group_tgid, 1, &context);

	require(error == 0, "open: %s", guest_error_name(error));
	return context;
}

uint64_t tenant_map(int context, uint64_t bytes)
{
	uint64_t va;
	int error = fakegpu_map(context, bytes, &va);

	require(error == 0, "map: %s", guest_error_name(error));
	return va;
}

int tenant_listen(void)
{
	struct gvm_pressure_request request = { .gpu = 0, .flags = O_NONBLOCK };
	int dev = open("/dev/gvm", O_RDWR | O_CLOEXEC);
	int fd = ioctl(dev, GVM_IOCTL_PRESSURE_OPEN, &request);

	require(dev >= 0 && fd >= 0, "listen: %s", guest_error_name(errno));
	close(dev);
	return fd;
}

pid_t tenant_start(void (*main)(uint32_t index), uint32_t index)
{
	pid_t pid = fork();

	if (pid == 0) {
		main(index);
		_exit(0);
	}
	return pid;
}

bool tenant_finish(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

bool tenant_kill(pid_t pid)
{
	int status;

	return pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid &&
	       WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

uint32_t tenants_run(void (*main)(uint32_t index), uint32_t count)
{
	uint32_t well = 0;
	pid_t pids[count];

	for (uint32_t i = 0; i < count; i++)
		pids[i] = tenant_start(main, i);
	for (uint32_t i = 0; i < count; i++)
		well += tenant_finish(pids[i]);
	return well;
}

void *shared_alloc(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void control_path(char *path, size_t size, pid_t tgid, const char *file)
{
	snprintf(path, size, "gvm/%d/0/%s", tgid, file);
}

long long control_get(pid_t tgid, const char *file)
{
	char path[64], text[GUEST_TEXT_MAX];

	control_path(path, sizeof(path), tgid, file);
	return guest_read(path, text, sizeof(text)) ? -1 : strtoll(text, NULL, 10);
}

int control_set(pid_t tgid, const char *file, const char *text)
{
	char path[64];

	control_path(path, sizeof(path), tgid, file);
	return guest_write(path, text);
}

int control_set_number(pid_t tgid, const char *file, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return control_set(tgid, file, text);
}

unsigned long event_count(pid_t pid, const char *event)
{
	char path[64], text[GUEST_TEXT_MAX];
	const char *found;

	snprintf(path, sizeof(path), "gvm/%d/0/gmem.events", pid);
	if (guest_read(path, text, sizeof(text)))
		return 0;
	found = strstr(text, event);
	return found ? strtoul(found + strlen(event), NULL, 10) : 0;
}

void sleep_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

void wait_for_step(const volatile uint32_t *step, uint32_t wanted)
{
	for (uint32_t i = 0; i < STEP_TRIES && *step < wanted; i++)
		sleep_ms(5);
	require(*step >= wanted, "step %u does not come", wanted);
}

int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error = fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}
