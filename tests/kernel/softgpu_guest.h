/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the tests of nvidia-uvm.ko on the software GPU are written with. A tenant is what a
 * process of CUDA's is for the driver: an open file with the GPU, an address space and a
 * channel.
 */
#ifndef SOFTGPU_GUEST_H
#define SOFTGPU_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvtypes.h"
#include "nvstatus.h"
#include "nvCpuUuid.h"
#include "uvm_linux_ioctl.h"
#include "uvm_test_ioctl.h"

#include "guest.h"
#include "softgpu_ioctl.h"

#define SOFTGPU_MB   (1ul << 20)
#define SOFTGPU_PAGE 4096ul

/* Managed memory lies from here on, 1 GB for each allocation of a test: softgpu_managed(). */
#define SOFTGPU_FIRST_ADDRESS 0x200000000000ul
#define SOFTGPU_ADDRESS_STEP  (1ul << 30)

#define SOFTGPU_MOST_GPUS     3u

/*
 * nvidia-uvm without the files that a build with asserts makes in /proc. For two GPUs the drivers
 * 580 to 595 write a byte after the name of one (docs/softgpu.md), and KASAN reports nothing
 * after it.
 */
#define NO_DEBUG_PROCFS "uvm_enable_debug_procfs=0"

extern const NvProcessorUuid softgpu_uuid; /* of the first GPU */

struct softgpu_tenant {
	int fd; /* of /dev/nvidia-uvm */
	/* a second one, which keeps the address space: without it no fault is serviced */
	int mm;
	unsigned int client;
	/*
	 * Added to the numbers of its channels: 0, or a multiple of SOFTGPU_TSG_CHANNELS for
	 * more channels of the same TSGs.
	 */
	unsigned int channels;
};

/* The status of an ioctl of nvidia-uvm: an NV_STATUS, or a negative errno. */
#define softgpu_uvm(fd, command, params) \
	softgpu_status(fd, command, params, &(params)->rmStatus)
int softgpu_status(int fd, unsigned long command, void *params, const NV_STATUS *status);

/*
 * Load nvidia-uvm.ko with its built-in tests and @parameters. GVM_TEST_NO_HMM=1 turns its HMM
 * off, also where @parameters turn it on: with drivers whose HMM stops a kernel that watches
 * (docs/softgpu.md). GVM_TEST_FAULT_BATCHES=n lets the driver service n batches of faults at a
 * time, not 20. Returns 0 or an errno.
 */
int softgpu_load_uvm(const char *parameters);

/* Make the device nodes, once both modules are loaded. Returns whether it could. */
bool softgpu_open(void);
void softgpu_close(void);

/*
 * From now on what has no GPU as an argument is about that one: 0, as in the beginning, 1 or 2.
 * A tenant's kernels run on its channel 1 of the first, 2 of the second and 3 of the third.
 * Returns whether there is one. used: which one that is.
 */
bool softgpu_use(unsigned int number);
unsigned int softgpu_used(void);

/*
 * The driver's name for the GPU, or for the instance that was registered last. Up to
 * 535 an instance has the GPU's.
 */
NvProcessorUuid softgpu_uuid_of(unsigned int number);

/* UVM_INIT_FLAGS_* of the next tenants. */
extern uint64_t softgpu_init_flags;

/* The instance of MIG that the next tenants register, from 1 on; 0: the GPU. */
extern unsigned int softgpu_instance;

/*
 * Become a tenant. @client: a number of its own. Returns 0, an NV_STATUS or a negative errno.
 * register: the second half of it, for one that has unregistered its GPU.
 */
int softgpu_attach(struct softgpu_tenant *tenant, unsigned int client);
int softgpu_register(struct softgpu_tenant *tenant, unsigned int client);

/* The same with that number in tenant->channels; and only a channel of that number more. */
int softgpu_attach_behind(struct softgpu_tenant *tenant, unsigned int client,
			  unsigned int channels);
int softgpu_register_channel(struct softgpu_tenant *tenant);
void softgpu_detach(struct softgpu_tenant *tenant);

/*
 * Managed memory at an address of its own, or NULL. The same addresses in every run. at: at
 * this address, which has to be free in the tenant's process.
 */
uint64_t *softgpu_managed(struct softgpu_tenant *tenant, size_t bytes);
uint64_t *softgpu_managed_at(struct softgpu_tenant *tenant, uintptr_t address, size_t bytes);

int softgpu_migrate(struct softgpu_tenant *tenant, void *p, size_t bytes, bool to_gpu);

/* Where the page is: bits. */
enum softgpu_residency { SOFTGPU_ON_HOST = 1, SOFTGPU_ON_GPU = 2, SOFTGPU_ON_SECOND = 4 };
unsigned int softgpu_resident(struct softgpu_tenant *tenant, void *p);

/*
 * Let the GPU access @count words, @stride bytes apart, with @window waiting at once. A failed
 * call counts as an error.
 */
struct softgpu_access softgpu_touch(struct softgpu_tenant *tenant, void *p, uint64_t count,
				    uint64_t stride, enum softgpu_op op, uint64_t value,
				    unsigned int window);

/* Likewise with all fields of @access, but for client and channel, which are the tenant's. */
void softgpu_touch_with(struct softgpu_tenant *tenant, struct softgpu_access *access);

/* Run a push: SOFTGPU_PUSH. Returns 0 or the errno. */
int softgpu_push(struct softgpu_push *push);

/*
 * One more channel of the tenant's, of the copy engine: SOFTGPU_COPY_CHANNELS. 0, an
 * NV_STATUS or a negative errno.
 */
int softgpu_register_copy(struct softgpu_tenant *tenant, unsigned int channel);

/* Let the copy engine copy, on the first such channel. Returns 0 or the errno. */
int softgpu_copy(struct softgpu_tenant *tenant, void *to, const void *from, size_t bytes,
		 uint64_t *ret_faults);

struct softgpu_stats softgpu_stats(void);

/* Make an operation fail: SOFTGPU_FAIL. */
void softgpu_fail(enum softgpu_failure failure, unsigned int skip, unsigned int count);

/* A control call of RM: gvm_rmapi.h. Returns 0 or the errno. */
int softgpu_control(struct gvm_rm_control *call);

/* RM takes vidmem for itself: 0 or the errno. And gives all of it back. */
int softgpu_rm_take(uint64_t bytes);
void softgpu_rm_give(void);

/* RM takes what lies at that address of vidmem: SOFTGPU_RM_TAKE_RANGE. 0 or the errno. */
int softgpu_rm_take_range(uint64_t address, uint64_t bytes);

/* Wait until the driver's channels have done all their work: 0 or the errno. */
int softgpu_wait_idle(void);

/* RM tells the driver that the machine is about to sleep, or has woken up: 0 or the errno. */
int softgpu_sleep(bool sleep);

/*
 * All events since the last call, at most 65,536 of them. The array is overwritten by the next
 * call.
 */
const struct softgpu_event *softgpu_events(size_t *ret_count);

/* The parts of the test. A tenant of the caller's is attached. */
void test_paging(struct softgpu_tenant *tenant);
void test_engines(struct softgpu_tenant *tenant);
void test_tlb(struct softgpu_tenant *tenant);
void test_reference(struct softgpu_tenant *tenant);
void test_judge(struct softgpu_tenant *tenant);
void test_crowd(struct softgpu_tenant *tenant);
void test_thrash(struct softgpu_tenant *tenant);
void test_discard(struct softgpu_tenant *tenant);
void test_limit_patterns(struct softgpu_tenant *tenant);
void test_full_limit_patterns(struct softgpu_tenant *tenant);
void test_freed_chunk(struct softgpu_tenant *tenant);
void test_small_limit(struct softgpu_tenant *tenant);
void test_thread_limit(struct softgpu_tenant *tenant);
void test_pid_clash(struct softgpu_tenant *tenant);
void test_limit_storm(struct softgpu_tenant *tenant);
void test_counters(struct softgpu_tenant *tenant);
void test_hmm(struct softgpu_tenant *tenant);
void test_hmm_fork(struct softgpu_tenant *tenant);
void test_hmm_order(struct softgpu_tenant *tenant);
void test_builtin(struct softgpu_tenant *tenant);
void test_channel(struct softgpu_tenant *tenant);
void test_failures(struct softgpu_tenant *tenant);
void test_patience(struct softgpu_tenant *tenant);
void test_channel_error(struct softgpu_tenant *tenant);
void test_ecc(struct softgpu_tenant *tenant);
void test_lost(struct softgpu_tenant *tenant);
void test_peers(struct softgpu_tenant *tenant);
void test_tenants(struct softgpu_tenant *tenant);
void test_demands(struct softgpu_tenant *tenant);
void test_pressure(struct softgpu_tenant *tenant);
void test_softgpu_scheduling(struct softgpu_tenant *tenant);
void test_many_channels(struct softgpu_tenant *tenant);
void test_vidmem(struct softgpu_tenant *tenant);

#endif
