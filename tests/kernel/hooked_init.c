// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The first process of a virtual machine with our hooks in nvidia-uvm.ko, on the software GPU,
 * with and without gvm.ko. GVM_TEST=name,name on the kernel's command line
 * runs these parts alone.
 */
#include "fakegpu_guest.h"
#include "hooked_guest.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hooked_test {
	const char *name;
	bool managed; /* gvm.ko is loaded */
	const char *softgpu_parameters;
	const char *parameters; /* of gvm_nvidia.ko */
	void (*run)(struct softgpu_tenant *tenant);
};

/* clang-format off */
static const struct hooked_test hooked_tests[] = {
	{ "stock", false, "", "", test_reference },
	{ "stockpaging", false, "", "", test_paging },
	{ "limits", true, "", "", test_hooked_limits },
	{ "small", true, "", "", test_small },
	{ "pieces", true, "", "", test_pieces },
	{ "foreign", true, "", "", test_foreign },
	{ "refused", true, "", "", test_hooked_refused },
	{ "refusedoften", true, "", "", test_refused_often },
	{ "shared", true, "", "", test_shared },
	{ "denied", true, "", "", test_denied },
	{ "neighbour", true, "", "", test_neighbour },
	{ "protection", true, "", "", test_hooked_protection },
	{ "unused", true, "", "", test_unused },
	{ "cut", true, "", "", test_cut },
	{ "forced", true, "", "", test_forced },
	{ "forcedrange", true, "", "", test_forced_range },
	{ "unforced", true, "", "", test_unforced },
	{ "ahead", true, "", "evictors=1", test_ahead },
	{ "promotion", true, "", "", test_promotion },
	{ "nopromotion", true, "", "promotion=0", test_no_promotion },
	{ "fulllimitpatterns", true, "vidmem_mb=64", "", test_hooked_full_limit_patterns },
	{ "asleep", true, "", "", test_asleep },
	{ "again", true, "", "", test_again },
	{ "compute", true, "", "", test_compute },
	{ "mps", true, "", "", test_mps },
	{ "batches", true, "", "", test_many },
	{ "hmm", true, "", "", test_hmm_refused },
	{ "storms", true, "", "", test_storms },
	{ "processes", true, "", "", test_hooked_processes },
	{ "children", true, "", "", test_hooked_children },
	{ "childrentwogpus", true, "vidmem_mb=48 gpus=2", "", test_hooked_children_two_gpus },
	{ "managedpaging", true, "", "", test_paging },
	{ "builtin", true, "", "", test_builtin },
	{ "twogpus", true, "vidmem_mb=48 gpus=2", "", test_two_gpus },
	{ "preferredgpu", true, "vidmem_mb=48 gpus=2", "", test_preferred_gpu },
	{ "threegpus", true, "vidmem_mb=48 gpus=3", "", test_three_gpus },
	{ "engines", true, "", "", test_hooked_engines },
	{ "demands", true, "", "", test_demands },
	{ "failures", true, "", "", test_failures },
	{ "channelerror", true, "", "", test_channel_error },
	{ "ecc", true, "", "", test_ecc },
	{ "lost", true, "", "", test_hooked_lost },
};
/* They take long, and run only when they are named. */
static const struct hooked_test hooked_named_tests[] = {
	{ "limitpatterns", true, "vidmem_mb=512", "", test_hooked_limit_patterns },
};
/* clang-format on */

/* Tests of fakegpu_init.c, on this GPU: hooked_gpu.c. */
struct hooked_shared_test {
	const char *name;
	void (*run)(void);
};

/* clang-format off */
static const struct hooked_shared_test hooked_shared_tests[] = {
	{ "gpuintegrity", test_integrity },
	{ "gpuisolation", test_isolation },
	{ "gpulimits", test_limits },
	{ "gpuprotection", test_protection },
	{ "gpufreeze", test_freeze },
	{ "gpukill", test_kill },
	{ "gpuchildren", test_children },
	{ "hostile", test_hostile },
	{ "numbers", test_numbers },
	{ "mig", test_mig },
	{ "ats", test_ats },
};
/* clang-format on */

/* Each part has modules that are loaded for it, and leaves nothing behind. */
static void run_test(const struct hooked_test *test)
{
	struct softgpu_tenant tenant;
	long seconds = guest_seconds();

	guest_log("# part %s", test->name);
	if (hooked_begin(&tenant, test->managed, test->softgpu_parameters, test->parameters)) {
		unsigned long long ns = guest_task_ns();

		test->run(&tenant);
		guest_log("# %s ran for %llu us of tasks", test->name,
			  (guest_task_ns() - ns) / 1000);
	}
	hooked_finish(&tenant, test->managed);
	guest_log("# %s took %ld s", test->name, guest_seconds() - seconds);
}

static void run_shared_test(const struct hooked_shared_test *test)
{
	long seconds = guest_seconds();

	guest_log("# part %s", test->name);
	test->run();
	guest_log("# %s took %ld s", test->name, guest_seconds() - seconds);
}

/* Whether GVM_TEST, a list with commas, has this part; without it, each. */
static bool is_wanted(const char *name)
{
	const char *wanted = getenv("GVM_TEST");

	return !wanted || guest_list_has(wanted, name);
}

int main(int count, char **words)
{
	if (count == 2 && strcmp(words[1], HOOKED_AFTER_EXEC) == 0)
		return hooked_after_exec();
	guest_mount();
	hooked_mount();
	guest_log("begin");
	fakegpu_seed_init();
	for (size_t i = 0; i < sizeof(hooked_tests) / sizeof(hooked_tests[0]); i++)
		if (is_wanted(hooked_tests[i].name))
			run_test(&hooked_tests[i]);
	for (size_t i = 0; i < sizeof(hooked_shared_tests) / sizeof(hooked_shared_tests[0]);
	     i++)
		if (is_wanted(hooked_shared_tests[i].name))
			run_shared_test(&hooked_shared_tests[i]);
	/* What hooked_replay.sh has put into the machine. */
	if (is_wanted("replay") && access("/scripts", F_OK) == 0)
		replay_all();
	for (size_t i = 0; i < sizeof(hooked_named_tests) / sizeof(hooked_named_tests[0]); i++)
		if (getenv("GVM_TEST") && is_wanted(hooked_named_tests[i].name))
			run_test(&hooked_named_tests[i]);
	/* It runs only when it is named. */
	if (getenv("GVM_TEST") && is_wanted("stress"))
		test_hooked_stress();
	if (is_wanted("reload"))
		test_hooked_reload();
	guest_end();
	return 1;
}
