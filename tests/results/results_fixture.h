/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Shared by the tests of results: a fresh folder for each test, and a hand-made machine that
 * ran for 10 s. It has an LLM server, whose requests took 100, 200, ... ms to their first token
 * with an SLO of 1 s, and a diffusion pipeline.
 */
#ifndef TESTS_RESULTS_FIXTURE_H
#define TESTS_RESULTS_FIXTURE_H

#include "engine/error.h"
#include "results/results.h"

#include <check.h>

#define MS	     1000000ull
#define SEC	     1000000000ull
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern char folder[128];       /* not made yet */
extern char above[64];	       /* the fresh folder above it */
extern struct sim_error error; /* of the last call that failed */

extern struct app_record llm_records[6];
extern struct cfg_container containers[2];
extern struct sim_container sim_containers[2];
extern struct config config;
extern struct machine machine;

/* Run the tests that @add_tests adds, as a suite of that name. Returns an exit status. */
int fixture_run(const char *name, void (*add_tests)(TCase *tests));

/* The path of a file in the folder, valid until the next call. */
const char *path_of(const char *name);

/* Read a file in the folder as text, cut off at @size; write one. */
void get_file(const char *name, char *ret_text, size_t size);
void put_file(const char *name, const char *text);

void must_compute(struct summary *summary);

/* Write the machine's results into the folder, and expect success. */
void must_write(void);

#endif
