// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * NVIDIA's UVM driver and the published GVM driver, as models
 * ===========================================================
 *
 * The work between a fault and its replay decides how much memory pressure slows a container.
 * The core's way is in core/block/batch.c. This folder models NVIDIA's driver
 * (open-gpu-kernel-modules 575, uvm_*.c) and the patch to it that the authors of the GVM paper
 * have published. Both have the fault loop of UVM, like the core: up to 20 batches of up to 256
 * sorted faults. Each batch ends with a flush, a replay and a busy wait for its copies. The
 * model covers UVM's work for each block of a batch. Files, from the top down:
 *
 *     nvuvm.c      this file: the model is made, started, stopped
 *     memory.c     the model as a memory manager (struct gvm_memory_ops)
 *     service.c    service one block after the other, restart it when it needed room
 *     migrate.c    prefetches, and touches of the CPU
 *     advice.c     advice of the application, and mappings of host memory; evicted.c: its queue
 *     rm.c         what RM takes beside UVM
 *     driver.c     the decisions of the stock driver and the published GVM, at the hook points
 *     policy.c     the core's decisions at the same points (hooks.h)
 *     limit.c      a limit write of the published GVM
 *     evict.c      a chunk leaves its block
 *     mmu.c        the device below the model; host memory
 *     pmm.c        chunks: refills of 64, queues by last fault or migration
 *     prefetch.c   64 KB at least, more by the density of its neighbours
 *     thrash.c     throttle pages that two processors fight over
 *     range.c, container.c   records of ranges and containers
 *
 * The real driver judges the model, and so does the published GVM's: docs/softgpu.md. The same
 * patterns of access give the same batches, copies, victims and TLB invalidates, in the same
 * order, with four exceptions: a batch larger than memory (pmm.c), pages that thrash (thrash.c),
 * writes to pages that are read mostly (advice.c), and discards of the driver 580
 * (tests/kernel/judge_expected.txt).
 *
 * Two policies decide at the hook points. nvuvm_driver_hooks are the driver's own; "limits" and
 * "fast_path" make them the published GVM's. nvuvm_policy_hooks are the core's.
 *
 * The model uses the core's books: charges, gmem.current, swap counters, clock order (used only
 * by the core's policy and its reclaim) and the residency of struct gvm_block. So all their
 * readers work unchanged. The stock driver has no limits. The published GVM enforces its limit
 * late, so usage may be above it.
 */
#include "nvuvm/nvuvm.h"

#include "nvuvm/advice.h"
#include "nvuvm/driver.h"
#include "nvuvm/evict.h"
#include "nvuvm/mmu.h"
#include "nvuvm/pmm.h"

struct nvuvm *nvuvm_create(const struct nvuvm_config *config)
{
	struct nvuvm *nvuvm;

	GVM_ASSERT(!config->limits || !config->device->payers); /* see pmm.c */
	nvuvm = gvm_alloc(sizeof(*nvuvm));
	if (!nvuvm)
		return NULL;
	nvuvm->config = *config;
	if (!config->hooks)
		nvuvm->config.hooks = &nvuvm_driver_hooks;
	gvm_spin_init(&nvuvm->lock, "nvuvm");
	INIT_LIST_HEAD(&nvuvm->containers);
	gvm_waitqueue_init(&nvuvm->lazy_wait);
	gvm_waitqueue_init(&nvuvm->lazy_freed);
	nvuvm_advice_init(nvuvm);
	nvuvm->batch = 1;
	if (!gvm_memory_init(&nvuvm->memory, config->device, &nvuvm_mmu_ops, nvuvm)) {
		if (!nvuvm_pmm_init(nvuvm))
			return nvuvm;
		gvm_memory_destroy(&nvuvm->memory);
	}
	gvm_free(nvuvm);
	return NULL;
}

void nvuvm_destroy(struct nvuvm *nvuvm)
{
	if (!nvuvm)
		return;
	GVM_ASSERT(list_empty(&nvuvm->containers));
	nvuvm_pmm_destroy(nvuvm);
	gvm_memory_destroy(&nvuvm->memory);
	gvm_free(nvuvm);
}

int nvuvm_start(struct nvuvm *nvuvm)
{
	if (!nvuvm->config.fast_path)
		return 0;
	return gvm_worker_start(&nvuvm->lazy_worker, "nvuvm lazy free", nvuvm_lazy_worker,
				nvuvm);
}

void nvuvm_stop(struct nvuvm *nvuvm)
{
	u64 out_sequence;
	u32 chunk;

	if (nvuvm->config.fast_path)
		gvm_worker_stop(&nvuvm->lazy_worker);
	nvuvm_advice_stop(nvuvm);
	while ((chunk = nvuvm_pmm_take_lazy(nvuvm, &out_sequence)) != GVM_NO_CHUNK)
		nvuvm_pmm_release(nvuvm, chunk);
	nvuvm_pmm_trim(nvuvm);
}

const struct nvuvm_stats *nvuvm_stats(const struct nvuvm *nvuvm)
{
	return &nvuvm->stats;
}
