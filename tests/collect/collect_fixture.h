/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A tree of control files as a driver makes it, in a fresh folder for each test. */
#ifndef TESTS_COLLECT_FIXTURE_H
#define TESTS_COLLECT_FIXTURE_H

#include <check.h>

/* A process that does not exist: Linux gives no PID so high. */
#define NOBODY 9000001

/* The folder, and a path in it, valid until the next call. */
extern char tree[64];
const char *tree_path(const char *name);

/* Make a folder; write a file into an existing folder. */
void tree_mkdir(const char *name);
void tree_put(const char *name, const char *text);
void tree_remove(const char *name);

/* All control files of sim/core in an existing folder, with plausible values. */
void tree_put_all(const char *folder);

/*
 * Run the tests that @add_tests adds, each in a fresh tree, between the suite's own @setup and
 * @teardown. Returns an exit status.
 */
int tree_run(const char *name, void (*add_tests)(TCase *tests), void (*setup)(void),
	     void (*teardown)(void));

#endif
