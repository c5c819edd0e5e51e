// SPDX-License-Identifier: MIT OR GPL-2.0
/* The first process of a virtual machine in which gvm.ko drives a GPU made of RAM. */
#include <stdlib.h>

#include "fakegpu_guest.h"

struct fakegpu_test {
	const char *name;
	void (*run)(void);
};

/* clang-format off */
static const struct fakegpu_test fakegpu_tests[] = {
	{ "integrity", test_integrity },
	{ "isolation", test_isolation },
	{ "limits", test_limits },
	{ "protection", test_protection },
	{ "pinned", test_pinned },
	{ "refused", test_refused },
	{ "victims", test_victims },
	{ "evictor", test_evictor },
	{ "signals", test_signals },
	{ "swap", test_swap },
	{ "wide", test_wide },
	{ "freeze", test_freeze },
	{ "hostage", test_hostage },
	{ "contended", test_contended },
	{ "scheduling", test_scheduling },
	{ "kill", test_kill },
	{ "errors", test_errors },
	{ "hostmemory", test_host_memory },
	{ "containers", test_containers },
	{ "children", test_children },
	{ "identity", test_identity },
	{ "membership", test_membership },
	{ "cgroups", test_cgroups },
	{ "doors", test_doors },
	{ "driver", test_driver },
	{ "reload", test_reload },
	{ "tool", test_tool },
	{ "policies", test_policies },
	{ "injection", test_injection },
	{ "stress", test_stress },
};
/* clang-format on */

/*
 * These tests change the machine for good, load the module in another way, or take long. Each
 * runs only when it is named, and alone.
 */
/* clang-format off */
static const struct fakegpu_test fakegpu_lone_tests[] = {
	{ "lockdown", test_lockdown },
	{ "neighbours", test_neighbours },
	{ "parts", test_parts },
	{ "runtime", test_runtime },
	{ "shim", test_shim },
};
/* clang-format on */

/* Run the tests that the list @wanted names; NULL: all. */
static void run_tests(const struct fakegpu_test *tests, size_t count, const char *wanted)
{
	for (size_t i = 0; i < count; i++) {
		if (wanted && !guest_list_has(wanted, tests[i].name))
			continue;
		guest_log("# %s, at %ld s", tests[i].name, guest_seconds());
		tests[i].run();
	}
}

int main(void)
{
	const char *wanted = getenv("GVM_TEST"); /* from the kernel's command line */

	guest_mount();
	guest_watch_begin();
	guest_log("begin");
	fakegpu_seed_init();
	guest_expect_load("gvm", 0);
	run_tests(fakegpu_tests, sizeof(fakegpu_tests) / sizeof(fakegpu_tests[0]), wanted);
	if (wanted)
		run_tests(fakegpu_lone_tests,
			  sizeof(fakegpu_lone_tests) / sizeof(fakegpu_lone_tests[0]), wanted);
	guest_expect_unload("gvm", 0);
	guest_watch_end();
	guest_end();
	return 1;
}
