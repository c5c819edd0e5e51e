// SPDX-License-Identifier: MIT OR GPL-2.0
/* The directories of containers on a real host; see directories.h. */
#include "collect/directories.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_number(const struct dirent *entry)
{
	return strspn(entry->d_name, "0123456789") == strlen(entry->d_name);
}

/* Numbered entries in ascending order; negative: there is no such directory. */
static int list_numbers(const char *path, struct dirent ***ret_entries)
{
	return scandir(path, ret_entries, is_number, versionsort);
}

static void free_list(struct dirent **entries, int count)
{
	for (int i = 0; i < count; i++)
		free(entries[i]);
	if (count >= 0)
		free(entries);
}

static int open_directory(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The first GPU of a process group that has a directory, or SAMPLER_ANY_GPU. */
static u64 first_gpu(const char *root, u64 tgid)
{
	char path[SAMPLER_PATH_MAX];
	struct dirent **entries;
	u64 gpu = SAMPLER_ANY_GPU;
	int count;

	snprintf(path, sizeof(path), "%s/%llu", root, tgid);
	count = list_numbers(path, &entries);
	if (count > 0)
		gpu = strtoull(entries[0]->d_name, NULL, 10);
	free_list(entries, count);
	return gpu;
}

int directories_open(const struct sampler *sampler, struct sampler_container *container,
		     char path[SAMPLER_PATH_MAX])
{
	int dir = -1;

	for (size_t i = 0; dir < 0 && i < sampler->root_count; i++) {
		u64 gpu = container->gpu;

		if (gpu == SAMPLER_ANY_GPU)
			gpu = first_gpu(sampler->roots[i], container->tgid);
		if (gpu == SAMPLER_ANY_GPU)
			continue;
		snprintf(path, SAMPLER_PATH_MAX, "%s/%llu/%llu", sampler->roots[i],
			 container->tgid, gpu);
		dir = open_directory(path);
		if (dir >= 0)
			container->gpu = gpu;
	}
	return dir;
}

/*
 * Add the container of a process and a GPU that have a directory, unless it is known. Returns 0
 * or -ENOMEM.
 */
static int discover_container(struct sampler *sampler, const char *path, u64 tgid, u64 gpu)
{
	struct sampler_container *container;
	int dir;

	for (u32 i = 0; i < sampler->container_count; i++)
		if (sampler->containers[i].tgid == tgid && sampler->containers[i].gpu == gpu)
			return 0;
	if (sampler->container_count == CFG_CONTAINERS_MAX) {
		if (sampler->too_many_told)
			return 0;
		sampler->too_many_told = true;
		return sampler_note(sampler, "%s: more than %d containers, it is not sampled",
				    path, CFG_CONTAINERS_MAX);
	}
	dir = open_directory(path);
	if (dir < 0)
		return 0; /* a file with a number as its name */
	close(dir);
	container = sampler_new_container(sampler, tgid, gpu);
	if (!container)
		return -ENOMEM;
	snprintf(container->name, sizeof(container->name), "%llu-%llu", tgid, gpu);
	return 0;
}

static int discover_process(struct sampler *sampler, const char *root, const char *tgid)
{
	char path[SAMPLER_PATH_MAX];
	struct dirent **gpus;
	int status = 0;
	int count;

	snprintf(path, sizeof(path), "%s/%s", root, tgid);
	count = list_numbers(path, &gpus);
	for (int i = 0; !status && i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", root, tgid, gpus[i]->d_name);
		status = discover_container(sampler, path, strtoull(tgid, NULL, 10),
					    strtoull(gpus[i]->d_name, NULL, 10));
	}
	free_list(gpus, count);
	return status;
}

int directories_discover(struct sampler *sampler)
{
	int status = 0;

	for (size_t i = 0; !status && i < sampler->root_count; i++) {
		struct dirent **processes;
		int count = list_numbers(sampler->roots[i], &processes);

		for (int j = 0; !status && j < count; j++)
			status = discover_process(sampler, sampler->roots[i],
						  processes[j]->d_name);
		free_list(processes, count);
	}
	return status;
}

int directories_note_no_roots(struct sampler *sampler)
{
	char files[1024] = "";
	char where[SAMPLER_ROOTS_MAX * SAMPLER_PATH_MAX] = "";
	size_t length = 0;
	int error = 0;

	for (size_t i = 0; i < sampler->root_count; i++) {
		int dir = open_directory(sampler->roots[i]);

		if (dir >= 0) {
			close(dir);
			return 0;
		}
		/* One that is there, and closed to this user, says more than one that is not. */
		error = error == EACCES ? error : errno;
		length += (size_t)snprintf(where + length, sizeof(where) - length, "%s%s",
					   i ? " and " : "", sampler->roots[i]);
	}
	length = 0;
	for (u32 i = 0; i < gvm_control_count() && length < sizeof(files); i++)
		length += (size_t)snprintf(files + length, sizeof(files) - length, "%s%s",
					   i ? ", " : "", gvm_control_at(i)->name);
	return sampler_note(sampler, "%s: %s%s; missing and not sampled: %s", where,
			    strerror(error), error == EACCES ? " (debugfs is root's)" : "",
			    files);
}
