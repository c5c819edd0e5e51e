// SPDX-License-Identifier: MIT OR GPL-2.0
#include "import/measured_served.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/message.h"
#include "config/paths.h"
#include "gvm/port.h"

static const char tuned[] = "-Instruct";

/* Options of vLLM that are numbers, and their keys below app. */
static const struct {
	const char *option, *key;
	double least, most; /* of whole numbers, unless most is 1 */
} numbers[] = {
	{ "gpu-memory-utilization", "gpu_memory_utilization", 0.000001, 1 },
	{ "max-model-len", "max_model_len", 2, 16777216 },
	{ "max-num-seqs", "max_sequences", 1, 65536 },
	{ "max-num-batched-tokens", "max_batched_tokens", 1, 1048576 },
	{ "block-size", "block_tokens", 1, 1024 },
	{ "tensor-parallel-size", "tensor_parallel", 1, 64 },
};

bool measured_served_profile(const char *model, char *ret_profile, char *ret_model, size_t size)
{
	const char *base = strrchr(model, '/');
	char name[CFG_NAME_MAX], file[CFG_NAME_MAX + 32], path[PATH_MAX];
	size_t length;

	snprintf(name, sizeof(name), "%s", base ? base + 1 : model);
	length = strlen(name);
	if (length > strlen(tuned) && !strcmp(&name[length - strlen(tuned)], tuned))
		name[length - strlen(tuned)] = '\0';
	snprintf(ret_profile, size, MEASURED_VLLM);
	snprintf(ret_model, size, "%s", name);
	snprintf(file, sizeof(file), "models/%s/config", name);
	if (*name && *name != '.' &&
	    cfg_path_find_data("scenarios", file, ".json", path, sizeof(path)))
		return true;
	*ret_model = '\0';
	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	snprintf(file, sizeof(file), "apps/" MEASURED_VLLM "-%s", name);
	if (!*name || !cfg_path_find_data("scenarios", file, ".json", path, sizeof(path)))
		return false;
	snprintf(ret_profile, size, "%.*s", (int)size - 1, file + strlen("apps/"));
	return true;
}

/* The number of an option, as its key takes it; NULL: it is none. */
static json_t *number_json(const char *text, double least, double most)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end || !(number >= least && number <= most))
		return NULL;
	if (most <= 1)
		return json_real(number);
	return number == (double)(long)number ? json_integer((json_int_t)number) : NULL;
}

int measured_served_options(const json_t *served, json_t *app, char *ret_left, size_t size)
{
	const json_t *options = json_object_get(served, "options");
	const char *text = json_string_value(json_object_get(options, "quantization"));

	*ret_left = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const char *value =
			json_string_value(json_object_get(options, numbers[i].option));
		json_t *number =
			value ? number_json(value, numbers[i].least, numbers[i].most) : NULL;

		if (number && json_object_set_new(app, numbers[i].key, number))
			return -1;
		if (value && !number)
			cfg_append(ret_left, size, "%s%s %s", *ret_left ? ", " : "",
				   numbers[i].option, value);
	}
	if (text && !strcmp(text, "fp8"))
		return json_object_set_new(app, "quantization", json_string(text)) ? -1 : 0;
	if (text)
		cfg_append(ret_left, size, "%squantization %s", *ret_left ? ", " : "", text);
	return 0;
}
