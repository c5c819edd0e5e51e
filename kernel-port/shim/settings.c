// SPDX-License-Identifier: MIT OR GPL-2.0
/* Settings from the environment. See docs/shim.md for what each means. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "patch.h"
#include "shim.h"

#define TIMESLICE_MAX_US 16000000ull
#define PRIORITY_MAX	 16u
#define SHARE_MAX_PPM	 10000000ull
#define PERIOD_DEFAULT	 (2 * SHIM_MS)

struct shim_settings shim_settings = {
	.managed = true,
	.place = SHIM_PLACE_ADVISE,
	.limit_bytes = SHIM_NO_LIMIT,
	.resident_bytes = SHIM_NO_LIMIT,
	.priority = SHIM_PRIORITY_NO,
	.fence = SHIM_NO_FENCE,
	.period_ns = PERIOD_DEFAULT,
};

bool shim_parse_number(const char *text, u64 max, u64 *ret_number)
{
	u64 number = 0;

	if (!*text)
		return false;
	for (; isdigit((unsigned char)*text); text++) {
		u64 digit = (u64)(*text - '0');

		if (number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret_number = number;
	return !*text;
}

/* As in scenarios: K, M, G, T are powers of 1024, and 8e9 has a decimal exponent. */
bool shim_parse_bytes(const char *text, u64 *ret_bytes)
{
	static const char suffixes[] = "KMGT";
	char digits[24];
	size_t length = strspn(text, "0123456789");
	u64 factor = 1;
	u64 power;

	if (!strcmp(text, "max")) {
		*ret_bytes = SHIM_NO_LIMIT;
		return true;
	}
	if (!length || length >= sizeof(digits))
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	text += length;
	if (*text == 'e') {
		if (!shim_parse_number(text + 1, 18, &power))
			return false;
		while (power--)
			factor *= 10;
	} else if (*text) {
		const char *suffix = strchr(suffixes, *text);

		if (!suffix || text[1])
			return false;
		factor = 1ull << (10 * (suffix - suffixes + 1));
	}
	if (!shim_parse_number(digits, (SHIM_NO_LIMIT - 1) / factor, ret_bytes))
		return false;
	*ret_bytes *= factor;
	return true;
}

bool shim_parse_timeslice(const char *text, u64 *ret_us)
{
	size_t length = strspn(text, "0123456789");
	char digits[16];
	u64 factor;

	if (!length || length >= sizeof(digits))
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (!text[length] || !strcmp(text + length, "ms"))
		factor = 1000;
	else if (!strcmp(text + length, "us"))
		factor = 1;
	else
		return false;
	if (!shim_parse_number(digits, TIMESLICE_MAX_US / factor, ret_us) || !*ret_us)
		return false;
	*ret_us *= factor;
	return true;
}

static void wrong(const char *name, const char *value, const char *allowed)
{
	shim_warn("%s=%s is ignored; allowed: %s", name, value, allowed);
}

/* "50%" or "0.25" of the device, up to ten times of it, in millionths. False: no share. */
static bool parse_ppm(const char *text, u32 *ret_ppm)
{
	size_t length = strlen(text);
	bool percent = length && text[length - 1] == '%';
	u64 unit = percent ? 10000 : 1000000;
	const char *point = strchr(text, '.');
	size_t whole_length = point ? (size_t)(point - text) : length - percent;
	char number[8];
	u64 whole;

	if (whole_length >= sizeof(number) || (!percent && !point))
		return false;
	memcpy(number, text, whole_length);
	number[whole_length] = '\0';
	if (!shim_parse_number(number, SHARE_MAX_PPM / unit, &whole))
		return false;
	whole *= unit;
	for (text = point ? point + 1 : text + whole_length; isdigit((unsigned char)*text);
	     text++) {
		unit /= 10;
		whole += unit * (u64)(*text - '0');
	}
	if (!whole || whole > SHARE_MAX_PPM || strcmp(text, percent ? "%" : "") != 0)
		return false;
	*ret_ppm = (u32)whole;
	return true;
}

/* A size, or a share. False: neither. */
static bool parse_share(const char *text, u64 *ret_bytes, u32 *ret_ppm)
{
	return parse_ppm(text, ret_ppm) || shim_parse_bytes(text, ret_bytes);
}

u64 shim_share(u64 total, u32 ppm)
{
	return total / 1000000 * ppm + total % 1000000 * ppm / 1000000;
}

/* As HAMi writes it: 1g, 1024m, 1048576k, or bytes. */
static bool parse_hami(const char *text, u64 *ret_bytes)
{
	char copy[24];
	size_t length = strlen(text);

	if (!length || length >= sizeof(copy))
		return false;
	strcpy(copy, text);
	copy[length - 1] = (char)toupper((unsigned char)copy[length - 1]);
	return shim_parse_bytes(copy, ret_bytes);
}

/*
 * Without GVM_LIMIT: what the plug-ins of HAMi and KAI have put into the container's environment. 0 is a whole GPU.
 * All GPUs of a container get the first one's.
 */
static void read_plugin_limit(void)
{
	static const char *const names[] = { "CUDA_DEVICE_MEMORY_LIMIT",
					     "CUDA_DEVICE_MEMORY_LIMIT_0" };
	const char *portion = getenv("GPU_PORTION");
	u64 bytes;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = getenv(names[i]);

		if (!text || !*text)
			continue;
		if (!parse_hami(text, &bytes))
			wrong(names[i], text, "bytes with k, m or g");
		else if (bytes) {
			shim_settings.limit_given = true;
			shim_settings.limit_bytes = bytes;
			return;
		}
	}
	if (!portion || !*portion || !strcmp(portion, "1"))
		return;
	shim_settings.limit_given = parse_ppm(portion, &shim_settings.limit_ppm);
	if (!shim_settings.limit_given)
		wrong("GPU_PORTION", portion, "a share such as 0.5");
}

static void read_limits(void)
{
	static const char allowed[] =
		"bytes with K, M, G or T, 8e9, a share such as 50% or 0.5, or max";
	const char *limit = getenv("GVM_LIMIT");
	const char *resident = getenv("GVM_RESIDENT");
	u64 bytes = SHIM_NO_LIMIT;

	if (!limit || !*limit) {
		read_plugin_limit();
	} else {
		shim_settings.limit_given =
			parse_share(limit, &bytes, &shim_settings.limit_ppm);
		if (shim_settings.limit_given)
			shim_settings.limit_bytes = bytes;
		else
			wrong("GVM_LIMIT", limit, allowed);
	}
	if (resident && *resident &&
	    !parse_share(resident, &shim_settings.resident_bytes, &shim_settings.resident_ppm))
		wrong("GVM_RESIDENT", resident, allowed);
	else if (resident && *resident && !shim_settings.managed)
		shim_warn("GVM_RESIDENT needs GVM_SHIM_MANAGED=1: all memory stays on the GPU");
}

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
			wrong("GVM_PRIORITY", priority, "0 to 16; 0 is the most important");
		}
	}
	if (timeslice && *timeslice) {
		if (shim_parse_timeslice(timeslice, &value))
			shim_settings.timeslice_us = value;
		else
			wrong("GVM_TIMESLICE", timeslice, "2, 2ms or 2048us, up to 16 s");
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
		shim_warn("GVM_FENCE=%s is not known, fence is used; allowed: fence, once, 4g, "
			  "check, modulo",
			  mode);
	}
	/* The partition is device memory: managed memory would lie outside of it. */
	shim_settings.managed = false;
	if (size && *size &&
	    (!shim_parse_bytes(size, &shim_settings.fence_bytes) ||
	     shim_settings.fence_bytes > 1ull << 46)) {
		shim_settings.fence_bytes = 0;
		wrong("GVM_FENCE_SIZE", size, "bytes with K, M, G or T, up to 64T");
	}
	if (allow && strlen(allow) < sizeof(shim_settings.fence_allow))
		strcpy(shim_settings.fence_allow, allow);
	else if (allow)
		wrong("GVM_FENCE_ALLOW", allow, "up to 511 characters");
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
		wrong("GVM_SHIM_DIR", directory, "an absolute path of up to 383 characters");
	if (!container || !*container)
		return;
	if (strlen(container) < SHIM_NAME_MAX && *container != '.' && !strchr(container, '/'))
		strcpy(shim_settings.container, container);
	else
		wrong("GVM_CONTAINER", container, "a name of up to 63 characters without '/'");
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
			wrong("GVM_SHIM_MANAGED", managed, "0, 1");
	}
	if (place && *place) {
		if (!strcmp(place, "none"))
			shim_settings.place = SHIM_PLACE_NONE;
		else if (!strcmp(place, "advise"))
			shim_settings.place = SHIM_PLACE_ADVISE;
		else if (!strcmp(place, "prefetch"))
			shim_settings.place = SHIM_PLACE_PREFETCH;
		else
			wrong("GVM_SHIM_PLACE", place, "none, advise, prefetch");
	}
	if (period && *period) {
		if (shim_parse_timeslice(period, &value))
			shim_settings.period_ns = value * 1000;
		else
			wrong("GVM_SHIM_PERIOD", period, "2, 2ms or 500us");
	}
	read_fence();
	read_limits();
	read_turns();
	read_names();
}
