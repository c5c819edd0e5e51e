// SPDX-License-Identifier: MIT OR GPL-2.0
/* Settings from the environment. See docs/shim.md for what each means. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "patch.h"
#include "shim.h"

#define PRIORITY_MAX   16u
#define PERIOD_DEFAULT (2 * SHIM_MS)

struct shim_settings shim_settings = {
	.managed = true,
	.place = SHIM_PLACE_ADVISE,
	.priority = SHIM_PRIORITY_NO,
	.fence = SHIM_NO_FENCE,
	.period_ns = PERIOD_DEFAULT,
};

static void read_turns(void)
{
	const char *timeslice = getenv("GVM_TIMESLICE");
	const char *priority = getenv("GVM_PRIORITY");
	u64 value;

	if (priority && *priority) {
		if (shim_parse_number(priority, PRIORITY_MAX, &value)) {
			shim_settings.priority = (u32)value;
			shim_settings.timeslice_us = 524288ull >> value;
		} else {
			shim_wrong("GVM_PRIORITY", priority,
				   "0 to 16; 0 is the most important");
		}
	}
	if (timeslice && *timeslice) {
		if (shim_parse_timeslice(timeslice, &value))
			shim_settings.timeslice_us = value;
		else
			shim_wrong("GVM_TIMESLICE", timeslice, "2, 2ms or 2048us, up to 16 s");
	}
}

/* A mode that is not known means fence: the user wants one. */
static void read_fence(void)
{
	const char *mode = getenv("GVM_FENCE");
	const char *size = getenv("GVM_FENCE_SIZE");
	const char *allow = getenv("GVM_FENCE_ALLOW");

	if (!mode || !*mode)
		return;
	for (u32 i = 0; i < PATCH_MODES; i++)
		if (!strcmp(mode, patch_mode_names[i]))
			shim_settings.fence = i;
	if (shim_settings.fence == SHIM_NO_FENCE) {
		shim_settings.fence = PATCH_FENCE;
		shim_warn("GVM_FENCE=%." SHIM_SHOWN
			  "s is not known, fence is used; allowed: fence, once, 4g, "
			  "check, modulo, count",
			  mode);
	}
	/* The partition is device memory: managed memory would lie outside of it. */
	shim_settings.managed = false;
	if (size && *size &&
	    (!shim_parse_bytes(size, &shim_settings.fence_bytes) ||
	     shim_settings.fence_bytes > 1ull << 46)) {
		shim_settings.fence_bytes = 0;
		shim_wrong("GVM_FENCE_SIZE", size, "bytes with K, M, G or T, up to 64T");
	}
	if (allow && strlen(allow) < sizeof(shim_settings.fence_allow))
		strcpy(shim_settings.fence_allow, allow);
	else if (allow)
		shim_wrong("GVM_FENCE_ALLOW", allow, "up to 511 characters");
}

static void read_names(void)
{
	const char *directory = getenv("GVM_SHIM_DIR");
	const char *container = getenv("GVM_CONTAINER");

	if (directory && *directory == '/' && strlen(directory) < SHIM_PATH_MAX - 128)
		strcpy(shim_settings.directory, directory);
	else if (!geteuid())
		strcpy(shim_settings.directory, "/run/gvm-shim");
	else
		snprintf(shim_settings.directory, sizeof(shim_settings.directory),
			 "/tmp/gvm-shim-%u", geteuid());
	if (directory && *directory && strcmp(directory, shim_settings.directory) != 0)
		shim_wrong("GVM_SHIM_DIR", directory,
			   "an absolute path of up to 383 characters");
	if (!container || !*container)
		return;
	if (strlen(container) < SHIM_NAME_MAX && *container != '.' && !strchr(container, '/'))
		strcpy(shim_settings.container, container);
	else
		shim_wrong("GVM_CONTAINER", container,
			   "a name of up to 63 characters without '/'");
}

const char *shim_make_directory(void)
{
	struct stat info;

	if (mkdir(shim_settings.directory, 0755) && errno != EEXIST)
		return strerror(errno);
	if (lstat(shim_settings.directory, &info))
		return strerror(errno);
	if (!S_ISDIR(info.st_mode))
		return "it is no directory";
	return info.st_uid && info.st_uid != geteuid() ? "it belongs to another user" : NULL;
}

void shim_settings_read(void)
{
	const char *managed = getenv("GVM_SHIM_MANAGED");
	const char *place = getenv("GVM_SHIM_PLACE");
	const char *period = getenv("GVM_SHIM_PERIOD");
	u64 value;

	if (managed && *managed) {
		if (!strcmp(managed, "0") || !strcmp(managed, "1"))
			shim_settings.managed = *managed == '1';
		else
			shim_wrong("GVM_SHIM_MANAGED", managed, "0, 1");
	}
	if (place && *place) {
		if (!strcmp(place, "none"))
			shim_settings.place = SHIM_PLACE_NONE;
		else if (!strcmp(place, "advise"))
			shim_settings.place = SHIM_PLACE_ADVISE;
		else if (!strcmp(place, "prefetch"))
			shim_settings.place = SHIM_PLACE_PREFETCH;
		else
			shim_wrong("GVM_SHIM_PLACE", place, "none, advise, prefetch");
	}
	if (period && *period) {
		if (shim_parse_timeslice(period, &value))
			shim_settings.period_ns = value * 1000;
		else
			shim_wrong("GVM_SHIM_PERIOD", period, "2, 2ms or 500us");
	}
	read_fence();
	shim_limits_read(&shim_settings);
	read_turns();
	read_names();
}
