/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Shared by the tests of the configuration. Each test runs in a fresh folder with a small
 * scenario "s.json", its profiles gpus/tiny.json and apps/llm.json, and "head.trace".
 */
#ifndef TESTS_CONFIG_FIXTURE_H
#define TESTS_CONFIG_FIXTURE_H

#include <jansson.h>

#include "apps/llm_server.h"
#include "config/config.h"
#include "config/load.h"
#include "engine/error.h"

/* Ends of messages: the values that a key allows. */
#define SIZE_SUFFIXES	  "(there are K, M, G, T, KiB, MiB, GiB, TiB, KB, MB, GB, TB), "
#define DURATION_SUFFIXES "(there are ns, us, ms, s, min, h), "
#define SIZE_ALLOWED(range) \
	"allowed: a size from " range " such as 6000000000, \"6e9\" or \"1.5G\""
#define DURATION_ALLOWED(range) \
	"allowed: a duration from " range " such as \"640s\", \"24.6ms\" or \"5us\""
#define NAME_ALLOWED "allowed: 1 to 63 letters, digits, \"_\", \"-\" and \".\" (not first)"

extern const char config_gpu_profile[]; /* gpus/tiny.json */
extern const char config_scenario[];	/* s.json */

extern char folder[64];	       /* the test's own */
extern struct config config;   /* the result of the last load*() */
extern struct sim_error error; /* of the last load that failed */

void fixture_setup(void);
void fixture_teardown(void);

void write_file(const char *name, const char *text);

/*
 * A copy of @text with @from replaced by @to. @text must hold @from. Valid until the next call.
 */
const char *replace(const char *text, const char *from, const char *to);

/* Load @path with up to two --set options. Returns what config_load() does. */
int load_path(const char *path, const char *first, const char *second);

/* Load s.json with --set options, or with @from changed to @to. It must succeed. */
void load(const char *first, const char *second);
void load_changed(const char *from, const char *to);

/* Load s.json and copy the hash. */
void keep_hash(char hash[33], const char *set);

/* The text that is written at start to a control file of the first container. */
const char *control_text(const char *file);

/*
 * Assert that a load that returned @status failed with exactly @message and left nothing. A "*"
 * stands for any text, as the rest of a list that grows.
 */
void assert_failed(int status, const char *message);

/*
 * s.json fails with exactly @message: with @from changed to @to, with a --set option, with an
 * event, or (@message then begins with a file in the test's folder) with a changed profile.
 */
void assert_bad(const char *from, const char *to, const char *message);
void assert_bad_set(const char *set, const char *message);
void assert_bad_event(const char *event, const char *message);
void assert_bad_profile(const char *file, const char *text, const char *message);

/* The keys of the first container's application, an LLM server. */
const struct cfg_llm *llm_keys(void);

/* Is this mechanism on in the resolved configuration? */
bool system_flag(const char *mechanism);

#endif
