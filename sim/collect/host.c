// SPDX-License-Identifier: MIT OR GPL-2.0
#include "collect/host.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define DRIVER_VERSION "/proc/driver/nvidia/version"
#define GPU_FILES      "/proc/driver/nvidia/gpus/*/information"
#define BOOT_ID	       "/proc/sys/kernel/random/boot_id"

json_t *host_string(const char *text)
{
	json_t *string = json_string(text);
	char *copy = string ? NULL : strdup(text);

	for (char *c = copy; c && *c; c++)
		if ((unsigned char)*c > '~')
			*c = '?';
	if (copy)
		string = json_string(copy);
	free(copy);
	return string;
}

/*
 * Find the first line of @path that begins with @key, and return the rest of it without white
 * space at both ends. False: there is no such line.
 */
static bool find_line(const char *path, const char *key, char *ret_text, size_t size)
{
	FILE *stream = fopen(path, "re");
	char line[HOST_TEXT_MAX];
	bool found = false;

	while (stream && !found && fgets(line, sizeof(line), stream)) {
		const char *value = line + strlen(key);
		size_t length;

		found = !strncmp(line, key, strlen(key));
		if (!found)
			continue;
		value += strspn(value, " \t");
		length = strlen(value);
		while (length && strchr(" \t\n", value[length - 1]))
			length--;
		snprintf(ret_text, size, "%.*s", (int)length, value);
	}
	if (stream)
		fclose(stream);
	return found;
}

/* find_line() as JSON; null if there is no such line. */
static json_t *find_json(const char *path, const char *key)
{
	char text[HOST_TEXT_MAX];

	return find_line(path, key, text, sizeof(text)) ? host_string(text) : json_null();
}

void host_name(char *ret_text, size_t size)
{
	struct utsname host;

	snprintf(ret_text, size, "%s",
		 !uname(&host) && *host.nodename ? host.nodename : "unknown");
}

void host_gpu_model(char *ret_text, size_t size)
{
	glob_t files;

	snprintf(ret_text, size, "unknown");
	if (glob(GPU_FILES, 0, NULL, &files))
		return;
	find_line(files.gl_pathv[0], "Model:", ret_text, size);
	globfree(&files);
}

/* The GPUs in the order of their bus addresses, which are the names of their folders. */
static json_t *gpus_json(void)
{
	json_t *gpus = json_array();
	glob_t files;

	if (glob(GPU_FILES, 0, NULL, &files))
		return gpus;
	for (size_t i = 0; i < files.gl_pathc; i++)
		json_array_append_new(gpus,
				      json_pack("{soso}", "model",
						find_json(files.gl_pathv[i], "Model:"), "bus",
						find_json(files.gl_pathv[i], "Bus Location:")));
	globfree(&files);
	return gpus;
}

json_t *host_json(void)
{
	char name[HOST_TEXT_MAX];
	struct utsname host;

	host_name(name, sizeof(name));
	if (uname(&host))
		strcpy(host.release, "unknown");
	return json_pack("{sososososo}", "name", host_string(name), "kernel",
			 host_string(host.release), "boot_id", find_json(BOOT_ID, ""), "driver",
			 find_json(DRIVER_VERSION, "NVRM version:"), "gpus", gpus_json());
}
