// SPDX-License-Identifier: MIT OR GPL-2.0
/* See hooked_guest.h. */
#define _GNU_SOURCE
#include "hooked_guest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CGROUPS "/sys/fs/cgroup"

static int hooked_to = -1, hooked_from = -1; /* of this process */

/* An instance of MIG has a number of its own. */
static void hooked_path(char path[256], pid_t pid, const char *file)
{
	unsigned int number = softgpu_used();

	if (softgpu_instance)
		number = 16 * (number + 1) + softgpu_instance;
	if (pid)
		snprintf(path, 256, "gvm/%d/%u/%s", (int)pid, number, file);
	else
		snprintf(path, 256, "gvm/%s", file);
}

long long hooked_get(pid_t pid, const char *file)
{
	char path[256], text[GUEST_TEXT_MAX];

	hooked_path(path, pid, file);
	return guest_read(path, text, sizeof(text)) ? -1 : atoll(text);
}

int hooked_set(pid_t pid, const char *file, const char *text)
{
	char path[256];

	hooked_path(path, pid, file);
	return guest_write(path, text);
}

long long hooked_event(pid_t pid, const char *event)
{
	char path[256], text[GUEST_TEXT_MAX], *line;

	hooked_path(path, pid, "gmem.events");
	if (guest_read(path, text, sizeof(text)))
		return -1;
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strncmp(line, event, strlen(event)) == 0 && line[strlen(event)] == ' ')
			return atoll(line + strlen(event) + 1);
	return 0;
}

bool hooked_write(struct softgpu_tenant *tenant, uint64_t *p, size_t bytes, uint64_t value)
{
	return softgpu_touch(tenant, p, bytes / SOFTGPU_PAGE, SOFTGPU_PAGE, SOFTGPU_WRITE,
			     value, HOOKED_WINDOW)
		       .errors == 0;
}

bool hooked_read(struct softgpu_tenant *tenant, uint64_t *p, size_t bytes, uint64_t value)
{
	uint64_t pages = bytes / SOFTGPU_PAGE;
	struct softgpu_access access =
		softgpu_touch(tenant, p, pages, SOFTGPU_PAGE, SOFTGPU_READ, 0, HOOKED_WINDOW);

	return access.errors == 0 && access.sum == value * pages + pages * (pages - 1) / 2;
}

bool hooked_cpu_reads(const uint64_t *p, size_t bytes, uint64_t value)
{
	size_t wrong = 0;

	for (size_t i = 0; i < bytes / SOFTGPU_PAGE; i++)
		wrong += p[i * SOFTGPU_PAGE / 8] != value + i;
	return wrong == 0;
}

size_t hooked_resident_mb(struct softgpu_tenant *tenant, uint64_t *p, size_t bytes)
{
	size_t blocks = 0;

	for (size_t at = 0; at < bytes; at += 2 * SOFTGPU_MB)
		blocks += softgpu_resident(tenant, (char *)p + at) == SOFTGPU_ON_GPU;
	return 2 * blocks;
}

/* Write a number and its sign to a file outside debugfs. */
static bool hooked_put(const char *path, const char *format, pid_t pid)
{
	char text[64];
	int length = snprintf(text, sizeof(text), format, (int)pid);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, (size_t)length) == length;

	if (fd >= 0)
		close(fd);
	return ok;
}

bool hooked_contain(pid_t owner)
{
	char path[64];

	snprintf(path, sizeof(path), CGROUPS "/t%d", (int)owner);
	if (owner == getpid() &&
	    (mkdir(path, 0755) || !hooked_put("/sys/kernel/gvm/cgroups", "+/t%d", owner)))
		return false;
	strcat(path, "/cgroup.procs");
	return hooked_put(path, "%d", getpid());
}

/* The container of a cgroup that has no process any more goes. Returns whether it could. */
static bool hooked_empty(pid_t owner)
{
	char path[64];

	snprintf(path, sizeof(path), CGROUPS "/t%d", (int)owner);
	return hooked_put("/sys/kernel/gvm/cgroups", "-/t%d", owner) && rmdir(path) == 0;
}

/* UVM writes here, when it is unloaded, whether it lost memory. */
static uint64_t unload_state __attribute__((aligned(8)));

bool hooked_begin(struct softgpu_tenant *tenant, bool managed, const char *softgpu_parameters,
		  const char *parameters)
{
	UVM_TEST_REGISTER_UNLOAD_STATE_BUFFER_PARAMS unload = {
		.unload_state_buf = (uintptr_t)&unload_state,
	};
	int status;

	if (managed) {
		guest_expect_load("gvm", 0);
		status = guest_load("gvm_nvidia", parameters);
		guest_check(status == 0, "load gvm_nvidia: %s", guest_error_name(status));
	}
	status = guest_load("softgpu", softgpu_parameters);
	guest_check(status == 0, "load softgpu: %s", guest_error_name(status));
	status = softgpu_load_uvm(NO_DEBUG_PROCFS);
	guest_check(status == 0, "load nvidia-uvm: %s", guest_error_name(status));
	if (!guest_check(softgpu_open(), "both have a device"))
		return false;
	status = softgpu_attach(tenant, 1000);
	unload_state = 0;
	guest_check(softgpu_uvm(tenant->fd, UVM_TEST_REGISTER_UNLOAD_STATE_BUFFER, &unload) ==
			    0,
		    "UVM will say whether it lost memory");
	return guest_check(status == 0, "GPU, address space and channel are registered: %x",
			   status);
}

void hooked_finish(struct softgpu_tenant *tenant, bool managed)
{
	DIR *cgroups = opendir(CGROUPS);
	struct softgpu_stats stats;
	struct dirent *entry;
	int owner;

	softgpu_detach(tenant);
	while (cgroups && (entry = readdir(cgroups)))
		if (sscanf(entry->d_name, "t%d", &owner) == 1 && !hooked_empty(owner))
			guest_log("# cgroup %s stays", entry->d_name);
	if (cgroups)
		closedir(cgroups);

	stats = softgpu_stats();
	guest_check(stats.bad_addresses == 0 && stats.unknown_methods == 0,
		    "the GPU met no bad address, and knew all methods");
	guest_check(stats.pma_used_bytes == 0, "all vidmem was given back");
	softgpu_close();
	guest_expect_unload("nvidia_uvm", 0);
	guest_check(unload_state == 0, "it lost none");
	guest_expect_unload("softgpu", 0);
	if (managed) {
		guest_expect_unload("gvm_nvidia", 0);
		guest_expect_unload("gvm", 0);
	}
}

void hooked_mount(void)
{
	if (mount("none", CGROUPS, "cgroup2", 0, NULL))
		guest_log("# no cgroups");
}

struct hooked_process hooked_start(int (*life)(unsigned int number), unsigned int number)
{
	struct hooked_process process = { .pid = -1 };
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		return process;
	process.pid = fork();
	if (process.pid == 0) {
		close(to[1]);
		close(from[0]);
		hooked_from = to[0];
		hooked_to = from[1];
		_exit(hooked_contain(getpid()) ? life(number) : 101);
	}
	close(to[0]);
	close(from[1]);
	process.to = to[1];
	process.from = from[0];
	return process;
}

void hooked_wait_ready(struct hooked_process *process)
{
	char byte;

	/* No byte: it has ended. */
	if (read(process->from, &byte, 1) < 0)
		guest_log("# a tenant does not answer");
}

void hooked_go(struct hooked_process *process)
{
	if (write(process->to, "", 1) < 0)
		guest_log("# a tenant does not listen");
}

int hooked_end(struct hooked_process *process)
{
	int status = -1;

	close(process->to);
	waitpid(process->pid, &status, 0);
	close(process->from);
	if (!hooked_empty(process->pid))
		guest_log("# a cgroup stays");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + status;
}

void hooked_ready(void)
{
	char byte;

	if (write(hooked_to, "", 1) < 0 || read(hooked_from, &byte, 1) < 0)
		_exit(100);
}
