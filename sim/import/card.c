// SPDX-License-Identifier: MIT OR GPL-2.0
#include "import/card.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/message.h"
#include "config/paths.h"
#include "engine/error.h"

/* A name, cut into what tells cards apart. */
struct card {
	char model[CFG_NAME_MAX]; /* "a100pcie": its words without the others */
	unsigned long memory;	  /* in GB; 0: not in the name */
};

/* Is a word the same for all cards of a model, "sxm4" or "hbm3e"? */
static bool is_common(const char *word)
{
	static const char *const words[] = { "nvidia", "geforce",  "tesla", "amd",
					     "radeon", "instinct", "oam" };
	static const char *const beginnings[] = { "sxm", "hbm" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i]))
			return true;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(word, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

static void take_word(struct card *card, const char *word)
{
	char *end;
	unsigned long number = strtoul(word, &end, 10);

	if (end > word && (!strcmp(end, "g") || !strcmp(end, "gb")))
		card->memory = number;
	else if (!is_common(word))
		cfg_append(card->model, sizeof(card->model), "%s", word);
}

static void card_parse(struct card *card, const char *name)
{
	char word[CFG_NAME_MAX];
	size_t length = 0;

	*card = (struct card){ 0 };
	for (;; name++) {
		if (isalnum((unsigned char)*name) && length + 1 < sizeof(word)) {
			word[length++] = (char)tolower((unsigned char)*name);
			continue;
		}
		word[length] = '\0';
		if (length)
			take_word(card, word);
		length = 0;
		if (!*name)
			return;
	}
}

/*
 * Is @card, "NVIDIA A100-SXM4-40GB", the one of the profile "a100-40g"? Words of vendors, sockets
 * and kinds of memory do not count. The size of the memory counts where the card names it, and
 * all other words have to be the same: "NVIDIA H100 NVL" is no "h100-80g".
 */
static bool card_is(const char *card, const char *profile)
{
	struct card left, right;

	card_parse(&left, card);
	card_parse(&right, profile);
	return *left.model && !strcmp(left.model, right.model) &&
	       (!left.memory || left.memory == right.memory);
}

bool card_profile(const char *card, char *ret_profile, size_t size)
{
	struct sim_error ignored = { 0 };
	char folder[PATH_MAX], names[4096] = "", *rest = NULL;
	size_t found = 0;

	if (config_find_data("scenarios", "gpus", folder, sizeof(folder), &ignored))
		return false;
	cfg_path_list_json(folder, names, sizeof(names));
	for (char *name = strtok_r(names, ", ", &rest); name;
	     name = strtok_r(NULL, ", ", &rest)) {
		if (!card_is(card, name))
			continue;
		found++;
		snprintf(ret_profile, size, "%s", name);
	}
	return found == 1;
}
