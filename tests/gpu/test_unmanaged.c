// SPDX-License-Identifier: MIT OR GPL-2.0
/* Unmanaged memory, and the memory limits of MPS's clients, on a GPU of 8 chunks. */
#include "gpu/unmanaged.h"

#include "gpu/mps.h"
#include "gpu_fixture.h"

#define CHUNK GVM_CHUNK_BYTES

static struct cfg_gpu profile = GPU_WITHOUT_COSTS(8);

static struct sim_mps mps;
static struct sim_process one, two, three;

static void (*clients_body)(void);

static void run_clients(void)
{
	sim_mps_init(&mps, &gpu);
	ck_assert_int_eq(sim_process_start_client(&one, &gpu, 1, &mps, FIFO_ALL_PPM), 0);
	ck_assert_int_eq(sim_process_start_client(&two, &gpu, 2, &mps, FIFO_ALL_PPM), 0);
	ck_assert_int_eq(sim_process_start_client(&three, &gpu, 3, &mps, FIFO_ALL_PPM), 0);
	clients_body();
}

static void simulate(void (*body)(void))
{
	static const struct sim_memory_policy stock = { .manager = &sim_manager_nvuvm };

	clients_body = body;
	run_gpu(&profile, &stock, run_clients);
}

static void allocate(void)
{
	sim_process_take_unmanaged(&one, 5 * CHUNK);
	sim_process_take_unmanaged(&two, 3 * CHUNK);
	ck_assert(!one.killed && !two.killed);
	ck_assert_uint_eq(gpu.free_count, 0);
	sim_process_take_unmanaged(&three, CHUNK);
	ck_assert(three.killed);
	ck_assert_int_eq(three.death, SIM_DEATH_NO_ROOM);
	ck_assert_uint_eq(three.container->events[GVM_EVENT_OOM], 1);
	sim_process_give_unmanaged(&one, 2 * CHUNK);
	ck_assert_uint_eq(gpu.free_count, 2);
	sim_process_take_unmanaged(&two, 2 * CHUNK);
	ck_assert(!one.killed && !two.killed);
	/* Nothing of a failed allocation stays. */
	ck_assert_uint_eq(three.unmanaged.bytes, 0);
	ck_assert_uint_eq(three.unmanaged.chunks, 0);
}

START_TEST(an_allocation_without_room_fails_alone)
{
	simulate(allocate);
}
END_TEST

static void evict_managed(void)
{
	struct gvm_range *range = sim_process_map(&one, 8 * CHUNK, false);
	struct gmmu_touch touch = sim_touch_all(range, GVM_ACCESS_WRITE);
	struct fifo_burst burst = {
		.kernels = 1, .kernel_ns = 1, .touches = &touch, .touch_count = 1
	};

	fifo_submit(&one.tsg, &burst);
	ck_assert_int_eq(fifo_wait(&burst), 0);
	sim_process_take_unmanaged(&two, 6 * CHUNK);
	ck_assert(!one.killed && !two.killed);
	ck_assert_uint_eq(two.unmanaged.bytes, 6 * CHUNK);
	ck_assert_uint_le(gvm_charged_bytes(one.container), 2 * CHUNK);
}

START_TEST(managed_memory_makes_room_for_unmanaged)
{
	simulate(evict_managed);
}
END_TEST

static void exceed_hard(void)
{
	one.memory_hard = 4 * CHUNK;
	two.memory_hard = 4 * CHUNK;
	sim_process_take_unmanaged(&one, 4 * CHUNK);
	ck_assert(!one.killed);
	/* Managed memory is not counted. */
	ck_assert_ptr_nonnull(sim_process_map(&one, 8 * CHUNK, false));
	ck_assert(!one.killed);
	sim_process_take_unmanaged(&one, CHUNK);
	ck_assert(one.killed);
	ck_assert_int_eq(one.death, SIM_DEATH_HARD_LIMIT);
	sim_process_take_unmanaged(&two, 4 * CHUNK);
	ck_assert(!two.killed);
}

START_TEST(an_allocation_above_the_hard_limit_fails_though_there_is_room)
{
	simulate(exceed_hard);
}
END_TEST

static void borrow(void)
{
	one.memory_soft = CHUNK;
	two.memory_soft = CHUNK;
	three.memory_soft = 4 * CHUNK;
	sim_process_take_unmanaged(&one, 2 * CHUNK);
	sim_process_take_unmanaged(&two, 4 * CHUNK);
	/* There is room: who is above its limit stays. */
	sim_process_take_unmanaged(&three, 2 * CHUNK);
	ck_assert(!one.killed && !two.killed && !three.killed);
	/* Now two is ended, which is 3 chunks above; that is enough. */
	sim_process_take_unmanaged(&three, CHUNK);
	ck_assert(two.killed && !one.killed && !three.killed);
	ck_assert_int_eq(two.death, SIM_DEATH_BORROWER);
	ck_assert_uint_eq(two.unmanaged.bytes, 0);
	ck_assert_uint_eq(gpu.free_count, 3);
	/* Above its own limit three has no claim, though one is above its limit, too. */
	sim_process_take_unmanaged(&three, 4 * CHUNK);
	ck_assert(three.killed && !one.killed);
	ck_assert_int_eq(three.death, SIM_DEATH_NO_ROOM);
}

START_TEST(pressure_ends_the_client_farthest_above_its_soft_limit)
{
	simulate(borrow);
}
END_TEST

static void end_both(void)
{
	one.memory_soft = CHUNK;
	two.memory_soft = CHUNK;
	three.memory_soft = 8 * CHUNK;
	sim_process_take_unmanaged(&one, 4 * CHUNK);
	sim_process_take_unmanaged(&two, 4 * CHUNK);
	sim_process_take_unmanaged(&three, 8 * CHUNK);
	ck_assert(one.killed && two.killed && !three.killed);
}

START_TEST(as_many_are_ended_as_an_allocation_needs)
{
	simulate(end_both);
}
END_TEST

static void allocate_after_a_death(void)
{
	sim_process_take_unmanaged(&one, 5 * CHUNK);
	sim_process_take_unmanaged(&one, 4 * CHUNK);
	ck_assert(one.killed);
	sim_process_take_unmanaged(&two, 8 * CHUNK);
	ck_assert(!two.killed);
}

START_TEST(memory_of_a_dead_context_is_free)
{
	simulate(allocate_after_a_death);
}
END_TEST

static void exceed_frame_buffer(void)
{
	one.frame_buffer = 4 * CHUNK;
	sim_process_take_unmanaged(&one, 4 * CHUNK);
	ck_assert(!one.killed);
	sim_process_take_unmanaged(&one, CHUNK);
	ck_assert(one.killed);
	ck_assert_int_eq(one.death, SIM_DEATH_BY_STATUS);
}

START_TEST(an_allocation_above_the_frame_buffer_fails_though_there_is_room)
{
	simulate(exceed_frame_buffer);
}
END_TEST

TEST_MAIN("unmanaged", an_allocation_without_room_fails_alone, memory_of_a_dead_context_is_free,
	  an_allocation_above_the_frame_buffer_fails_though_there_is_room,
	  managed_memory_makes_room_for_unmanaged,
	  an_allocation_above_the_hard_limit_fails_though_there_is_room,
	  pressure_ends_the_client_farthest_above_its_soft_limit,
	  as_many_are_ended_as_an_allocation_needs)
