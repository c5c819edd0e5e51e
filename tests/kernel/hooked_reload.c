// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The modules come and go in any order. A GPU is managed from its first tenant to its last one,
 * if gvm_nvidia.ko was there when the first one came.
 */
#include "hooked_guest.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* Load what the GPU needs. */
static void load_driver(void)
{
	guest_expect_load("softgpu", 0);
	guest_check(softgpu_load_uvm("") == 0, "load nvidia-uvm");
	guest_check(softgpu_open(), "the driver has devices");
}

static void load_gvm(void)
{
	guest_expect_load("gvm", 0);
	guest_expect_load("gvm_nvidia", 0);
}

/* Attach, write a little, and look whether that is charged. */
static void use(struct softgpu_tenant *tenant, bool managed)
{
	uint64_t *p;

	if (!guest_check(softgpu_attach(tenant, 1000) == 0, "a tenant comes"))
		return;
	p = softgpu_managed(tenant, 4 * SOFTGPU_MB);
	guest_check(hooked_write(tenant, p, 4 * SOFTGPU_MB, 1) &&
			    hooked_cpu_reads(p, 4 * SOFTGPU_MB, 1),
		    "its memory works");
	munmap(p, 4 * SOFTGPU_MB);
	guest_check(hooked_get(getpid(), "gmem.peak") == (managed ? 4l << 20 : -1),
		    managed ? "it is managed" : "it is the stock driver's");
}

/*
 * A GPU that its last process unregisters goes, although the process stays attached until then.
 */
static void unregister(void)
{
	UVM_UNREGISTER_GPU_PARAMS params = { .gpu_uuid = softgpu_uuid };
	struct softgpu_tenant tenant;

	use(&tenant, true);
	guest_check(softgpu_uvm(tenant.fd, UVM_UNREGISTER_GPU, &params) == 0,
		    "its process unregisters the GPU");
	guest_check(hooked_get(getpid(), "gmem.peak") == -1, "which goes");
	guest_expect_unload("gvm_nvidia", 0);
	guest_expect_load("gvm_nvidia", 0);
	guest_check(softgpu_register(&tenant, 1001) == 0, "its process registers it again");
	guest_check(hooked_get(getpid(), "gmem.peak") == 0, "it is managed");
	softgpu_detach(&tenant);
}

void test_hooked_reload(void)
{
	struct softgpu_tenant tenant;

	load_driver();
	use(&tenant, false);
	load_gvm();
	guest_check(hooked_get(getpid(), "gmem.peak") == -1, "a GPU in use stays as it is");
	softgpu_detach(&tenant);
	use(&tenant, true);
	guest_expect_unload("gvm_nvidia", EAGAIN);
	guest_expect_unload("gvm", EAGAIN);
	softgpu_detach(&tenant);
	guest_expect_unload("gvm_nvidia", 0);
	guest_expect_unload("gvm", 0);
	use(&tenant, false);
	softgpu_detach(&tenant);
	load_gvm();
	softgpu_close();
	guest_expect_unload("nvidia_uvm", 0);
	guest_expect_unload("softgpu", 0);
	load_driver();
	use(&tenant, true);
	softgpu_detach(&tenant);
	unregister();
	softgpu_close();
	guest_expect_unload("nvidia_uvm", 0);
	guest_expect_unload("gvm_nvidia", 0);
	guest_expect_unload("softgpu", 0);
	guest_expect_unload("gvm", 0);
}
