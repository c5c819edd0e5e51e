/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A simulated GPU whose memory is managed by the model of NVIDIA's driver, in round numbers: 1
 * byte/ns on the link each way, 1 us of set-up, 100 ns for each further piece. One per test
 * process.
 */
#ifndef TESTS_NVUVM_WORLD_H
#define TESTS_NVUVM_WORLD_H

#include "gpu/process.h"
#include "gvm/clock.h"
#include "nvuvm/advice.h"
#include "nvuvm/container.h"
#include "nvuvm/evict.h"
#include "nvuvm/limit.h"
#include "nvuvm/migrate.h"
#include "nvuvm/nvuvm.h"
#include "nvuvm/pmm.h"
#include "nvuvm/range.h"
#include "nvuvm/rm.h"
#include "nvuvm/service.h"

#include <check.h>

#define US	1000ull
#define MS	1000000ull
#define CHUNK	GVM_CHUNK_BYTES
#define PAGE_NS GVM_PAGE_BYTES	 /* link time of a page */
#define COPY_NS (1 * US + CHUNK) /* link time of a block */

/* The times of the driver's work. */
#define INTERRUPT_NS (5 * US)
#define BATCH_NS     (10 * US)
#define ENTRY_NS     (1 * US)
#define BLOCK_NS     (20 * US)
#define REPLAY_NS    (2 * US)
#define EVICT_NS     (30 * US)
#define WALK_NS	     100

extern struct cfg_gpu world_profile; /* a test may change it before world_run() */
extern struct sim_gpu world_gpu;
extern struct sim_process world_process, world_other, world_more[2];

/* The model of world_gpu. */
static inline struct nvuvm *world_nvuvm(void)
{
	return world_gpu.device.memory;
}

/*
 * The driver that is modelled: stock, the published GVM without and with its fast path, or the
 * core's policy at the hooks.
 */
extern const struct sim_memory_policy world_stock, world_limits, world_gvm, world_ghost_uvm;

/*
 * Run @body in an actor beside a GPU with @chunks chunks. Then end all processes and the
 * GPU, and expect that nothing is left.
 */
void world_run(u32 chunks, const struct sim_memory_policy *policy, void (*body)(void));

/* Start a process with one range. */
struct gvm_range *world_map(struct sim_process *process, u32 blocks, bool on_host);

/*
 * Run a kernel that touches @count blocks from @first on, and wait for it. Returns its end, in
 * ns from its submission.
 */
u64 world_touch(struct sim_process *process, struct gvm_range *range, u32 first, u32 count);

/*
 * One batch by hand, without the GPU: service a fault on a page of a range, and end the batch.
 * Returns the fault's status. No kernel may be running.
 */
int world_fault(struct gvm_range *range, u32 block, u32 page);

/*
 * The same for page 0 of @count blocks from @first on, in one batch. Returns how many
 * succeeded.
 */
u32 world_fault_blocks(struct gvm_range *range, u32 first, u32 count);

/* The chunk of a block. */
u32 world_chunk(const struct gvm_range *range, u32 block);

/*
 * What a container alone exceeds its limit by, once it has been enforced: 63 chunks of a
 * refill. Before, it can be 64: see a_first_refill_at_the_limit_adds_64_chunks.
 */
#define WORLD_OVERSHOOT 63u

/* Events of the model since its start. */
const struct nvuvm_stats *world_stats(void);

/* Chunks that a process has. */
u32 world_charged(const struct sim_process *process);

/* Set a limit without a write of the control file. */
void world_set_limit(struct sim_process *process, u32 chunks);

/* world_fault() on page 0 of @count blocks from @first on, each of which has to succeed. */
void world_fault_each(struct gvm_range *range, u32 first, u32 count);

/* Check that the states, lists and books of all chunks agree. */
void world_check(void);

#endif
