// SPDX-License-Identifier: MIT OR GPL-2.0
/* The first process of a virtual machine in which gvm.ko drives a GPU made of RAM. */
#include <stdlib.h>
#include <string.h>

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
	{ "freeze", test_freeze },
	{ "hostage", test_hostage },
	{ "scheduling", test_scheduling },
	{ "kill", test_kill },
	{ "errors", test_errors },
	{ "hostmemory", test_host_memory },
	{ "containers", test_containers },
	{ "driver", test_driver },
	{ "reload", test_reload },
	{ "tool", test_tool },
	{ "injection", test_injection },
	{ "stress", test_stress },
};
/* clang-format on */

/* One of them, or all. */
static void run_tests(const char *wanted)
{
	for (size_t i = 0; i < sizeof(fakegpu_tests) / sizeof(fakegpu_tests[0]); i++) {
		if (wanted && strcmp(fakegpu_tests[i].name, wanted) != 0)
			continue;
		guest_log("# %s, at %ld s", fakegpu_tests[i].name, guest_seconds());
		fakegpu_tests[i].run();
	}
}

int main(void)
{
	guest_mount();
	guest_watch_begin();
	guest_log("begin");
	fakegpu_seed_init();
	guest_expect_load("gvm", 0);
	run_tests(getenv("GVM_TEST")); /* from the kernel's command line */
	guest_expect_unload("gvm", 0);
	guest_watch_end();
	guest_end();
	return 1;
}
