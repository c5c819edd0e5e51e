// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Things that stop a device: quiesce and resume, a lost GPU, broken books. Also here: a TSG
 * that two containers share, and the launch counts of a reporter that closes.
 */
#include "core_world.h"
#include "find_container.h"
#include "gvm/control.h"
#include "gvm/evict.h"
#include "gvm/activity.h"
#include "gvm/clock.h"
#include "gvm/hint.h"
#include "gvm/pressure.h"
#include "gvm/quiesce.h"
#include "gvm/sched.h"
#include "gvm/swap.h"

#include <stdlib.h>

#define TIMEOUT_NS 1000000ull

static struct gvm_device *const device = &world.device;
static struct gvm_container *a, *b;
static struct gvm_tsg tsg;

static int write_text(struct gvm_container *container, const char *name, const char *text)
{
	return gvm_control_write(container, name, text, strlen(text));
}

static void expect_rpcs(u32 count)
{
	ck_assert_uint_eq(world.call_count, count);
}

/* Quiesce and resume. */

START_TEST(a_quiesced_device_takes_no_write_and_makes_no_rpc)
{
	ck_assert_int_eq(gvm_tsg_attach(a, &tsg, 1), 0);
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), 0);
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), -EBUSY);
	ck_assert_int_eq(gvm_control_set(a, "gmem.limit.high", "2M", 2), -EAGAIN);
	ck_assert_int_eq(gvm_control_set(a, "compute.priority", "1", 1), -EAGAIN);
	for (u32 i = 0; i < GVM_ACTIVITIES; i++)
		ck_assert(!gvm_activity_begin(device, (enum gvm_activity)i));
	ck_assert_uint_eq(a->gmem_high_bytes, GVM_NO_LIMIT);
	ck_assert_int_eq(gvm_device_resume(device), 0);
	ck_assert_int_eq(gvm_device_resume(device), -EINVAL);
	ck_assert_int_eq(gvm_control_set(a, "gmem.limit.high", "2M", 2), 0);
	expect_rpcs(0);
	gvm_tsg_detach(&tsg);
}
END_TEST

START_TEST(quiesce_gives_up_in_time_and_undoes_what_it_did)
{
	for (u32 i = 0; i < GVM_ACTIVITIES; i++) {
		u64 begin_ns = gvm_ktime_ns();

		ck_assert(gvm_activity_begin(device, (enum gvm_activity)i));
		ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), -ETIMEDOUT);
		ck_assert_uint_ge(gvm_ktime_ns() - begin_ns, TIMEOUT_NS);
		gvm_activity_end(device, (enum gvm_activity)i);
		ck_assert_int_eq(write_text(a, "gmem.limit.low", "1M"), 0);
		ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), 0);
		ck_assert_int_eq(gvm_device_resume(device), 0);
	}
}
END_TEST

/*
 * Regression: a system that suspends cannot be refused, and work that did not end in time was
 * followed by more of it on the sleeping GPU.
 */
START_TEST(a_gpu_that_sleeps_anyway_gets_no_new_work)
{
	for (u32 i = 0; i < GVM_ACTIVITIES; i++) {
		ck_assert(gvm_activity_begin(device, (enum gvm_activity)i));
		ck_assert_int_eq(gvm_device_quiesce_to_sleep(device, TIMEOUT_NS), -ETIMEDOUT);
		ck_assert_int_eq(gvm_device_quiesce_to_sleep(device, TIMEOUT_NS), -EBUSY);
		for (u32 j = 0; j < GVM_ACTIVITIES; j++)
			ck_assert(!gvm_activity_begin(device, (enum gvm_activity)j));
		gvm_activity_end(device, (enum gvm_activity)i);
		ck_assert_int_eq(gvm_device_resume(device), 0);
	}
	ck_assert_int_eq(gvm_device_quiesce_to_sleep(device, TIMEOUT_NS), 0);
	ck_assert_int_eq(gvm_device_resume(device), 0);
	gvm_device_set_lost(device);
	ck_assert_int_eq(gvm_device_quiesce_to_sleep(device, TIMEOUT_NS), -ENODEV);
}
END_TEST

static void expect_freeze(const char *expected)
{
	char text[GVM_CONTROL_TEXT_MAX];

	ck_assert_int_eq(gvm_control_read(a, "compute.freeze", text, sizeof(text)), 2);
	ck_assert_str_eq(text, expected);
}

/* Regression: a read of compute.freeze asked the GPU, which reads a register, while it slept. */
START_TEST(a_read_does_not_look_at_a_gpu_that_sleeps)
{
	u32 looks;

	gvm_tsg_attach(a, &tsg, 1);
	world.samples[1].on_gpu = true;
	ck_assert_int_eq(gvm_compute_freeze(a), 0);
	expect_freeze("0\n");
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), 0);
	looks = world.looks;
	world.samples[1].on_gpu = false;
	expect_freeze("0\n");
	ck_assert_uint_eq(world.looks, looks);
	ck_assert_int_eq(gvm_device_resume(device), 0);
	expect_freeze("1\n");
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), 0);
	looks = world.looks;
	world.samples[1].on_gpu = true; /* registers of a GPU that sleeps read as ones */
	expect_freeze("1\n");
	ck_assert_uint_eq(world.looks, looks);
	ck_assert_int_eq(gvm_device_resume(device), 0);
	/* It was asked to leave once more, and has not been seen off the GPU since. */
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), 0);
	expect_freeze("0\n");
	ck_assert_int_eq(gvm_device_resume(device), 0);
	gvm_tsg_detach(&tsg);
}
END_TEST

START_TEST(a_resume_applies_all_settings_of_tsgs_anew)
{
	gvm_tsg_attach(a, &tsg, 1);
	ck_assert_int_eq(write_text(a, "compute.timeslice", "5"), 0);
	ck_assert_int_eq(write_text(a, "compute.freeze", "1"), 0);
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), 0);
	expect_rpcs(0);
	memset(world.off, 0, sizeof(world.off)); /* as a reset does */
	ck_assert_int_eq(gvm_device_resume(device), 0);
	expect_rpcs(3);
	ck_assert_int_eq(world.calls[0].rpc, WORLD_DISABLE);
	ck_assert_int_eq(world.calls[1].rpc, WORLD_PREEMPT);
	ck_assert_int_eq(world.calls[2].rpc, WORLD_TIMESLICE);
	ck_assert_uint_eq(world.calls[2].value, 5000);
	gvm_tsg_detach(&tsg);
}
END_TEST

START_TEST(a_resume_whose_rpc_fails_says_so_and_runs)
{
	gvm_tsg_attach(a, &tsg, 1);
	ck_assert_int_eq(write_text(a, "compute.timeslice", "5"), 0);
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), 0);
	world_expect_calls(0, -EIO);
	ck_assert_int_eq(gvm_device_resume(device), -EIO);
	ck_assert_int_eq(write_text(a, "compute.timeslice", "5"), 0);
	expect_rpcs(2);
	gvm_tsg_detach(&tsg);
}
END_TEST

START_TEST(a_tsg_attached_meanwhile_gets_its_settings_at_resume)
{
	ck_assert_int_eq(write_text(a, "compute.timeslice", "7"), 0);
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), 0);
	ck_assert_int_eq(gvm_tsg_attach(a, &tsg, 1), 0);
	expect_rpcs(0);
	ck_assert_int_eq(gvm_device_resume(device), 0);
	expect_rpcs(1);
	gvm_tsg_detach(&tsg);
}
END_TEST

/*
 * Regression: a resume took for granted that the GPU has its defaults again. A GPU that had kept
 * its settings kept a TSG off the runlist for good, if the RPC of its thaw had failed before.
 */
START_TEST(a_resume_puts_back_a_tsg_that_the_gpu_may_have_kept_off)
{
	gvm_tsg_attach(a, &tsg, 1);
	ck_assert_int_eq(gvm_compute_freeze(a), 0);
	world_expect_calls(0, -EIO);
	ck_assert_int_eq(write_text(a, "compute.freeze", "0"), -EIO);
	ck_assert(world.off[1]);
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), 0);
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_device_resume(device), 0);
	expect_rpcs(1);
	ck_assert_int_eq(world.calls[0].rpc, WORLD_ENABLE);
	ck_assert(!world.off[1] && !tsg.disabled && !tsg.preempted);
	gvm_tsg_detach(&tsg);
}
END_TEST

START_TEST(a_resume_sets_a_timeslice_that_the_gpu_may_have_kept)
{
	gvm_tsg_attach(a, &tsg, 1);
	ck_assert_int_eq(write_text(a, "compute.timeslice", "5"), 0);
	world_expect_calls(0, -EIO);
	ck_assert_int_eq(write_text(a, "compute.timeslice", "1"), -EIO);
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), 0);
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_device_resume(device), 0);
	expect_rpcs(1);
	ck_assert_int_eq(world.calls[0].rpc, WORLD_TIMESLICE);
	ck_assert_uint_eq(world.calls[0].value, WORLD_TIMESLICE_US);
	gvm_tsg_detach(&tsg);
}
END_TEST

/* Regression: the stop made its RPCs while the GPU slept. */
START_TEST(a_scheduler_that_stops_leaves_its_rpcs_to_the_resume)
{
	const struct gvm_scheduler_config config = { GVM_SCHED_PRIORITY, GVM_TRACK_BUSY_BITS,
						     1000000 };
	static struct gvm_scheduler scheduler;
	struct gvm_tsg high;

	ck_assert_int_eq(write_text(b, "compute.priority", "0"), 0);
	gvm_tsg_attach(a, &tsg, 1);
	gvm_tsg_attach(b, &high, 2);
	world.samples[2].busy = true;
	ck_assert_int_eq(gvm_scheduler_start(&scheduler, device, &config), 0);
	world_await_round(&scheduler);
	ck_assert_int_eq(gvm_device_quiesce(device, 1000 * TIMEOUT_NS), 0);
	ck_assert(tsg.disabled && world.off[1]);
	world_expect_calls(U32_MAX, 0);
	gvm_scheduler_stop(&scheduler);
	expect_rpcs(0);
	ck_assert_int_eq(gvm_device_resume(device), 0);
	ck_assert(!tsg.disabled && !world.off[1]);
	gvm_tsg_detach(&high);
	gvm_tsg_detach(&tsg);
}
END_TEST

/* A GPU that is lost. */

START_TEST(a_lost_gpu_refuses_writes_and_lets_processes_go)
{
	struct gvm_eviction eviction = { 0 };
	char text[GVM_CONTROL_TEXT_MAX];

	gvm_tsg_attach(a, &tsg, 1);
	world_charge_many(a, 3);
	gvm_device_set_lost(device);
	ck_assert_int_eq(write_text(a, "gmem.limit.high", "0"), -ENODEV);
	ck_assert_int_eq(gvm_control_set(a, "hmem.limit", "0", 1), -ENODEV);
	ck_assert_int_eq(gvm_compute_freeze(a), -ENODEV);
	ck_assert_int_eq(gvm_evict_for(a, GVM_NEED_MEMORY, &eviction), -ENODEV);
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), -ENODEV);
	ck_assert_int_eq(gvm_device_resume(device), -ENODEV);
	ck_assert_int_eq(gvm_control_read(a, "gmem.current", text, sizeof(text)), 8);
	ck_assert_str_eq(text, "6291456\n");
	gvm_tsg_detach(&tsg);
	expect_rpcs(0);
	/* The tear-down detaches the process and uncharges all. */
}
END_TEST

/*
 * Regression: one broken invariant took the machine down. Now the device is dead: it answers
 * -EIO, changes nothing, and frees no memory that may be in use.
 */
START_TEST(a_device_whose_books_are_broken_answers_eio_and_reuses_nothing)
{
	struct gvm_container *late = NULL;
	struct gvm_listener listener = { 0 };
	char text[GVM_CONTROL_TEXT_MAX];
	u32 live = world.live;

	gvm_tsg_attach(a, &tsg, 1);
	world_charge_many(a, 3);
	ck_assert(gvm_device_set_dead(device));
	ck_assert_int_eq(gvm_control_read(a, "gmem.current", text, sizeof(text)), -EIO);
	ck_assert_int_eq(gvm_control_peek(a, "compute.weight", text, sizeof(text)), -EIO);
	ck_assert_int_eq(write_text(a, "gmem.limit.high", "0"), -EIO);
	ck_assert_int_eq(gvm_control_set(a, "hmem.limit", "0", 1), -EIO);
	ck_assert_int_eq(gvm_compute_freeze(a), -EIO);
	ck_assert_int_eq(gvm_device_quiesce(device, TIMEOUT_NS), -EIO);
	ck_assert_int_eq(gvm_container_attach(device, 77, &late), -EIO);
	ck_assert_ptr_null(find_container(device, 1));
	ck_assert_int_eq(gvm_charge_reserve(a), -EIO);
	ck_assert_int_eq(gvm_listener_open(&listener, a), -EIO);
	ck_assert_uint_eq(gvm_clock_pick_own(a), GVM_NO_CHUNK);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	gvm_uncharge(device, 0);
	ck_assert_uint_eq(a->charged_bytes, 3 * GVM_CHUNK_BYTES);
	gvm_container_detach(a);
	gvm_container_detach(a);
	gvm_container_put(a);
	ck_assert_uint_eq(a->charged_bytes, 3 * GVM_CHUNK_BYTES);
	gvm_device_destroy(device);
	ck_assert_ptr_nonnull(device->chunks);
	ck_assert_uint_eq(world.live, live);
	expect_rpcs(0);
	/* The tear-down needs a live device. */
	device->dead = false;
	gvm_tsg_detach(&tsg);
}
END_TEST

/* Regression: hints, limits and host memory followed the rings of a device whose books are broken. */
START_TEST(hints_and_limits_leave_broken_books_alone)
{
	u32 front;

	world_charge_many(a, 16);
	gvm_swap_charge(a, GVM_CHUNK_BYTES);
	front = a->own.lead;
	ck_assert(gvm_device_set_dead(device));
	ck_assert_uint_eq(gvm_hint_next(device, a), GVM_NO_CHUNK);
	ck_assert_uint_eq(gvm_hint_next(device, NULL), GVM_NO_CHUNK);
	ck_assert_uint_eq(a->own.lead, front);
	ck_assert_int_eq(gvm_swap_reserve(a, GVM_CHUNK_BYTES), -EIO);
	gvm_swap_charge(a, GVM_CHUNK_BYTES);
	gvm_swap_uncharge(a, 1);
	gvm_clean_charge(a, 0, 0, GVM_PAGE_BYTES);
	gvm_limit_set_hmem(a, 0);
	ck_assert_uint_eq(a->swapped_bytes, GVM_CHUNK_BYTES);
	ck_assert_uint_eq(a->clean_bytes, 0);
	gvm_limit_set_low(a, GVM_NO_LIMIT);
	ck_assert(!a->is_swap_full && !a->is_protected);
	/* The tear-down needs a live device. */
	device->dead = false;
	gvm_swap_uncharge(a, GVM_CHUNK_BYTES);
}
END_TEST

START_TEST(an_rpc_can_tell_that_the_gpu_is_lost)
{
	gvm_tsg_attach(a, &tsg, 1);
	world_expect_calls(0, -ENXIO);
	ck_assert_int_eq(write_text(a, "compute.timeslice", "5"), -ENODEV);
	ck_assert(gvm_device_is_lost(device));
	ck_assert_int_eq(write_text(a, "compute.timeslice", "6"), -ENODEV);
	expect_rpcs(1);
	gvm_tsg_detach(&tsg);
}
END_TEST

START_TEST(the_scheduler_of_a_lost_gpu_makes_no_rpc)
{
	const struct gvm_scheduler_config config = { GVM_SCHED_PRIORITY, GVM_TRACK_BUSY_BITS,
						     1000000 };
	static struct gvm_scheduler scheduler;

	gvm_tsg_attach(a, &tsg, 1);
	a->share.held = true;
	gvm_device_set_lost(device);
	ck_assert_int_eq(gvm_scheduler_start(&scheduler, device, &config), 0);
	ck_assert_int_eq(gvm_scheduler_round(&scheduler), -ENODEV);
	gvm_scheduler_stop(&scheduler);
	expect_rpcs(0);
	gvm_tsg_detach(&tsg);
}
END_TEST

/* Shared TSGs. */

START_TEST(a_shared_tsg_obeys_no_container)
{
	struct gvm_tsg_share share;

	gvm_tsg_attach(a, &tsg, 1);
	ck_assert_int_eq(write_text(a, "compute.timeslice", "5"), 0);
	ck_assert_int_eq(write_text(a, "compute.freeze", "1"), 0);
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_tsg_share(&tsg, b, &share), 0);
	expect_rpcs(2);
	ck_assert_int_eq(world.calls[0].rpc, WORLD_TIMESLICE);
	ck_assert_uint_eq(world.calls[0].value, WORLD_TIMESLICE_US);
	ck_assert_int_eq(world.calls[1].rpc, WORLD_ENABLE);
	ck_assert_int_eq(write_text(a, "compute.freeze", "0"), -EOPNOTSUPP);
	ck_assert_int_eq(write_text(b, "compute.timeslice", "9"), -EOPNOTSUPP);
	ck_assert_int_eq(write_text(b, "compute.priority", "1"), -EOPNOTSUPP);
	ck_assert_int_eq(write_text(b, "compute.weight", "9"), -EOPNOTSUPP);
	ck_assert_int_eq(write_text(b, "gmem.limit.high", "4M"), 0);
	expect_rpcs(2);
	world_check();
	gvm_tsg_unshare(&share, device);
	ck_assert_uint_eq(tsg.timeslice_us, 5000);
	ck_assert(tsg.disabled && tsg.preempted);
	ck_assert_int_eq(write_text(b, "compute.timeslice", "9"), 0);
	ck_assert_int_eq(write_text(a, "compute.freeze", "0"), 0);
	gvm_tsg_detach(&tsg);
}
END_TEST

/* Regression: the file of a frozen container said 1 while its kernels ran in a shared TSG. */
START_TEST(a_container_that_shares_a_tsg_is_not_frozen)
{
	char text[GVM_CONTROL_TEXT_MAX];
	struct gvm_tsg_share share;
	struct gvm_tsg own;

	ck_assert_int_eq(write_text(b, "compute.freeze", "1"), 0);
	gvm_tsg_attach(a, &tsg, 1);
	ck_assert_int_eq(gvm_tsg_share(&tsg, b, &share), 0);
	ck_assert_int_eq(gvm_control_read(b, "compute.freeze", text, sizeof(text)), 2);
	ck_assert_str_eq(text, "0\n");
	gvm_tsg_attach(b, &own, 2);
	ck_assert(own.disabled && own.preempted);
	ck_assert_int_eq(gvm_control_read(b, "compute.freeze", text, sizeof(text)), 2);
	ck_assert_str_eq(text, "0\n");
	gvm_tsg_unshare(&share, device);
	ck_assert_int_eq(gvm_control_read(b, "compute.freeze", text, sizeof(text)), 2);
	ck_assert_str_eq(text, "1\n");
	gvm_tsg_detach(&own);
	gvm_tsg_detach(&tsg);
}
END_TEST

START_TEST(a_server_may_go_before_its_clients)
{
	struct gvm_tsg_share shares[2];

	gvm_tsg_attach(a, &tsg, 1);
	ck_assert_int_eq(gvm_tsg_share(&tsg, b, &shares[0]), 0);
	ck_assert_int_eq(gvm_tsg_share(&tsg, b, &shares[1]), 0);
	ck_assert_uint_eq(b->shared_tsgs, 2);
	ck_assert_uint_eq(a->shared_tsgs, 1);
	gvm_tsg_detach(&tsg);
	ck_assert_uint_eq(a->shared_tsgs + b->shared_tsgs, 0);
	gvm_tsg_unshare(&shares[1], device);
	gvm_tsg_unshare(&shares[0], device);
	ck_assert_int_eq(write_text(b, "compute.weight", "9"), 0);
}
END_TEST

START_TEST(the_scheduler_leaves_a_shared_tsg_alone)
{
	const struct gvm_scheduler_config config = { GVM_SCHED_PRIORITY, GVM_TRACK_BUSY_BITS,
						     1000000 };
	static struct gvm_scheduler scheduler;
	struct gvm_tsg_share share;
	struct gvm_tsg high;

	ck_assert_int_eq(write_text(b, "compute.priority", "0"), 0);
	gvm_tsg_attach(a, &tsg, 1);
	gvm_tsg_attach(b, &high, 2);
	world.samples[2].busy = true;
	ck_assert_int_eq(gvm_tsg_share(&tsg, b, &share), 0);
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_scheduler_start(&scheduler, device, &config), 0);
	world_await_round(&scheduler);
	ck_assert(a->share.held);
	ck_assert(!tsg.disabled);
	expect_rpcs(0);
	gvm_scheduler_stop(&scheduler);
	gvm_tsg_unshare(&share, device);
	gvm_tsg_detach(&high);
	gvm_tsg_detach(&tsg);
}
END_TEST

/* Launches. */

START_TEST(a_reporter_that_goes_leaves_nothing_pending)
{
	struct gvm_launches shim = { 0 }, other = { 0 };

	gvm_launches_open(&shim, a);
	gvm_launches_open(&other, a);
	gvm_launches_count(&shim, 100, 40);
	gvm_launches_count(&other, 7, 2);
	gvm_launches_close(&shim);
	ck_assert_uint_eq(a->kernels_submitted - a->kernels_ended, 5);
	/* A reporter's mistake, ends without launches, goes when it closes. */
	gvm_launches_count(&other, 0, 50);
	gvm_launches_close(&other);
	gvm_launches_close(&other);
	ck_assert_uint_eq(a->kernels_submitted, a->kernels_ended);
}
END_TEST

static void setup(void)
{
	world_init(WORLD_CHUNKS);
	world_expect_calls(U32_MAX, 0);
	a = world_attach(1);
	b = world_attach(2);
}

static void teardown(void)
{
	world_check();
	world_detach(a);
	world_detach(b);
	world_destroy();
}

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_quiesced_device_takes_no_write_and_makes_no_rpc);
	tcase_add_test(tests, quiesce_gives_up_in_time_and_undoes_what_it_did);
	tcase_add_test(tests, a_gpu_that_sleeps_anyway_gets_no_new_work);
	tcase_add_test(tests, a_read_does_not_look_at_a_gpu_that_sleeps);
	tcase_add_test(tests, a_resume_applies_all_settings_of_tsgs_anew);
	tcase_add_test(tests, a_resume_whose_rpc_fails_says_so_and_runs);
	tcase_add_test(tests, a_tsg_attached_meanwhile_gets_its_settings_at_resume);
	tcase_add_test(tests, a_resume_puts_back_a_tsg_that_the_gpu_may_have_kept_off);
	tcase_add_test(tests, a_resume_sets_a_timeslice_that_the_gpu_may_have_kept);
	tcase_add_test(tests, a_scheduler_that_stops_leaves_its_rpcs_to_the_resume);
	tcase_add_test(tests, a_lost_gpu_refuses_writes_and_lets_processes_go);
	tcase_add_test(tests, a_device_whose_books_are_broken_answers_eio_and_reuses_nothing);
	tcase_add_test(tests, hints_and_limits_leave_broken_books_alone);
	tcase_add_test(tests, an_rpc_can_tell_that_the_gpu_is_lost);
	tcase_add_test(tests, the_scheduler_of_a_lost_gpu_makes_no_rpc);
	tcase_add_test(tests, a_shared_tsg_obeys_no_container);
	tcase_add_test(tests, a_container_that_shares_a_tsg_is_not_frozen);
	tcase_add_test(tests, a_server_may_go_before_its_clients);
	tcase_add_test(tests, the_scheduler_leaves_a_shared_tsg_alone);
	tcase_add_test(tests, a_reporter_that_goes_leaves_nothing_pending);
}

int main(void)
{
	Suite *suite = suite_create("quiesce");

	world_add_case(suite, "quiesce", setup, teardown, add_tests);
	return world_run(suite);
}
