// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The first process of a virtual machine with nvidia-uvm.ko, unmodified, on the software GPU.
 * GVM_TEST=name,name on the kernel's command line runs these parts alone, and
 * GVM_TEST_LEAVE_OUT=name,name all but these.
 */
#include "softgpu_guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Migrations within a second are thrashing, not within 500 us: the machine
 * is slow, and may be busy.
 */
#define THRASH_LAPSE "uvm_perf_thrashing_lapse_usec=1000000"

struct softgpu_test {
	const char *name;
	const char *parameters;	    /* of softgpu.ko */
	const char *uvm_parameters; /* of nvidia-uvm.ko */
	void (*run)(struct softgpu_tenant *tenant);
	/*
	 * It runs only if GVM_TEST names it: another chip is the
	 * difference, or a driver with limits, or it takes minutes.
	 */
	bool by_name;
};

/* clang-format off */
static const struct softgpu_test softgpu_tests[] = {
	{ "paging", "", "", test_paging, false },
	{ "tlb", "", "", test_tlb, false },
	{ "engines", "vidmem_mb=64", "", test_engines, false },
	{ "reference", "", "", test_reference, false },
	{ "judge", "vidmem_mb=64", "", test_judge, false },
	{ "crowd", "vidmem_mb=64", "", test_crowd, false },
	{ "thrash", "vidmem_mb=64", THRASH_LAPSE, test_thrash, false },
	{ "discard", "vidmem_mb=64", "", test_discard, false },
	{ "limits", "vidmem_mb=512", "", test_limit_patterns, false },
	{ "fulllimits", "vidmem_mb=64", "", test_full_limit_patterns, false },
	{ "freedchunk", "vidmem_mb=64", "", test_freed_chunk, false },
	{ "smalllimit", "vidmem_mb=512", "", test_small_limit, true },
	{ "threadlimit", "vidmem_mb=512", "", test_thread_limit, true },
	{ "pidclash", "", "", test_pid_clash, true },
	{ "limitstorm", "vidmem_mb=512", "", test_limit_storm, true },
	{ "counters", "", "", test_counters, false },
	{ "peers", "vidmem_mb=48 gpus=2", NO_DEBUG_PROCFS, test_peers, false },
	{ "nvlinkpeers", "vidmem_mb=48 gpus=2 nvlink=1", "uvm_peer_copy=virt " NO_DEBUG_PROCFS, test_peers, false },
	{ "tenants", "", "", test_tenants, false },
	{ "pressure", "", "", test_pressure, false },
	{ "demands", "", "", test_demands, false },
	{ "builtin", "", "", test_builtin, false },
	{ "channel", "", "", test_channel, false },
	{ "scheduling", "", "", test_softgpu_scheduling, false },
	{ "manychannels", "", "", test_many_channels, true },
	{ "vidmem", "vidmem_mb=40960", "", test_vidmem, false },
	{ "failures", "", "", test_failures, false },
	{ "patience", "patience_ms=1000", "", test_patience, false },
	{ "channelerror", "", "", test_channel_error, false },
	{ "ecc", "", "", test_ecc, false },
	{ "lost", "", "", test_lost, false },
	{ "hmm", "vidmem_mb=64", "uvm_disable_hmm=0", test_hmm, false },
	{ "hmmfork", "vidmem_mb=64", "uvm_disable_hmm=0", test_hmm_fork, false },
	{ "hmmorder", "", "uvm_disable_hmm=0", test_hmm_order, false },
	{ "hopper", "chip=hopper", "", test_paging, false },
	{ "hoppertlb", "chip=hopper", "", test_tlb, false },
	{ "hopperengines", "chip=hopper vidmem_mb=64", "", test_engines, true },
	{ "hopperpeers", "chip=hopper vidmem_mb=48 gpus=2", NO_DEBUG_PROCFS, test_peers, true },
	{ "hopperreference", "chip=hopper", "", test_reference, false },
	{ "hopperbuiltin", "chip=hopper", "", test_builtin, false },
	{ "hoppercounters", "chip=hopper", "", test_counters, false },
};
/* clang-format on */

/* UVM writes here, when it is unloaded, whether it lost memory. */
static uint64_t unload_state __attribute__((aligned(8)));

/* Each part has modules that are loaded for it, and leaves nothing behind. */
static void run_test(const struct softgpu_test *test)
{
	struct softgpu_tenant tenant;
	struct softgpu_stats stats;
	UVM_TEST_REGISTER_UNLOAD_STATE_BUFFER_PARAMS unload = {
		.unload_state_buf = (uintptr_t)&unload_state,
	};
	long seconds = guest_seconds();
	int status;

	status = guest_load("softgpu", test->parameters);
	guest_check(status == 0, "%s: load softgpu: %s", test->name, guest_error_name(status));
	status = softgpu_load_uvm(test->uvm_parameters);
	guest_check(status == 0, "load nvidia-uvm: %s", guest_error_name(status));
	if (!guest_check(softgpu_open(), "both have a device"))
		return;
	status = softgpu_attach(&tenant, 1000);
	unload_state = 0;
	guest_check(softgpu_uvm(tenant.fd, UVM_TEST_REGISTER_UNLOAD_STATE_BUFFER, &unload) == 0,
		    "UVM will say whether it lost memory");
	if (guest_check(status == 0, "GPU, address space and channel are registered: %x",
			status))
		test->run(&tenant);
	softgpu_detach(&tenant);

	stats = softgpu_stats();
	guest_check(stats.unknown_methods == 0, "%llu methods, none of them unknown",
		    stats.methods);
	guest_check(stats.pma_used_bytes == 0, "all vidmem was given back");
	if (softgpu_use(1)) {
		guest_check(softgpu_stats().unknown_methods == 0 &&
				    softgpu_stats().pma_used_bytes == 0,
			    "and all of the second GPU, which knew all methods");
		softgpu_use(0);
	}
	guest_log("# %s: %llu pushes, %llu copies, %llu faults, %llu replays, %llu invalidates",
		  test->name, stats.pushes, stats.copies, stats.faults, stats.replays,
		  stats.invalidates);
	softgpu_close();
	guest_expect_unload("nvidia_uvm", 0);
	guest_check(unload_state == 0, "it lost none");
	guest_expect_unload("softgpu", 0);
	guest_log("# %s took %ld s", test->name, guest_seconds() - seconds);
}

/*
 * A GPU that cannot be is refused. PTEs of Ampere lead to 128 GB of vidmem,
 * those of Hopper to 1 TB.
 */
static void test_refusals(void)
{
	static const char *const refused[] = {
		"chip=turing",	"gpus=4",	    "vidmem_mb=30",
		"vidmem_mb=65", "vidmem_mb=131074", "chip=hopper vidmem_mb=1048578",
		"instances=5"
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		guest_check(guest_load("softgpu", refused[i]) == EINVAL,
			    "softgpu is not loaded with %s", refused[i]);
	guest_check(guest_load("softgpu", "vidmem_mb=131072") == 0,
		    "128 GB are enough for Ampere");
	guest_expect_unload("softgpu", 0);
}

static bool is_wanted(const struct softgpu_test *test)
{
	const char *wanted = getenv("GVM_TEST"), *left_out = getenv("GVM_TEST_LEAVE_OUT");

	if (wanted)
		return guest_list_has(wanted, test->name);
	return !test->by_name && !(left_out && guest_list_has(left_out, test->name));
}

int main(void)
{
	guest_mount();
	guest_log("begin");
	test_refusals();
	for (size_t i = 0; i < sizeof(softgpu_tests) / sizeof(softgpu_tests[0]); i++)
		if (is_wanted(&softgpu_tests[i]))
			run_test(&softgpu_tests[i]);
	guest_end();
	return 1;
}
