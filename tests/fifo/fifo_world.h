/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A host engine with one address space, for tests. One per process. */
#ifndef TESTS_FIFO_WORLD_H
#define TESTS_FIFO_WORLD_H

#include "engine/engine.h"
#include "fifo/fifo.h"

#include <check.h>

static struct gmmu gmmu;
static struct fifo fifo;
/* The address space of all TSGs. At first nothing is mapped. */
static struct page_table table;

/* A small machine, for schedules that are worked out by hand. */
static const struct fifo_config small_config = {
	.timeslice_ns = 100,
	.timeslice_scale_ppm = FIFO_ALL_PPM,
	.context_switch_ns = 10,
	.outstanding_faults = 256,
	.faults_per_block = 32,
};

static void (*world_body)(void);

static inline void world_actor(void *unused)
{
	(void)unused;
	world_body();
}

/* Run @body beside a host engine whose address space has @blocks blocks at @va. */
static inline void world_run(const struct fifo_config *config, u32 fault_entries, u64 va,
			     u32 blocks, void (*body)(void))
{
	world_body = body;
	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(gmmu_init(&gmmu, fault_entries), 0);
	page_table_init(&table, NULL);
	ck_assert_int_eq(page_table_reserve(&table, va, blocks * GVM_CHUNK_BYTES), 0);
	fifo_init(&fifo, config, &gmmu);
	eng_spawn("test", world_actor, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	fifo_destroy(&fifo);
	gmmu_destroy(&gmmu);
	page_table_destroy(&table);
}

static inline void expect_end(struct fifo_burst *burst, u64 date)
{
	ck_assert_int_eq(fifo_wait(burst), 0);
	ck_assert_uint_eq(burst->finished_ns, date);
}

#endif
