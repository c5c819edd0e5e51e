// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The first process of a virtual machine with our hooks in nvidia-uvm.ko, on the software GPU,
 * with and without gvm.ko. GVM_TEST=name on the kernel's command line runs one part alone.
 */
#include "hooked_guest.h"

#include <stdlib.h>
#include <string.h>

struct hooked_test {
	const char *name;
	bool managed;		/* gvm.ko is loaded */
	const char *parameters; /* of gvm_nvidia.ko */
	void (*run)(struct softgpu_tenant *tenant);
};

/* clang-format off */
static const struct hooked_test hooked_tests[] = {
	{ "stock", false, "", test_reference },
	{ "stockpaging", false, "", test_paging },
	{ "limits", true, "", test_limits },
	{ "small", true, "", test_small },
	{ "refused", true, "", test_refused },
	{ "shared", true, "", test_shared },
	{ "denied", true, "", test_denied },
	{ "neighbour", true, "", test_neighbour },
	{ "protection", true, "", test_protection },
	{ "forced", true, "", test_forced },
	{ "unforced", true, "", test_unforced },
	{ "ahead", true, "evictors=1", test_ahead },
	{ "asleep", true, "", test_asleep },
	{ "again", true, "", test_again },
	{ "compute", true, "", test_compute },
	{ "storms", true, "", test_storms },
	{ "managedpaging", true, "", test_paging },
	{ "builtin", true, "", test_builtin },
};
/* clang-format on */

/* UVM writes here, when it is unloaded, whether it lost memory. */
static uint64_t unload_state __attribute__((aligned(8)));

/* Each part has modules that are loaded for it, and leaves nothing behind. */
static void run_test(const struct hooked_test *test)
{
	struct softgpu_tenant tenant;
	struct softgpu_stats stats;
	UVM_TEST_REGISTER_UNLOAD_STATE_BUFFER_PARAMS unload = {
		.unload_state_buf = (uintptr_t)&unload_state,
	};
	long seconds = guest_seconds();
	int status;

	guest_log("# part %s", test->name);
	if (test->managed) {
		guest_expect_load("gvm", 0);
		status = guest_load("gvm_nvidia", test->parameters);
		guest_check(status == 0, "load gvm_nvidia: %s", guest_error_name(status));
	}
	guest_expect_load("softgpu", 0);
	status = guest_load("nvidia-uvm", "uvm_enable_builtin_tests=1");
	guest_check(status == 0, "load nvidia-uvm: %s", guest_error_name(status));
	if (!guest_check(softgpu_open(), "both have a device"))
		return;
	status = softgpu_attach(&tenant, 1000);
	if (guest_check(status == 0, "GPU, address space and channel are registered: %x",
			status))
		test->run(&tenant);
	unload_state = 0;
	guest_check(softgpu_uvm(tenant.fd, UVM_TEST_REGISTER_UNLOAD_STATE_BUFFER, &unload) == 0,
		    "UVM will say whether it lost memory");
	softgpu_detach(&tenant);

	stats = softgpu_stats();
	guest_check(stats.bad_addresses == 0, "the GPU met no bad address");
	guest_check(stats.pma_used_bytes == 0, "all vidmem was given back");
	softgpu_close();
	guest_expect_unload("nvidia_uvm", 0);
	guest_check(unload_state == 0, "it lost none");
	guest_expect_unload("softgpu", 0);
	if (test->managed) {
		guest_expect_unload("gvm_nvidia", 0);
		guest_expect_unload("gvm", 0);
	}
	guest_log("# %s took %ld s", test->name, guest_seconds() - seconds);
}

int main(void)
{
	const char *wanted = getenv("GVM_TEST");

	guest_mount();
	hooked_mount();
	guest_log("begin");
	for (size_t i = 0; i < sizeof(hooked_tests) / sizeof(hooked_tests[0]); i++)
		if (!wanted || strcmp(hooked_tests[i].name, wanted) == 0)
			run_test(&hooked_tests[i]);
	if (!wanted || strcmp(wanted, "reload") == 0)
		test_reload();
	guest_end();
	return 1;
}
