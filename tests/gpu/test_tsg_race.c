// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Writers of compute settings that meet: actors in simulated time, on a GPU whose RPCs take 100
 * us each and are only recorded. The properties that test_tsg.c proves for one writer hold here
 * for two, whichever RPC of the first the second one meets.
 */
#include "gvm/activity.h"
#include "gvm/charge.h"
#include "gvm/control.h"
#include "gvm/quiesce.h"
#include "gvm/tsg.h"
#include "runner.h"

#define RPC_NS 100000ull
#define TSGS   2u

static struct gvm_device device;
static struct gvm_container *container;
static struct gvm_tsg tsgs[TSGS], late;
static char calls[64]; /* a letter and the TSG's id for each RPC */
static u32 call_count;

static int rpc(char what, u32 tsg)
{
	gvm_mutex_assert_held(&device.tsg_mutex);
	ck_assert_uint_lt(call_count + 2, sizeof(calls));
	calls[call_count++] = what;
	calls[call_count++] = (char)('0' + tsg);
	return eng_sleep_until(eng_now() + RPC_NS);
}

static int rpc_disable(void *gpu, const u32 *ids, u32 count, bool preempt)
{
	(void)gpu;
	ck_assert(!preempt);
	ck_assert_uint_eq(count, 1);
	return rpc('d', ids[0]);
}

static int rpc_preempt(void *gpu, u32 tsg)
{
	(void)gpu;
	return rpc('p', tsg);
}

static int rpc_enable(void *gpu, const u32 *ids, u32 count)
{
	(void)gpu;
	ck_assert_uint_eq(count, 1);
	return rpc('e', ids[0]);
}

/* Until this date a TSG with an outstanding fault cannot leave the GPU. */
static u64 leaves_ns;

static void sample(void *gpu, u32 tsg, struct gvm_tsg_sample *ret_sample)
{
	(void)gpu;
	(void)tsg;
	ret_sample->on_gpu = eng_now() < leaves_ns;
}

static const struct gvm_gpu_ops ops = {
	.tsgs_disable = rpc_disable,
	.tsg_preempt = rpc_preempt,
	.tsgs_enable = rpc_enable,
	.tsg_sample = sample,
};

/* The second writer, and its date: in the middle of an RPC of the first one's freeze. */
static void (*second)(void);
static u64 second_comes_ns;

static void second_main(void *data)
{
	(void)data;
	ck_assert_int_eq(eng_sleep_until(second_comes_ns), 0);
	second();
}

static void first_main(void *data)
{
	struct gvm_device_config config = { .name = "race", .chunk_count = 4, .ops = &ops };
	struct eng_actor *rival;
	u32 i;

	(void)data;
	ck_assert_int_eq(gvm_device_init(&device, &config), 0);
	ck_assert_int_eq(gvm_container_attach(&device, 1, &container), 0);
	for (i = 0; i < TSGS; i++)
		ck_assert_int_eq(gvm_tsg_attach(container, &tsgs[i], i), 0);
	rival = eng_spawn("second", second_main, NULL);
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	eng_join(rival);
	ck_assert_int_eq(gvm_check(&device), 0);
}

static void race(u32 at_rpc, void (*function)(void), const char *expected)
{
	second = function;
	second_comes_ns = at_rpc * RPC_NS + RPC_NS / 2;
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("first", first_main, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(calls, expected);
}

static void thaw(void)
{
	ck_assert_int_eq(gvm_compute_thaw(container), 0);
}

/* With O_NONBLOCK a read does not sleep, even in the middle of a writer's RPC. */
static void peek(void)
{
	char text[GVM_CONTROL_TEXT_MAX];
	u64 now = eng_now();

	ck_assert_int_eq(gvm_control_peek(container, "compute.freeze", text, sizeof(text)),
			 -EAGAIN);
	ck_assert_int_gt(gvm_control_peek(container, "compute.weight", text, sizeof(text)), 0);
	ck_assert_int_gt(gvm_control_peek(container, "gmem.current", text, sizeof(text)), 0);
	ck_assert_uint_eq(eng_now(), now);
}

START_TEST(a_peek_into_a_freeze_does_not_wait)
{
	race((u32)_i, peek, "d0p0d1p1");
	ck_assert_int_eq(gvm_control_peek(container, "compute.freeze", calls, sizeof(calls)),
			 2);
	ck_assert_str_eq(calls, "1\n");
}
END_TEST

/*
 * F14: disable and preempt of a TSG are one step, also to another writer. The freeze has
 * nothing left to do for the second TSG if the thaw comes during the first one's RPCs.
 */
START_TEST(a_thaw_in_the_middle_of_a_freeze_waits_for_one_tsg)
{
	race((u32)_i, thaw, _i < 2 ? "d0p0e0" : "d0p0d1p1e0e1");
	ck_assert(!tsgs[0].disabled && !tsgs[1].preempted && !container->frozen);
}
END_TEST

static void leave(void)
{
	gvm_tsg_detach(&tsgs[1]);
	memset(&tsgs[1], 0xff, sizeof(tsgs[1])); /* its owner may reuse it */
}

/* D10, D9: no TSG leaves the list in the middle of its RPCs. */
START_TEST(a_tsg_that_leaves_in_the_middle_of_a_freeze_waits_for_one_tsg)
{
	race((u32)_i, leave, _i < 2 ? "d0p0" : "d0p0d1p1");
	ck_assert(tsgs[0].preempted);
}
END_TEST

static void join(void)
{
	ck_assert_int_eq(gvm_tsg_attach(container, &late, 2), 0);
}

/* D19: a TSG that is made while its container is being frozen is frozen, too. */
START_TEST(a_tsg_that_joins_in_the_middle_of_a_freeze_is_frozen)
{
	race((u32)_i, join, _i < 2 ? "d0p0d2p2d1p1" : "d0p0d1p1d2p2");
	ck_assert(late.preempted);
}
END_TEST

static void use_memory(void)
{
	u64 now = eng_now();

	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", "8M", 2), 0);
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.low", "4M", 2), 0);
	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	gvm_charge_cancel(container);
	ck_assert_uint_eq(eng_now(), now);
}

/* D6: limits and charges wait for no RPC, so no order of locks can deadlock them. */
START_TEST(limits_and_charges_do_not_wait_for_the_rpcs_of_a_freeze)
{
	race((u32)_i, use_memory, "d0p0d1p1");
}
END_TEST

/*
 * The result of a freeze whose TSG stays on the GPU until @leaves_ns, while other calls go on.
 */
static int freeze_status;
static u64 freeze_end_ns;

static void freeze_main(void *data)
{
	(void)data;
	freeze_status = gvm_control_write(container, "compute.freeze", "1", 1);
	freeze_end_ns = eng_now();
}

static void hostage_main(void *data)
{
	struct gvm_device_config config = { .name = "race", .chunk_count = 4, .ops = &ops };
	struct eng_actor *writer;

	(void)data;
	ck_assert_int_eq(gvm_device_init(&device, &config), 0);
	ck_assert_int_eq(gvm_container_attach(&device, 1, &container), 0);
	ck_assert_int_eq(gvm_tsg_attach(container, &tsgs[0], 0), 0);
	writer = eng_spawn("writer", freeze_main, NULL);
	ck_assert_int_eq(eng_sleep_until(2 * RPC_NS + RPC_NS / 2), 0);
	second();
	eng_join(writer);
	ck_assert_int_eq(gvm_check(&device), 0);
}

static void freeze_hostage(u64 until_ns, void (*meanwhile)(void))
{
	leaves_ns = until_ns;
	second = meanwhile;
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("hostage", hostage_main, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
}

static void expect_text(struct gvm_container *of, const char *file, const char *expected)
{
	char text[GVM_CONTROL_TEXT_MAX];

	ck_assert_int_gt(gvm_control_read(of, file, text, sizeof(text)), 0);
	ck_assert_str_eq(text, expected);
}

/*
 * A bystander's calls take no time: reads, a new context and its end, and a look at the
 * hostage's files.
 */
static void live_beside_it(void)
{
	struct gvm_container *bystander;
	u64 now = eng_now();

	ck_assert_int_eq(gvm_container_attach(&device, 2, &bystander), 0);
	ck_assert_int_eq(gvm_tsg_attach(bystander, &late, 2), 0);
	expect_text(bystander, "compute.timeslice", "0us\n");
	expect_text(bystander, "compute.weight", "100\n");
	expect_text(bystander, "compute.freeze", "0\n");
	expect_text(container, "compute.freeze", "0\n");
	ck_assert_int_eq(gvm_control_set(bystander, "compute.weight", "7", 1), 0);
	gvm_tsg_detach(&late);
	gvm_container_detach(bystander);
	ck_assert_uint_eq(eng_now(), now);
}

/* Regression: the freeze waited with the device's mutex, for as long as the tenant chose. */
START_TEST(nobody_waits_while_a_faulting_tsg_is_preempted)
{
	freeze_hostage(1000000000000ull, live_beside_it);
	ck_assert_int_eq(freeze_status, -ETIMEDOUT);
	ck_assert_uint_eq(freeze_end_ns, 2 * RPC_NS + GVM_PREEMPT_TIMEOUT_NS);
	ck_assert(container->frozen && tsgs[0].disabled && tsgs[0].preempted);
	expect_text(container, "compute.freeze", "0\n");
	leaves_ns = 0;
	expect_text(container, "compute.freeze", "1\n");
}
END_TEST

START_TEST(a_freeze_ends_when_the_tsg_has_left)
{
	freeze_hostage(50 * RPC_NS, live_beside_it);
	ck_assert_int_eq(freeze_status, 0);
	ck_assert_uint_ge(freeze_end_ns, 50 * RPC_NS);
	ck_assert_uint_le(freeze_end_ns, 2 * 50 * RPC_NS);
	expect_text(container, "compute.freeze", "1\n");
}
END_TEST

/* The container goes on as if never frozen: the freeze has nothing left to wait for. */
START_TEST(a_thaw_ends_the_wait_of_a_freeze)
{
	freeze_hostage(1000000000000ull, thaw);
	ck_assert_int_eq(freeze_status, 0);
	ck_assert_str_eq(calls, "d0p0e0");
	ck_assert_uint_lt(freeze_end_ns, 10 * RPC_NS);
}
END_TEST

static void quiesce(void)
{
	ck_assert_int_eq(gvm_device_quiesce(&device, RPC_NS), 0);
	ck_assert_int_eq(gvm_device_resume(&device), 0);
}

/* A suspend does not wait for a tenant either. The resume freezes it again. */
START_TEST(a_quiesce_ends_the_wait_of_a_freeze)
{
	freeze_hostage(1000000000000ull, quiesce);
	ck_assert_int_eq(freeze_status, -EAGAIN);
	ck_assert_str_eq(calls, "d0p0d0p0");
}
END_TEST

static void lose(void)
{
	gvm_device_set_lost(&device);
}

START_TEST(a_lost_gpu_ends_the_wait_of_a_freeze)
{
	freeze_hostage(1000000000000ull, lose);
	ck_assert_int_eq(freeze_status, -ENODEV);
	ck_assert_uint_eq(freeze_end_ns, 2 * RPC_NS + RPC_NS / 2);
}
END_TEST

/* Quiesce and resume, while the other one is under way. */

static int quiesced;

static void quiescer_main(void *data)
{
	(void)data;
	quiesced = gvm_device_quiesce(&device, 100 * RPC_NS);
}

static void resume_meets_quiesce(void *data)
{
	struct gvm_device_config config = { .name = "race", .chunk_count = 4, .ops = &ops };
	struct eng_actor *quiescer;

	(void)data;
	ck_assert_int_eq(gvm_device_init(&device, &config), 0);
	ck_assert(gvm_activity_begin(&device, GVM_ACTIVITY_FAULTS));
	quiescer = eng_spawn("quiescer", quiescer_main, NULL);
	ck_assert_int_eq(eng_sleep_until(RPC_NS), 0);
	ck_assert_int_eq(gvm_device_resume(&device), -EINVAL);
	ck_assert_int_eq(gvm_device_quiesce(&device, RPC_NS), -EBUSY);
	gvm_activity_end(&device, GVM_ACTIVITY_FAULTS);
	eng_join(quiescer);
	ck_assert_int_eq(quiesced, 0);
	for (u32 i = 0; i < GVM_ACTIVITIES; i++)
		ck_assert(!gvm_activity_begin(&device, (enum gvm_activity)i));
	ck_assert_int_eq(gvm_device_resume(&device), 0);
}

START_TEST(a_resume_starts_nothing_that_a_quiesce_is_stopping)
{
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("first", resume_meets_quiesce, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
}
END_TEST

static void attach_while_quiesce_gives_up(void *data)
{
	struct gvm_device_config config = { .name = "race", .chunk_count = 4, .ops = &ops };
	struct eng_actor *quiescer;

	(void)data;
	ck_assert_int_eq(gvm_device_init(&device, &config), 0);
	ck_assert_int_eq(gvm_container_attach(&device, 1, &container), 0);
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert(gvm_activity_begin(&device, GVM_ACTIVITY_FAULTS));
	quiescer = eng_spawn("quiescer", quiescer_main, NULL);
	ck_assert_int_eq(eng_sleep_until(RPC_NS), 0);
	ck_assert_int_eq(gvm_tsg_attach(container, &tsgs[0], 0), 0);
	ck_assert_str_eq(calls, "");
	eng_join(quiescer);
	ck_assert_int_eq(quiesced, -ETIMEDOUT);
	gvm_activity_end(&device, GVM_ACTIVITY_FAULTS);
}

/* No resume follows, which would freeze it. */
START_TEST(a_tsg_that_joins_while_a_quiesce_gives_up_is_frozen)
{
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("first", attach_while_quiesce_gives_up, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(calls, "d0p0");
}
END_TEST

static void resumer_main(void *data)
{
	(void)data;
	ck_assert_int_eq(gvm_device_resume(&device), 0);
}

static void quiesce_meets_resume(void *data)
{
	struct gvm_device_config config = { .name = "race", .chunk_count = 4, .ops = &ops };
	struct eng_actor *resumer;

	(void)data;
	ck_assert_int_eq(gvm_device_init(&device, &config), 0);
	ck_assert_int_eq(gvm_container_attach(&device, 1, &container), 0);
	ck_assert_int_eq(gvm_tsg_attach(container, &tsgs[0], 0), 0);
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert_int_eq(gvm_device_quiesce(&device, RPC_NS), 0);
	resumer = eng_spawn("resumer", resumer_main, NULL);
	/* In the first of its RPCs. */
	ck_assert_int_eq(eng_sleep_until(eng_now() + RPC_NS / 2), 0);
	ck_assert_int_eq(gvm_device_resume(&device), -EINVAL);
	ck_assert_int_eq(gvm_device_quiesce(&device, RPC_NS), -EBUSY);
	eng_join(resumer);
	ck_assert_int_eq(gvm_device_quiesce(&device, RPC_NS), 0);
}

START_TEST(a_device_is_quiesced_again_only_after_its_resume)
{
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("first", quiesce_meets_resume, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
}
END_TEST

static u64 asleep_ns;

static void suspender_main(void *data)
{
	(void)data;
	quiesced = gvm_device_quiesce_to_sleep(&device, 100 * RPC_NS);
	asleep_ns = eng_now();
}

static void signal_meets_suspend(void *data)
{
	struct gvm_device_config config = { .name = "race", .chunk_count = 4, .ops = &ops };
	struct eng_actor *suspender;

	(void)data;
	ck_assert_int_eq(gvm_device_init(&device, &config), 0);
	ck_assert(gvm_activity_begin(&device, GVM_ACTIVITY_WRITERS));
	suspender = eng_spawn("suspender", suspender_main, NULL);
	ck_assert_int_eq(eng_sleep_until(RPC_NS), 0);
	eng_interrupt(suspender);
	ck_assert_int_eq(eng_sleep_until(2 * RPC_NS), 0);
	gvm_activity_end(&device, GVM_ACTIVITY_WRITERS);
	eng_join(suspender);
}

/* Regression: a signal to the suspending thread let the core go on while the GPU slept. */
START_TEST(a_signal_does_not_end_the_wait_before_a_sleep)
{
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("first", signal_meets_suspend, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_int_eq(quiesced, 0);
	ck_assert_uint_eq(asleep_ns, 2 * RPC_NS);
	for (u32 i = 0; i < GVM_ACTIVITIES; i++)
		ck_assert(!gvm_activity_begin(&device, (enum gvm_activity)i));
}
END_TEST

static int write_status;

static void writer_main(void *data)
{
	(void)data;
	write_status = gvm_control_write(container, "gmem.limit.high", "8M", 2);
}

static void resume_broken_books(void *data)
{
	struct gvm_device_config config = { .name = "race", .chunk_count = 4, .ops = &ops };
	struct eng_actor *writer;

	(void)data;
	ck_assert_int_eq(gvm_device_init(&device, &config), 0);
	ck_assert_int_eq(gvm_container_attach(&device, 1, &container), 0);
	ck_assert_int_eq(gvm_device_quiesce(&device, RPC_NS), 0);
	writer = eng_spawn("writer", writer_main, NULL);
	ck_assert_int_eq(eng_sleep_until(RPC_NS), 0);
	ck_assert(gvm_device_set_dead(&device));
	ck_assert_int_eq(gvm_device_resume(&device), -EIO);
	eng_join(writer);
}

/*
 * Regression: a writer that waited for the resume of a suspended GPU, whose books broke meanwhile,
 * waited for ever.
 */
START_TEST(a_resume_with_broken_books_ends_the_wait_of_a_writer)
{
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("first", resume_broken_books, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_int_eq(write_status, -EIO);
}
END_TEST

static void end_quiesced_device(void *data)
{
	struct gvm_device_config config = { .name = "race", .chunk_count = 4, .ops = &ops };
	struct eng_actor *writer;

	(void)data;
	ck_assert_int_eq(gvm_device_init(&device, &config), 0);
	ck_assert_int_eq(gvm_container_attach(&device, 1, &container), 0);
	ck_assert_int_eq(gvm_device_quiesce(&device, RPC_NS), 0);
	writer = eng_spawn("writer", writer_main, NULL);
	ck_assert_int_eq(eng_sleep_until(RPC_NS), 0);
	gvm_device_end(&device);
	eng_join(writer);
}

START_TEST(the_end_of_a_quiesced_device_ends_the_wait_of_a_writer)
{
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("first", end_quiesced_device, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_int_eq(write_status, -ENODEV);
}
END_TEST

static void add_hostage_tests(TCase *tests)
{
	tcase_add_test(tests, nobody_waits_while_a_faulting_tsg_is_preempted);
	tcase_add_test(tests, a_freeze_ends_when_the_tsg_has_left);
	tcase_add_test(tests, a_thaw_ends_the_wait_of_a_freeze);
	tcase_add_test(tests, a_quiesce_ends_the_wait_of_a_freeze);
	tcase_add_test(tests, a_lost_gpu_ends_the_wait_of_a_freeze);
}

static void add_quiesce_tests(TCase *tests)
{
	tcase_add_test(tests, a_resume_starts_nothing_that_a_quiesce_is_stopping);
	tcase_add_test(tests, a_tsg_that_joins_while_a_quiesce_gives_up_is_frozen);
	tcase_add_test(tests, a_device_is_quiesced_again_only_after_its_resume);
	tcase_add_test(tests, a_signal_does_not_end_the_wait_before_a_sleep);
	tcase_add_test(tests, the_end_of_a_quiesced_device_ends_the_wait_of_a_writer);
	tcase_add_test(tests, a_resume_with_broken_books_ends_the_wait_of_a_writer);
}

static void add_tests(TCase *tests)
{
	const u32 rpcs = 2 * TSGS;

	tcase_add_loop_test(tests, a_thaw_in_the_middle_of_a_freeze_waits_for_one_tsg, 0,
			    (int)rpcs);
	tcase_add_loop_test(tests,
			    a_tsg_that_leaves_in_the_middle_of_a_freeze_waits_for_one_tsg, 0,
			    (int)rpcs);
	tcase_add_loop_test(tests, a_tsg_that_joins_in_the_middle_of_a_freeze_is_frozen, 0,
			    (int)rpcs);
	tcase_add_loop_test(tests, a_peek_into_a_freeze_does_not_wait, 0, (int)rpcs);
	tcase_add_loop_test(tests, limits_and_charges_do_not_wait_for_the_rpcs_of_a_freeze, 0,
			    (int)rpcs);
}

int main(void)
{
	Suite *suite = suite_create("tsg race");
	TCase *tests = tcase_create("race");
	SRunner *runner = srunner_create(suite);
	int failed;

	add_tests(tests);
	add_hostage_tests(tests);
	add_quiesce_tests(tests);
	tcase_set_timeout(tests, 600);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
