// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Words for the same limit, the strongest first:
 *
 *     gvm.gmem.limit.high=20G        annotation: any control file that can be written, after "gvm."
 *     GVM_LIMIT=20G, GVM_LIMIT=0:8G,1:4G
 *                                    environment: the shim's word
 *     gpu-memory=2000                annotation of KAI, in MiB
 *     gpu-fraction=0.5               annotation of KAI
 *     CUDA_DEVICE_MEMORY_LIMIT_0=3000m, CUDA_DEVICE_MEMORY_LIMIT=1g
 *                                    environment: the plug-in of HAMi; the numbered
 *                                    one is stronger
 *     GPU_PORTION=0.5                environment: the plug-in of KAI
 *
 * and for time gvm.compute.weight, then CUDA_DEVICE_SM_LIMIT=30, or ..._0=30, in
 * percent. Annotations are the pod's. A plug-in sets the environment of the one
 * container that has the GPU.
 */
#include "gvmd/host/wishes.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "config/units.h"
#include "engine/error.h"
#include "gvm/control.h"

#define PREFIX "gvm."

/* Where words come from, and what a share is a share of. */
struct source {
	json_t *annotations;
	const json_t *environment;
	u64 gpu_bytes;
};

enum form { FORM_SIZE, FORM_MIB, FORM_SHARE, FORM_HAMI, FORM_PERCENT };

#define NUMBERED_GPUS 16 /* HAMi's variables end with _0 to _15 */

/* In the order of strength. */
static const struct word {
	const char *name;
	bool annotation;
	enum form form;
	const char *file;
} words[] = {
	{ "GVM_LIMIT", false, FORM_SIZE, "gmem.limit.high" },
	{ "gpu-memory", true, FORM_MIB, "gmem.limit.high" },
	{ "gpu-fraction", true, FORM_SHARE, "gmem.limit.high" },
	{ "CUDA_DEVICE_MEMORY_LIMIT", false, FORM_HAMI, "gmem.limit.high" },
	{ "GPU_PORTION", false, FORM_SHARE, "gmem.limit.high" },
	{ "CUDA_DEVICE_SM_LIMIT", false, FORM_PERCENT, "compute.weight" },
};

const char *wishes_variable(const json_t *environment, const char *name)
{
	size_t length = strlen(name);
	const json_t *entry;
	size_t i;

	json_array_foreach(environment, i, entry) {
		const char *text = json_string_value(entry);

		if (text && !strncmp(text, name, length) && text[length] == '=' &&
		    text[length + 1])
			return text + length + 1;
	}
	return NULL;
}

static const char *value_of(const struct source *source, const struct word *word)
{
	const char *text =
		word->annotation ?
			json_string_value(json_object_get(source->annotations, word->name)) :
			wishes_variable(source->environment, word->name);

	return text && *text ? text : NULL;
}

static bool has(const struct wishes *wishes, const char *file)
{
	for (size_t i = 0; i < wishes->count; i++)
		if (!strcmp(wishes->wishes[i].file, file))
			return true;
	return false;
}

/*
 * "0.25" of a GPU, above 0 and up to 1. @parts: 1, or 100 for a text in
 * percent. False: no share.
 */
static bool parse_share(const struct source *source, const char *text, u64 parts,
			u64 *ret_bytes)
{
	u64 ppm;

	if (units_parse_ppm(text, &ppm) || ppm / parts > 1000000)
		return false;
	ppm /= parts;
	*ret_bytes =
		source->gpu_bytes / 1000000 * ppm + source->gpu_bytes % 1000000 * ppm / 1000000;
	return ppm > 0;
}

/* HAMi: 1g, 1024m, 1048576k or bytes, of powers of 1024. */
static bool parse_hami(const char *text, u64 *ret_bytes)
{
	char copy[32];
	size_t length = strlen(text);

	if (!length || length >= sizeof(copy))
		return false;
	strcpy(copy, text);
	copy[length - 1] = (char)toupper((unsigned char)copy[length - 1]);
	return units_parse_size(copy, ret_bytes) == UNITS_OK;
}

/* "50%", and as in the shim "0.5". */
static bool is_share(const struct word *word, const char *text)
{
	return word->form == FORM_SHARE ||
	       (word->form == FORM_SIZE &&
		(strchr(text, '%') ||
		 (strchr(text, '.') && !text[strspn(text, "0123456789.")])));
}

/* A word as a number of its control file. False: no such value. */
static bool parse(const struct source *source, const struct word *word, const char *text,
		  u64 *ret_value)
{
	size_t length = strlen(text);
	char copy[32];

	switch (word->form) {
	case FORM_SIZE:
		if (is_share(word, text) && text[length - 1] != '%')
			return parse_share(source, text, 1, ret_value);
		if (length < 2 || length >= sizeof(copy) || text[length - 1] != '%')
			return units_parse_size(text, ret_value) == UNITS_OK;
		memcpy(copy, text, length - 1);
		copy[length - 1] = '\0';
		return parse_share(source, copy, 100, ret_value);
	case FORM_MIB:
		if (units_parse_integer(text, ret_value) || *ret_value > 1ull << 40)
			return false;
		*ret_value <<= 20;
		return true;
	case FORM_SHARE:
		return parse_share(source, text, 1, ret_value);
	case FORM_HAMI:
		return parse_hami(text, ret_value);
	case FORM_PERCENT:
		return !units_parse_integer(text, ret_value) && *ret_value <= 100;
	}
	return false;
}

/* One value of a word; @name is what the user wrote before it. */
static int add_value(const struct source *source, const struct word *word, const char *name,
		     const char *text, int gpu, struct wishes *wishes, struct sim_error *err)
{
	struct wish *wish = &wishes->wishes[wishes->count];
	u64 value;

	if (is_share(word, text) && !source->gpu_bytes)
		return sim_user_error(
			err,
			"%s=%s is a share of a GPU; the hook needs --memory SIZE, "
			"what one has",
			name, text);
	if (!parse(source, word, text, &value))
		return sim_user_error(err, "%s=%s is no limit", name, text);
	/* HAMi says 0 for a whole GPU. */
	if (!value)
		return 0;
	if (wishes->count == WISHES_MAX)
		return sim_user_error(err, "too many limits");
	wish->file = word->file;
	wish->gpu = gpu;
	snprintf(wish->value, sizeof(wish->value), value == U64_MAX ? "max" : "%llu", value);
	wishes->count++;
	return 0;
}

/* "8G,1:4G": of each GPU, and of single ones. */
static int add_list(const struct source *source, const struct word *word, const char *text,
		    struct wishes *wishes, struct sim_error *err)
{
	int status = 0;

	for (bool more = true; more && !status;) {
		size_t length = strcspn(text, ",");
		char entry[64];
		char *colon;
		u64 gpu = 0;

		snprintf(entry, sizeof(entry), "%.*s", (int)length, text);
		colon = strchr(entry, ':');
		if (colon)
			*colon = '\0';
		if (length >= sizeof(entry) || !*(colon ? colon + 1 : entry) ||
		    (colon && (units_parse_integer(entry, &gpu) || gpu >= NUMBERED_GPUS)))
			return sim_user_error(err, "%s=%s is no limit", word->name, text);
		status = add_value(source, word, word->name, colon ? colon + 1 : entry,
				   colon ? (int)gpu : -1, wishes, err);
		more = text[length] == ',';
		text += length + more;
	}
	return status;
}

/*
 * HAMi has a variable for each GPU of the container, NAME_0, NAME_1 and so on. If all variables
 * that are set have the same value, they become one wish for all GPUs.
 */
static int add_numbered(const struct source *source, const struct word *word,
			struct wishes *wishes, struct sim_error *err)
{
	size_t first = wishes->count;
	bool equal = true;
	int status = 0;
	char name[64];

	for (int gpu = 0; gpu < NUMBERED_GPUS && !status; gpu++) {
		const char *text;

		snprintf(name, sizeof(name), "%s_%d", word->name, gpu);
		text = wishes_variable(source->environment, name);
		if (text)
			status = add_value(source, word, name, text, gpu, wishes, err);
	}
	for (size_t i = first; i < wishes->count; i++)
		equal &= !strcmp(wishes->wishes[i].value, wishes->wishes[first].value);
	if (!status && equal && wishes->count > first) {
		wishes->wishes[first].gpu = -1;
		wishes->count = first + 1;
	}
	return status;
}

static int add_word(const struct source *source, const struct word *word, struct wishes *wishes,
		    struct sim_error *err)
{
	const char *text = value_of(source, word);
	int status = 0;

	if (has(wishes, word->file))
		return 0;
	if (text && word->form == FORM_SIZE)
		return add_list(source, word, text, wishes, err);
	if (text)
		status = add_value(source, word, word->name, text, -1, wishes, err);
	/* After it: what comes last holds. */
	if (!status && (word->form == FORM_HAMI || word->form == FORM_PERCENT))
		status = add_numbered(source, word, wishes, err);
	return status;
}

/* Annotations of ours name control files. The module checks the value. */
static int add_own(const char *name, const json_t *value, struct wishes *wishes,
		   struct sim_error *err)
{
	const struct gvm_control_file *file = gvm_control_find(name + strlen(PREFIX));
	const char *text = json_string_value(value);
	struct wish *wish = &wishes->wishes[wishes->count];

	if (!file || !(file->mode & 0200))
		return sim_user_error(err, "%s: no control file that can be written", name);
	if (!text || !*text || strlen(text) >= sizeof(wish->value))
		return sim_user_error(err, "%s has no value", name);
	if (strpbrk(text, " \t\n"))
		return sim_user_error(err, "%s=%s is no value", name, text);
	if (wishes->count == WISHES_MAX)
		return sim_user_error(err, "too many annotations of gvm");
	wish->file = file->name;
	wish->gpu = -1;
	strcpy(wish->value, text);
	wishes->count++;
	return 0;
}

int wishes_read(json_t *annotations, const json_t *environment, u64 gpu_bytes,
		struct wishes *ret_wishes, struct sim_error *err)
{
	const struct source source = { annotations, environment, gpu_bytes };
	const char *name;
	json_t *value;
	int status = 0;

	*ret_wishes = (struct wishes){ 0 };
	json_object_foreach(annotations, name, value)
		if (!status && !strncmp(name, PREFIX, strlen(PREFIX)))
			status = add_own(name, value, ret_wishes, err);
	for (size_t i = 0; !status && i < sizeof(words) / sizeof(words[0]); i++)
		if (ret_wishes->count < WISHES_MAX)
			status = add_word(&source, &words[i], ret_wishes, err);
	return status;
}
