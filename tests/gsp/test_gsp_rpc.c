// SPDX-License-Identifier: MIT OR GPL-2.0
/* RPCs to the GSP run one at a time, in a queue. The fifo has 64 channels. */
#include "gsp/rpc.h"
#include "runner.h"

#define RPC_NS 100u

static struct gmmu gmmu;
static struct fifo fifo;
static struct gsp_rpc rpc;
static struct fifo_tsg tsgs[FIFO_CHANNELS_MAX + 1];

static void simulate(void (*body)(void *data))
{
	static const struct fifo_config config = {
		.timeslice_ns = 1000,
		.timeslice_scale_ppm = 1000000,
		.context_switch_ns = 10,
		.outstanding_faults = 256,
		.faults_per_block = 32,
	};

	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(gmmu_init(&gmmu, 64), 0);
	fifo_init(&fifo, &config, &gmmu);
	rpc = (struct gsp_rpc){ .fifo = &fifo, .latency_ns = RPC_NS };
	eng_spawn("test", body, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	fifo_destroy(&fifo);
	gmmu_destroy(&gmmu);
}

static void second_caller(void *data)
{
	(void)data;
	ck_assert_int_eq(eng_sleep_until(30), 0);
	ck_assert_int_eq(gsp_rpc_preempt(&rpc, tsgs[1].id), 0);
	ck_assert_uint_eq(eng_now(), 200);
}

static void third_caller(void *data)
{
	(void)data;
	ck_assert_int_eq(eng_sleep_until(40), 0);
	ck_assert_int_eq(gsp_rpc_set_timeslice(&rpc, tsgs[0].id, 5), 0);
	ck_assert_uint_eq(eng_now(), 300);
	ck_assert_uint_eq(tsgs[0].timeslice_ns, 5000);
}

static void three_callers(void *data)
{
	struct eng_actor *second = eng_spawn("second", second_caller, NULL);
	struct eng_actor *third = eng_spawn("third", third_caller, NULL);
	u32 ids[2];

	(void)data;
	ck_assert_int_eq(fifo_tsg_init(&fifo, &tsgs[0], NULL), 0);
	ck_assert_int_eq(fifo_tsg_init(&fifo, &tsgs[1], NULL), 0);
	ids[0] = tsgs[0].id;
	ids[1] = tsgs[1].id;
	ck_assert_int_eq(gsp_rpc_disable(&rpc, ids, 2, false), 0);
	ck_assert_uint_eq(eng_now(), 100);
	ck_assert(!tsgs[0].enabled && !tsgs[1].enabled);
	eng_join(second);
	eng_join(third);
	ck_assert_uint_eq(rpc.count, 3);
}

START_TEST(rpcs_are_done_one_at_a_time_in_the_order_in_which_they_come)
{
	simulate(three_callers);
}
END_TEST

static void impatient_caller(void *data)
{
	(void)data;
	eng_interrupt(eng_self());
	ck_assert_int_eq(gsp_rpc_preempt(&rpc, tsgs[0].id), -ENODEV);
	ck_assert_uint_eq(eng_now(), RPC_NS);
}

START_TEST(an_rpc_on_its_way_is_not_called_back)
{
	simulate(impatient_caller);
}
END_TEST

static void gone_tsgs(void *data)
{
	u32 ids[2];

	(void)data;
	ck_assert_int_eq(fifo_tsg_init(&fifo, &tsgs[0], NULL), 0);
	ck_assert_int_eq(fifo_tsg_init(&fifo, &tsgs[1], NULL), 0);
	ids[0] = tsgs[0].id;
	ids[1] = tsgs[1].id;
	fifo_tsg_destroy(&tsgs[0]);
	ck_assert_int_eq(gsp_rpc_disable(&rpc, ids, 2, false), 0);
	ck_assert(!tsgs[1].enabled);
	fifo_tsg_destroy(&tsgs[1]);
	ck_assert_int_eq(gsp_rpc_enable(&rpc, ids, 2), -ENODEV);
}

START_TEST(tsgs_that_are_gone_are_passed_over)
{
	simulate(gone_tsgs);
}
END_TEST

/*
 * Both TSGs have work. The turn of the first begins at 10. It keeps its turn until it is
 * preempted.
 */
static void take_off_all(void *data)
{
	struct fifo_burst bursts[2] = { { .kernels = 1, .kernel_ns = 5000 },
					{ .kernels = 1, .kernel_ns = 5000 } };
	u32 ids[2], i;

	(void)data;
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(fifo_tsg_init(&fifo, &tsgs[i], NULL), 0);
		ids[i] = tsgs[i].id;
		fifo_submit(&tsgs[i], &bursts[i]);
	}
	ck_assert_int_eq(gsp_rpc_disable(&rpc, ids, 2, false), 0);
	eng_sleep_until(150);
	fifo_update(&fifo);
	ck_assert_uint_eq(tsgs[0].busy_ns, 140);
	ck_assert_int_eq(gsp_rpc_disable(&rpc, ids, 2, true), 0);
	ck_assert_uint_eq(eng_now(), 250);
	eng_sleep_until(2000);
	fifo_update(&fifo);
	ck_assert_uint_eq(tsgs[0].busy_ns, 240);
	ck_assert_uint_eq(tsgs[1].busy_ns, 0);
	for (i = 0; i < 2; i++)
		fifo_kill(&fifo, ids[i]);
	ck_assert_uint_eq(rpc.count, 2);
}

START_TEST(one_rpc_takes_all_off_the_runlist_and_the_gpu)
{
	simulate(take_off_all);
}
END_TEST

/*
 * Three TSGs have work. One RPC takes the first two off, and the first has its turn. The third
 * is next.
 */
static void take_off_two(void *data)
{
	struct fifo_burst bursts[3];
	u32 ids[3], i;

	(void)data;
	for (i = 0; i < 3; i++) {
		bursts[i] = (struct fifo_burst){ .kernels = 1, .kernel_ns = 5000 };
		ck_assert_int_eq(fifo_tsg_init(&fifo, &tsgs[i], NULL), 0);
		ids[i] = tsgs[i].id;
		fifo_submit(&tsgs[i], &bursts[i]);
	}
	eng_sleep_until(100);
	ck_assert_uint_eq(fifo.switches, 1);
	ck_assert_int_eq(gsp_rpc_disable(&rpc, ids, 2, true), 0);
	eng_sleep_until(1000);
	fifo_update(&fifo);
	ck_assert_uint_eq(fifo.switches, 2);
	ck_assert_uint_eq(tsgs[1].busy_ns, 0);
	ck_assert_uint_eq(tsgs[2].busy_ns, 1000 - 200 - 10);
	for (i = 0; i < 3; i++)
		fifo_kill(&fifo, ids[i]);
}

START_TEST(nobody_who_is_to_be_taken_off_gets_another_turn)
{
	simulate(take_off_two);
}
END_TEST

static void fill_runlist(void *data)
{
	u32 last, i;

	(void)data;
	for (i = 0; i < FIFO_CHANNELS_MAX; i++)
		ck_assert_int_eq(fifo_tsg_init(&fifo, &tsgs[i], NULL), 0);
	ck_assert_int_eq(fifo_tsg_init(&fifo, &tsgs[i], NULL), -ENOSPC);
	for (i = 0; i < FIFO_CHANNELS_MAX; i++)
		ck_assert_ptr_eq(fifo_find(&fifo, tsgs[i].id), &tsgs[i]);
	last = tsgs[17].id;
	fifo_tsg_destroy(&tsgs[17]);
	ck_assert_int_eq(fifo_tsg_init(&fifo, &tsgs[FIFO_CHANNELS_MAX], NULL), 0);
	/* The number of a TSG that is gone does not find the TSG that has its place. */
	ck_assert_uint_gt(tsgs[FIFO_CHANNELS_MAX].id, last);
	ck_assert_ptr_null(fifo_find(&fifo, last));
}

START_TEST(there_are_64_channels_and_numbers_are_not_used_again)
{
	simulate(fill_runlist);
}
END_TEST

TEST_MAIN("fifo rpc", rpcs_are_done_one_at_a_time_in_the_order_in_which_they_come,
	  an_rpc_on_its_way_is_not_called_back, tsgs_that_are_gone_are_passed_over,
	  one_rpc_takes_all_off_the_runlist_and_the_gpu,
	  nobody_who_is_to_be_taken_off_gets_another_turn,
	  there_are_64_channels_and_numbers_are_not_used_again)
