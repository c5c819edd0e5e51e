// SPDX-License-Identifier: MIT OR GPL-2.0
#include "gvmd/host/host_gpus.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/error.h"
#include "gvmd/host/wishes.h"

struct host_gpu {
	char address[NAME_MAX + 1];
	char uuid[HOST_GPU_UUID_MAX];
	long minor; /* -1: not known */
	bool of_container;
};

struct host_table {
	struct host_gpu gpus[HOST_GPUS_MAX];
	size_t count;
};

/* A GPU's file has lines such as "GPU UUID: <tab> GPU-..." and "Device Minor: <tab> 0". */
static void read_gpu(const char *folder, const char *address, struct host_table *table)
{
	struct host_gpu *gpu = &table->gpus[table->count];
	char path[PATH_MAX], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/information", folder, address);
	file = table->count < HOST_GPUS_MAX ? fopen(path, "re") : NULL;
	if (!file)
		return;
	*gpu = (struct host_gpu){ .minor = -1 };
	snprintf(gpu->address, sizeof(gpu->address), "%s", address);
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "GPU UUID: %47s", gpu->uuid);
		sscanf(line, "Device Minor: %ld", &gpu->minor);
	}
	fclose(file);
	if (!strncmp(gpu->uuid, "GPU-", 4))
		table->count++;
}

static int compare_addresses(const void *one, const void *other)
{
	return strcasecmp(((const struct host_gpu *)one)->address,
			  ((const struct host_gpu *)other)->address);
}

static int read_table(const char *folder, struct host_table *table, struct sim_error *err)
{
	DIR *gpus = opendir(folder);
	struct dirent *gpu;

	if (!gpus)
		return sim_runtime_error(err, "%s: %s: limits of single GPUs need it", folder,
					 strerror(errno));
	while ((gpu = readdir(gpus)))
		if (*gpu->d_name != '.')
			read_gpu(folder, gpu->d_name, table);
	closedir(gpus);
	qsort(table->gpus, table->count, sizeof(*table->gpus), compare_addresses);
	return 0;
}

/*
 * "GPU-<uuid>,GPU-<uuid>", or numbers as nvidia-smi has them. False: one of them is
 * none of these GPUs, such as an instance of MIG. Then the numbers of the
 * container's GPUs are not known.
 */
static bool take_visible(const char *visible, struct host_table *table)
{
	while (*visible) {
		size_t length = strcspn(visible, ",");
		bool found = false;
		char *end;
		unsigned long number = strtoul(visible, &end, 10);

		for (size_t i = 0; i < table->count; i++) {
			struct host_gpu *gpu = &table->gpus[i];
			bool named = strlen(gpu->uuid) == length &&
				     !strncasecmp(gpu->uuid, visible, length);
			bool numbered = length && end == visible + length && number == i;

			gpu->of_container |= named || numbered;
			found |= named || numbered;
		}
		if (!found)
			return false;
		visible += length;
		visible += *visible == ',';
	}
	return true;
}

/* Device nodes of the container: those that CDI has put there. False: it has none of GPUs. */
static bool take_nodes(const json_t *config, struct host_table *table)
{
	const json_t *devices = json_object_get(json_object_get(config, "linux"), "devices");
	bool has_nodes = false;
	const json_t *device;
	size_t i;

	json_array_foreach(devices, i, device) {
		const char *path = json_string_value(json_object_get(device, "path"));
		long minor;
		char rest;

		if (!path || sscanf(path, "/dev/nvidia%ld%c", &minor, &rest) != 1)
			continue;
		has_nodes = true;
		for (size_t j = 0; j < table->count; j++)
			table->gpus[j].of_container |= table->gpus[j].minor == minor;
	}
	return has_nodes;
}

int host_gpus_find(const char *folder, const json_t *config, struct host_gpus *ret_gpus,
		   struct sim_error *err)
{
	const char *visible =
		wishes_variable(json_object_get(json_object_get(config, "process"), "env"),
				"NVIDIA_VISIBLE_DEVICES");
	struct host_table table = { .count = 0 };
	int status = read_table(folder, &table, err);

	if (status)
		return status;
	/* "void" and "none": the devices come another way. */
	if (visible && strcmp(visible, "all") != 0 && strcmp(visible, "void") != 0 &&
	    strcmp(visible, "none") != 0) {
		if (!take_visible(visible, &table))
			return sim_user_error(
				err,
				"NVIDIA_VISIBLE_DEVICES=%s: limits of single GPUs "
				"need numbers or UUIDs of GPUs",
				visible);
	} else if (!take_nodes(config, &table)) {
		for (size_t i = 0; i < table.count; i++)
			table.gpus[i].of_container = true;
	}
	ret_gpus->count = 0;
	for (size_t i = 0; i < table.count; i++)
		if (table.gpus[i].of_container)
			strcpy(ret_gpus->uuids[ret_gpus->count++], table.gpus[i].uuid);
	return 0;
}
