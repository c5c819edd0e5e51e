/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Shared by the tests of figures: JSON written with ' in place of ", and a fresh folder for
 * each test, with the file of a figure.
 */
#ifndef TESTS_FIGURES_FIXTURE_H
#define TESTS_FIGURES_FIXTURE_H

#include <check.h>
#include <jansson.h>

#include "engine/error.h"
#include "figures/figure_read.h"
#include "gvm/port.h"

extern struct sim_error error; /* of the last call that failed */

/* The value that @text is. The caller drops it. */
json_t *parse(const char *text);

extern char folder[64]; /* the test's own */

void figures_setup(void);
void figures_teardown(void);

/* Write @text into the file of a figure and read it. Returns what figure_read() does. */
int read_figure(struct figure *figure, const char *text);

/* The same, and expect success. */
void must_read(struct figure *figure, const char *text);

/* Expect the error "FILE:@message". */
void expect_error(const char *message);

#endif
