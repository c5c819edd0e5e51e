// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What the environment says of memory: GVM_LIMIT and GVM_RESIDENT, or what the plug-ins of
 * HAMi and KAI have put there.
 *
 *     GVM_LIMIT=20G              each GPU
 *     GVM_LIMIT=0:8G,1:50%       these two; others have no limit
 *     GVM_LIMIT=20G,1:4G         each, but GPU 1
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

#define SHARE_MAX_PPM 10000000ull
#define SMALL_BYTES   (1ull << 20)

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
static bool parse_size(const char *text, struct shim_size *ret_size)
{
	struct shim_size size = { .given = true, .bytes = SHIM_NO_LIMIT };

	if (!parse_ppm(text, &size.ppm) && !shim_parse_bytes(text, &size.bytes))
		return false;
	*ret_size = size;
	return true;
}

/* "8G", or "1:8G" of one GPU. False: neither, or said twice. */
static bool parse_entry(const char *text, struct shim_sizes *sizes)
{
	const char *colon = strchr(text, ':');
	struct shim_size *size = &sizes->all;
	char number[8];
	u64 gpu;

	if (colon) {
		if ((size_t)(colon - text) >= sizeof(number))
			return false;
		memcpy(number, text, (size_t)(colon - text));
		number[colon - text] = '\0';
		if (!shim_parse_number(number, SHIM_DEVICES - 1, &gpu))
			return false;
		size = &sizes->gpus[gpu];
		sizes->by_gpu = true;
		text = colon + 1;
	}
	return !size->given && parse_size(text, size);
}

static bool parse_sizes(const char *text, struct shim_sizes *ret_sizes)
{
	struct shim_sizes sizes = { 0 };
	char entry[32];

	for (;; text++) {
		size_t length = strcspn(text, ",");

		if (length >= sizeof(entry))
			return false;
		memcpy(entry, text, length);
		entry[length] = '\0';
		if (!parse_entry(entry, &sizes))
			return false;
		text += length;
		if (!*text)
			break;
	}
	*ret_sizes = sizes;
	return true;
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

/* A variable of HAMi. 0 is a whole GPU. */
static void read_hami(const char *name, struct shim_size *size)
{
	const char *text = getenv(name);
	u64 bytes;

	if (!text || !*text)
		return;
	if (!parse_hami(text, &bytes))
		shim_wrong(name, text, "bytes with k, m or g");
	else if (bytes)
		*size = (struct shim_size){ .given = true, .bytes = bytes };
}

/*
 * As HAMi's own library reads them: the numbered variable is the stronger one.
 * KAI's is that of each GPU.
 */
static void read_plugin_limits(struct shim_sizes *limit)
{
	const char *portion = getenv("GPU_PORTION");
	char name[40];

	read_hami("CUDA_DEVICE_MEMORY_LIMIT", &limit->all);
	for (int i = 0; i < SHIM_DEVICES; i++) {
		snprintf(name, sizeof(name), "CUDA_DEVICE_MEMORY_LIMIT_%d", i);
		read_hami(name, &limit->gpus[i]);
		limit->by_gpu |= limit->gpus[i].given;
	}
	if (limit->all.given || limit->by_gpu || !portion || !*portion || !strcmp(portion, "1"))
		return;
	limit->all.given = parse_ppm(portion, &limit->all.ppm);
	if (!limit->all.given)
		shim_wrong("GPU_PORTION", portion, "a share such as 0.5");
}

static bool is_small(const struct shim_size *size)
{
	return size->given && !size->ppm && size->bytes < SMALL_BYTES;
}

/* "GVM_LIMIT=20" is 20 bytes, which is hardly what the user means. It holds all the same. */
static void tell_small(const char *name, const char *value, const struct shim_sizes *sizes)
{
	bool small = is_small(&sizes->all);

	for (int i = 0; i < SHIM_DEVICES; i++)
		small |= is_small(&sizes->gpus[i]);
	if (small)
		shim_warn("%s=%." SHIM_SHOWN "s is less than 1 MiB: a number alone is bytes, "
			  "20G is 20 GiB, and 1.0 is all of a GPU",
			  name, value);
}

void shim_limits_read(struct shim_settings *settings)
{
	static const char allowed[] = "bytes with K, M, G or T, 8e9, a share such as 50% or "
				      "0.5, or max; of one GPU as 0:8G,1:4G";
	const char *limit = getenv("GVM_LIMIT");
	const char *resident = getenv("GVM_RESIDENT");

	if (!limit || !*limit)
		read_plugin_limits(&settings->limit);
	else if (!parse_sizes(limit, &settings->limit))
		shim_wrong("GVM_LIMIT", limit, allowed);
	else
		tell_small("GVM_LIMIT", limit, &settings->limit);
	if (!resident || !*resident)
		return;
	if (!parse_sizes(resident, &settings->resident))
		shim_wrong("GVM_RESIDENT", resident, allowed);
	else if (!settings->managed)
		shim_warn("GVM_RESIDENT needs GVM_SHIM_MANAGED=1: all memory stays on the GPU");
	else if (strcmp(resident, "0") != 0) /* which keeps all on the host */
		tell_small("GVM_RESIDENT", resident, &settings->resident);
}

bool shim_size_of(const struct shim_sizes *sizes, int device, u64 total, u64 *ret_bytes)
{
	const struct shim_size *size = &sizes->all;
	int number = sizes->by_gpu ? number_of_limit(device) : -1;

	if (number >= 0 && number < SHIM_DEVICES && sizes->gpus[number].given)
		size = &sizes->gpus[number];
	if (!size->given)
		return false;
	*ret_bytes = size->ppm ? total / 1000000 * size->ppm +
					 total % 1000000 * size->ppm / 1000000 :
				 size->bytes;
	return true;
}
