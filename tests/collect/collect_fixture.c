// SPDX-License-Identifier: MIT OR GPL-2.0
#include "collect_fixture.h"

#include "suite.h"

#include <stdio.h>
#include <sys/stat.h>

char tree[64];

/* Between the set-up of the tree and its end. */
static struct {
	void (*setup)(void);
	void (*teardown)(void);
} of_suite;

static void tree_setup(void)
{
	suite_make_folder(tree, sizeof(tree));
	of_suite.setup();
}

static void tree_teardown(void)
{
	of_suite.teardown();
	suite_remove_folder(tree);
}

const char *tree_path(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", tree, name);
	return path;
}

void tree_mkdir(const char *name)
{
	ck_assert_int_eq(mkdir(tree_path(name), 0777), 0);
}

void tree_put(const char *name, const char *text)
{
	suite_put_file(tree_path(name), text);
}

void tree_remove(const char *name)
{
	ck_assert_int_eq(remove(tree_path(name)), 0);
}

void tree_put_all(const char *folder)
{
	static const char *const files[][2] = {
		{ "gmem.limit.high", "max\n" },
		{ "gmem.limit.low", "0\n" },
		{ "gmem.current", "4194304\n" },
		{ "gmem.peak", "8388608\n" },
		{ "gmem.events", "high 3\nhmem 0\noom 0\n" },
		{ "gmem.swap.current", "2097152\n" },
		{ "gmem.clean.current", "0\n" },
		{ "hmem.limit", "max\n" },
		{ "compute.timeslice", "2048us\n" },
		{ "compute.priority", "8\n" },
		{ "compute.weight", "100\n" },
		{ "compute.freeze", "0\n" },
		{ "gcgroup.stat", "nr_submitted_kernels: 12\nnr_ended_kernels: 7\n"
				  "nr_pending_kernels: 5\n" },
	};
	char name[128];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(name, sizeof(name), "%s/%s", folder, files[i][0]);
		tree_put(name, files[i][1]);
	}
}

int tree_run(const char *name, void (*add_tests)(TCase *tests), void (*setup)(void),
	     void (*teardown)(void))
{
	of_suite.setup = setup;
	of_suite.teardown = teardown;
	return suite_run(name, tree_setup, tree_teardown, add_tests);
}
