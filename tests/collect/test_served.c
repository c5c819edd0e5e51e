// SPDX-License-Identifier: MIT OR GPL-2.0
/* The command line of a server: what is taken, and what is not looked at. */
#include "collect/served.h"
#include "core/runner.h"

#include <stdlib.h>
#include <string.h>

/* @words are separated by blanks here. NULL: it is no server. */
static char *parse(const char *words)
{
	char text[512];
	size_t length = strlen(words) + 1;
	json_t *served;
	char *json;

	ck_assert_uint_le(length, sizeof(text));
	for (size_t i = 0; i < length; i++)
		text[i] = words[i] == ' ' ? '\0' : words[i];
	served = served_parse(text, length);
	json = served ? json_dumps(served, JSON_COMPACT) : NULL;
	json_decref(served);
	return json;
}

static const struct {
	const char *words, *json; /* NULL: it is no server */
} lines[] = {
	{ "vllm serve a/b", "{\"program\":\"vllm\",\"options\":{},\"model\":\"a/b\"}" },
	{ "/usr/bin/python3 /opt/bin/vllm serve --model=a/b --api-key k",
	  "{\"program\":\"vllm\",\"options\":{},\"model\":\"a/b\"}" },
	{ "python -m vllm.entrypoints.openai.api_server --model a --max_model_len 8192 -tp 2",
	  "{\"program\":\"vllm\",\"options\":{\"max-model-len\":\"8192\",\"tensor-parallel-"
	  "size\":"
	  "\"2\"},\"model\":\"a\"}" },
	{ "python -m vllm.entrypoints.cli.main serve a --max-model-len=5 --max-model-lens 6",
	  "{\"program\":\"vllm\",\"options\":{\"max-model-len\":\"5\"},\"model\":\"a\"}" },
	/* The last word is an option without a value. */
	{ "vllm serve a --block-size",
	  "{\"program\":\"vllm\",\"options\":{\"block-size\":\"\"},\"model\":\"a\"}" },
	{ "vllm serve a --model", "{\"program\":\"vllm\",\"options\":{},\"model\":\"\"}" },
	{ "vllm serve", NULL },
	{ "vllm serve --port 8000", NULL },
	{ "vllm bench serve --model a", NULL },
	{ "novllm serve a", NULL },
	{ "python train.py --model a", NULL },
	{ "VLLM::EngineCore", NULL },
	{ "", NULL },
};

START_TEST(a_server_is_its_model_and_options_of_scenarios)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char *json = parse(lines[i].words);

		ck_assert_msg(!json == !lines[i].json &&
				      (!json || !strcmp(json, lines[i].json)),
			      "%s: %s", lines[i].words, json ? json : "no server");
		free(json);
	}
}
END_TEST

/* A long command line is cut within a word, which does not count. */
START_TEST(a_word_that_is_cut_off_is_no_word)
{
	static const char text[] = "vllm\0serve\0a\0--max-num-seqs\0"
				   "25";
	json_t *served = served_parse(text, sizeof(text) - 1);

	ck_assert_str_eq(json_string_value(json_object_get(served, "model")), "a");
	ck_assert_str_eq(json_string_value(json_object_get(json_object_get(served, "options"),
							   "max-num-seqs")),
			 "");
	json_decref(served);
	ck_assert_ptr_null(served_parse("vllm", 4));
	ck_assert_ptr_null(served_parse("", 0));
}
END_TEST

TEST_MAIN("served", a_server_is_its_model_and_options_of_scenarios,
	  a_word_that_is_cut_off_is_no_word)
