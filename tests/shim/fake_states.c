// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * States of a process in which a driver refuses calls: fake_state() begins one. From then on each
 * call has the answer that NVIDIA's driver gave to it in that state. FAKE_STATES is the table that
 * kernel-port/shim/hardware/programs/states.c printed on a card.
 *
 * In a state with a capture this holds while a stream is captured, and a call may break captures. A
 * thread that has exchanged its mode for "relaxed" has the answers of a relaxed capture. The calls
 * that begin, end and look at captures answer by themselves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_inside.h"

#define ANSWERS 256

struct table {
	struct answer {
		char call[64];
		cu_result result;
		bool breaks; /* a capture */
	} answers[ANSWERS];
	size_t count;
};

static struct table strict, relaxed;
static bool in_captures;

static void read_table(struct table *table, const char *name)
{
	const char *path = getenv("FAKE_STATES");
	FILE *file = path ? fopen(path, "r") : NULL;
	char line[256], state[64], capture[64];

	table->count = 0;
	while (file && fgets(line, sizeof(line), file) && table->count < ANSWERS) {
		struct answer *answer = &table->answers[table->count];

		strcpy(capture, "");
		if (sscanf(line, "%63s %63s %u %63s", state, answer->call, &answer->result,
			   capture) < 3 ||
		    strcmp(state, name) != 0)
			continue;
		answer->breaks = !strcmp(capture, "broken");
		table->count++;
	}
	if (file)
		fclose(file);
}

FAKE void fake_state(const char *name)
{
	char captured[] = "captured0";
	bool first = !strncmp(name, "first", 5);

	in_captures = first || !strncmp(name, "captured", 8);
	if (first)
		captured[8] = name[5];
	read_table(&strict, first ? captured : name);
	if (in_captures)
		read_table(&relaxed, "captured2");
}

static __thread unsigned int calls;

bool fake_begin_call(void)
{
	return !calls++;
}

void fake_end_call(const bool *outer)
{
	(void)outer;
	calls--;
}

cu_result fake_measured(const char *call, bool outer)
{
	const struct table *table = in_captures && fake_is_relaxed() ? &relaxed : &strict;

	if (!outer)
		return CU_OK;
	if (in_captures && (!fake_captures || strstr(call, "BeginCapture") ||
			    strstr(call, "EndCapture") || strstr(call, "IsCapturing")))
		return CU_OK;
	for (size_t i = 0; i < table->count; i++) {
		const struct answer *answer = &table->answers[i];

		if (strcmp(answer->call, call) != 0)
			continue;
		if (answer->breaks)
			fake_break_captures();
		return answer->result;
	}
	return CU_OK;
}
