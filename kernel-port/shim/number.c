// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Which GPU is which. CUDA numbers those that CUDA_VISIBLE_DEVICES lets through, in that order.
 * People and tools number by the order of PCI addresses, as nvidia-smi does; and a container's
 * limits number its own GPUs.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

#define GPUS "/proc/driver/nvidia/gpus"

static _Atomic int limit_numbers[SHIM_DEVICES]; /* and 1; 0: not known yet */

/* Has the GPU a node in @dev? One whose information cannot be read counts. */
static bool has_node(const char *gpus, const char *dev, const char *address)
{
	static const char label[] = "Device Minor:";
	char path[SHIM_PATH_MAX];
	char line[256];
	long minor = -1;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/information", gpus, address);
	file = fopen(path, "re");
	if (!file)
		return true;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, label, sizeof(label) - 1))
			minor = strtol(line + sizeof(label) - 1, NULL, 10);
	fclose(file);
	snprintf(path, sizeof(path), "%s/nvidia%ld", dev, minor);
	return minor < 0 || !access(path, F_OK);
}

int number_among(const char *gpus, const char *dev, const char *address)
{
	DIR *folder = opendir(gpus);
	struct dirent *gpu;
	bool found = false;
	int before = 0;

	if (!folder)
		return -1;
	while ((gpu = readdir(folder))) {
		int order = strcasecmp(gpu->d_name, address);

		if (*gpu->d_name == '.' || (dev && !has_node(gpus, dev, gpu->d_name)))
			continue;
		found |= !order;
		before += order < 0;
	}
	closedir(folder);
	return found ? before : -1;
}

/* The driver does not say addresses before cuInit(). */
static bool address_of(int device, char *address, int size)
{
	const struct shim_real *real = shim_real();

	return real && real->cuDeviceGetPCIBusId &&
	       real->cuDeviceGetPCIBusId(address, size, device) == CU_OK;
}

/* Without NVIDIA's folder in /proc it is CUDA's number. */
int number_of(int device)
{
	char address[32] = "";
	int number = -1;

	if (address_of(device, address, sizeof(address)))
		number = number_among(GPUS, NULL, address);
	return number < 0 ? device : number;
}

int number_of_limit(int device)
{
	char address[32] = "";
	int number;

	if (device < 0 || device >= SHIM_DEVICES)
		return device;
	if (limit_numbers[device])
		return limit_numbers[device] - 1;
	if (!address_of(device, address, sizeof(address)))
		return device;
	number = number_among(GPUS, "/dev", address);
	if (number < 0)
		number = device;
	limit_numbers[device] = number + 1;
	return number;
}
