// SPDX-License-Identifier: MIT OR GPL-2.0
#include "gvmd/host/host_world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "gvmd/metrics.h"

/* Where gvm.ko has the directories: debugfs, and sysfs for a kernel that is locked down. */
static const char *const roots[] = { "/sys/kernel/debug/gvm", "/sys/kernel/gvm" };

void host_world_set_root(struct host_world *world, const char *root)
{
	world->root = root;
	if (!root)
		world->root =
			access(roots[0], W_OK) && !access(roots[1], F_OK) ? roots[1] : roots[0];
}

/* Split "NAME=VALUE". Returns the value, or NULL: it is none, or the name is no name. */
static const char *argument_value(const char *argument, char name[GVMD_NAME_MAX])
{
	const char *equals = strchr(argument, '=');

	if (!equals || equals == argument || equals - argument >= GVMD_NAME_MAX || !equals[1])
		return NULL;
	snprintf(name, GVMD_NAME_MAX, "%.*s", (int)(equals - argument), argument);
	return equals + 1;
}

static struct host_container *world_find(struct host_world *world, const char *name)
{
	for (u32 i = 0; i < world->count; i++)
		if (!strcmp(world->containers[i].name, name))
			return &world->containers[i];
	return NULL;
}

static bool is_number(const char *text, size_t length)
{
	return length && length < 12 && strspn(text, "0123456789") >= length;
}

/* A GPU's number, without zeros before it. */
static bool is_gpu(const char *text)
{
	return is_number(text, strlen(text)) && (*text != '0' || !text[1]) &&
	       atoll(text) <= INT_MAX;
}

/* A process's number: from 1 to the largest pid_t, without zeros before it. */
static bool is_pid(const char *text, size_t length)
{
	return is_number(text, length) && *text != '0' && atoll(text) <= INT_MAX;
}

const char *host_world_add(struct host_world *world, const char *argument)
{
	struct host_container *container = &world->containers[world->count];
	char name[GVMD_NAME_MAX];
	const char *value = argument_value(argument, name);
	const char *colon = value ? strrchr(value, ':') : NULL;
	size_t length = value ? (colon ? (size_t)(colon - value) : strlen(value)) : 0;
	const char *gpu = colon ? colon + 1 : "0";

	/* One container has one spelling: it may be given once. */
	while (value && *value == '/' && length > 1 && value[length - 1] == '/')
		length--;
	if (!value || !is_gpu(gpu) || (*value != '/' && !is_pid(value, length)) ||
	    length < 1 + (*value == '/'))
		return "allowed: NAME=PID, NAME=/CGROUP, each also with :GPU";
	if (strstr(value, "..") || memmem(value, length, "//", 2))
		return "allowed: a path without \"..\" and \"//\"";
	if (world_find(world, name))
		return "that container is named twice";
	_Static_assert(GVMD_CONTAINERS_MAX == 64, "the message below says 64");
	if (world->count == GVMD_CONTAINERS_MAX)
		return "allowed: up to 64 containers";
	snprintf(container->name, sizeof(container->name), "%s", name);
	if ((size_t)snprintf(container->directory, sizeof(container->directory), "%s%.*s/%s",
			     *value == '/' ? "cgroup" : "", (int)length, value,
			     gpu) >= sizeof(container->directory))
		return "that path is too long";
	container->gpu = (u32)strtoul(gpu, NULL, 10);
	for (u32 i = 0; i < world->count; i++)
		if (!strcmp(world->containers[i].directory, container->directory))
			return "another name has that container already";
	world->count++;
	return NULL;
}

const char *host_world_add_report(struct host_world *world, const char *argument)
{
	char name[GVMD_NAME_MAX];
	const char *value = argument_value(argument, name);
	struct host_container *container = value ? world_find(world, name) : NULL;

	if (!value)
		return "allowed: NAME=FILE";
	if (!container)
		return "no --container has that name";
	snprintf(container->report, sizeof(container->report), "%s", value);
	return NULL;
}

/* Open a file of a container. Returns a descriptor or -errno. */
static int world_open(const struct host_world *world, const struct host_container *container,
		      const char *file, int flags)
{
	char path[2 * PATH_MAX];
	int fd;

	if (!strcmp(file, GVMD_REPORT)) {
		if (!*container->report)
			return -ENOENT;
		snprintf(path, sizeof(path), "%s", container->report);
	} else {
		snprintf(path, sizeof(path), "%s/%s/%s", world->root, container->directory,
			 file);
	}
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* A file of debugfs or sysfs gives its whole text in one read. */
int host_world_read(struct host_world *world, u32 index, const char *file, char *text,
		    size_t size)
{
	struct host_container *container = &world->containers[index];
	int fd = world_open(world, container, file, O_RDONLY | O_NONBLOCK);
	ssize_t length;

	if (fd < 0)
		return fd;
	length = read(fd, text, size - 1);
	if (length < 0)
		length = -errno;
	close(fd);
	if (length < 0)
		return (int)length;
	text[length] = '\0';
	if (strcmp(file, GVMD_REPORT) != 0)
		container->seen = true;
	return (int)length;
}

/* A write is one whole value. With O_NONBLOCK gvm.ko does not wait for the reclaim. */
int host_world_write(struct host_world *world, u32 index, const char *file, const char *text,
		     bool no_wait)
{
	int fd = world_open(world, &world->containers[index], file,
			    O_WRONLY | O_TRUNC | (no_wait ? O_NONBLOCK : 0));
	ssize_t written;
	int status = 0;

	if (fd < 0)
		return fd;
	written = write(fd, text, strlen(text));
	if (written < 0)
		status = -errno;
	else if ((size_t)written != strlen(text))
		status = -EIO;
	close(fd);
	return status;
}
