// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Processes that are clients of an MPS server: to the driver they are one TSG, they die
 * together, and they share the server's turns of the GPU.
 */
#include "gpu/mps.h"
#include "gpu_fixture.h"
#include "gvm/control.h"

#define CHUNK GVM_CHUNK_BYTES

static struct cfg_gpu profile = GPU_WITHOUT_COSTS(8);

static struct sim_mps mps;
static struct sim_process one, two, three;

static void (*clients_body)(void);

static void run_clients(void)
{
	sim_mps_init(&mps, &gpu);
	ck_assert_int_eq(sim_process_start_client(&one, &gpu, 1, &mps, 500000), 0);
	ck_assert_int_eq(sim_process_start_client(&two, &gpu, 2, &mps, 500000), 0);
	ck_assert_int_eq(sim_process_start(&three, &gpu, 3), 0);
	clients_body();
}

static void simulate(void (*body)(void))
{
	static const struct sim_memory_policy policy;

	clients_body = body;
	run_gpu(&profile, &policy, run_clients);
}

static int write_timeslice(const struct sim_process *process)
{
	return gvm_control_write(process->container, "compute.timeslice", "4ms", 3);
}

static void share_a_tsg(void)
{
	ck_assert_int_eq(write_timeslice(&one), -EOPNOTSUPP);
	ck_assert_int_eq(write_timeslice(&two), -EOPNOTSUPP);
	ck_assert_int_eq(write_timeslice(&three), 0);
	ck_assert_uint_eq(one.tsg.timeslice_ns, 1000000);
	ck_assert_uint_eq(three.tsg.timeslice_ns, 4000000);
	/*
	 * The first client leaves. The second one is alone, and the TSG is now its own
	 * container's.
	 */
	sim_process_exit(&one);
	ck_assert_int_eq(write_timeslice(&two), 0);
	ck_assert_uint_eq(two.tsg.timeslice_ns, 4000000);
	ck_assert_int_eq(sim_process_start_client(&one, &gpu, 4, &mps, 500000), 0);
	ck_assert_int_eq(write_timeslice(&one), -EOPNOTSUPP);
	ck_assert_int_eq(write_timeslice(&two), -EOPNOTSUPP);
	ck_assert_uint_eq(one.tsg.timeslice_ns, two.tsg.timeslice_ns);
}

START_TEST(the_clients_of_a_server_have_no_compute_files_of_their_own)
{
	simulate(share_a_tsg);
}
END_TEST

static void compute(void)
{
	struct fifo_burst a = { .kernels = 1, .kernel_ns = 1000000 }, b = a, c = a;

	fifo_submit(&one.tsg, &a);
	fifo_submit(&two.tsg, &b);
	fifo_submit(&three.tsg, &c);
	ck_assert_int_eq(fifo_wait(&a), 0);
	ck_assert_int_eq(fifo_wait(&b), 0);
	/*
	 * Turns of 1 ms: the server, the other process, the server. Each client has half of the
	 * SMs.
	 */
	ck_assert_uint_eq(c.finished_ns, 2000000);
	ck_assert_uint_eq(a.finished_ns, 3000000);
	ck_assert_uint_eq(b.finished_ns, 3000000);
}

START_TEST(the_clients_share_the_server_s_turns)
{
	simulate(compute);
}
END_TEST

static void fault_in_nothing(void)
{
	struct gvm_fault fault = { .space = &two, .status = -ENOMEM };

	gpu.device.ops->cancel_fault(&gpu, &fault);
	ck_assert(one.killed && two.killed && !three.killed);
	ck_assert_uint_eq(two.container->events[GVM_EVENT_OOM], 1);
	ck_assert_uint_eq(one.container->events[GVM_EVENT_OOM], 0);
}

START_TEST(a_fatal_fault_ends_all_clients_and_no_other)
{
	simulate(fault_in_nothing);
}
END_TEST

TEST_MAIN("mps", the_clients_of_a_server_have_no_compute_files_of_their_own,
	  the_clients_share_the_server_s_turns, a_fatal_fault_ends_all_clients_and_no_other)
