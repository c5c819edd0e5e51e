// SPDX-License-Identifier: MIT OR GPL-2.0
#include "collect/served.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collect/host.h"
#include "gvm/port.h"

#define COMMAND_MAX   16384 /* bytes; more of a command line is not looked at */
#define ANCESTORS_MAX 4	    /* an engine, its server, and a launcher or a shell */

static const char *const options[] = {
	"gpu-memory-utilization", "max-model-len", "max-num-seqs",
	"max-num-batched-tokens", "block-size",	   "quantization",
	"tensor-parallel-size",
};

/* The next word of a command line; NULL: there are no more. */
static const char *next_word(const char *word, const char *end)
{
	word += strlen(word) + 1;
	return word < end ? word : NULL;
}

static bool is_program(const char *word)
{
	const char *base = strrchr(word, '/');

	return !strcmp(base ? base + 1 : word, "vllm");
}

/* The first word after "vllm serve", or after the module of the server. NULL: it is neither. */
static const char *find_arguments(const char *text, const char *end, bool *ret_serve)
{
	for (const char *word = text; word; word = next_word(word, end)) {
		const char *next = next_word(word, end);

		*ret_serve = (is_program(word) || !strcmp(word, "vllm.entrypoints.cli.main")) &&
			     next && !strcmp(next, "serve");
		if (*ret_serve)
			return next_word(next, end);
		if (!strcmp(word, "vllm.entrypoints.openai.api_server"))
			return next;
	}
	return NULL;
}

/* Is @word the option @name, with dashes or underscores in it? Then its value after "=", or "". */
static const char *option_value(const char *word, const char *name)
{
	if (strncmp(word, "--", 2) != 0)
		return NULL;
	for (word += 2; *name; word++, name++)
		if (*word != *name && !(*name == '-' && *word == '_'))
			return NULL;
	return *word == '=' ? word + 1 : *word ? NULL : "";
}

/* Take the option at @word if it is one of ours, with its value after "=" or in @next. */
static void take_option(json_t *served, const char *word, const char *next)
{
	const char *value = option_value(word, "model");
	json_t *taken = json_object_get(served, "options");

	if (!strcmp(word, "-tp"))
		word = "--tensor-parallel-size";
	if (value) {
		json_object_set_new(served, "model",
				    host_string(*value || !next ? value : next));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		value = option_value(word, options[i]);
		if (value)
			json_object_set_new(taken, options[i],
					    host_string(*value || !next ? value : next));
	}
}

json_t *served_parse(const char *text, size_t length)
{
	const char *end, *word;
	bool serve = false;
	json_t *served;

	/* A word that was cut off has no end. */
	while (length && text[length - 1])
		length--;
	end = text + length;
	word = length ? find_arguments(text, end, &serve) : NULL;
	if (!word)
		return NULL;
	served = json_pack("{sss{}}", "program", "vllm", "options");
	if (serve && *word != '-')
		json_object_set_new(served, "model", host_string(word));
	for (; word; word = next_word(word, end))
		take_option(served, word, next_word(word, end));
	if (!json_object_get(served, "model")) {
		json_decref(served);
		return NULL;
	}
	return served;
}

/* The command line of a process. Returns its length; 0: it is not known. */
static size_t read_command_line(u64 tgid, char *text, size_t size)
{
	char path[64];
	FILE *stream;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%llu/cmdline", tgid);
	stream = fopen(path, "re");
	if (!stream)
		return 0;
	length = fread(text, 1, size, stream);
	fclose(stream);
	return length;
}

/* The process that started @tgid; 0: it is not known. */
static u64 parent_of(u64 tgid)
{
	char path[64], line[256];
	unsigned long long parent = 0;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%llu/status", tgid);
	stream = fopen(path, "re");
	while (stream && fgets(line, sizeof(line), stream))
		if (sscanf(line, "PPid: %llu", &parent) == 1)
			break;
	if (stream)
		fclose(stream);
	return parent;
}

json_t *served_read(u64 tgid)
{
	char text[COMMAND_MAX];
	json_t *served = NULL;

	for (int i = 0; !served && tgid > 1 && i < ANCESTORS_MAX; i++) {
		served = served_parse(text, read_command_line(tgid, text, sizeof(text)));
		tgid = parent_of(tgid);
	}
	return served;
}
