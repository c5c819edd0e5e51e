// SPDX-License-Identifier: MIT OR GPL-2.0
/* A container's background evictor lives until the last of its contexts ends. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fakegpu_guest.h"

/* Count the threads named "gvm evictor". One is the GPU's. */
static uint32_t count_evictors(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	uint32_t count = 0;

	while (proc && (entry = readdir(proc))) {
		char path[280], name[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = isdigit((unsigned char)entry->d_name[0]) ? fopen(path, "r") : NULL;
		if (!file)
			continue;
		count += fgets(name, sizeof(name), file) && !strcmp(name, "gvm evictor\n");
		fclose(file);
	}
	if (proc)
		closedir(proc);
	return count;
}

void test_evictor(void)
{
	int contexts[3];

	gpu_load("chunks=16");
	guest_check(count_evictors() == 1, "the GPU has an evictor");
	for (uint32_t i = 0; i < 3; i++)
		contexts[i] = tenant_open(0);
	guest_check(count_evictors() == 2, "three contexts of a container share one");
	close(contexts[0]);
	guest_check(count_evictors() == 2, "it outlives the first of them");
	close(contexts[2]);
	guest_check(count_evictors() == 2, "and the last");
	close(contexts[1]);
	guest_check(count_evictors() == 1, "it ends with the container");
	gpu_unload();
}
