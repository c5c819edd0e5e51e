// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Listeners that sleep: readers, posts, the close and the end of a process meet as actors in
 * simulated time.
 */
#include "gvm/pressure.h"
#include "runner.h"

#define MS 1000000ull

static struct gvm_device device;
static struct gvm_container *container;
static struct gvm_listener listener;

/* A reader's result and its date. */
struct reading {
	int result;
	u64 at_ns;
	struct gvm_pressure_event event;
	struct eng_actor *actor;
};

static struct reading readings[3];

static void read_main(void *data)
{
	struct reading *reading = data;

	reading->result =
		gvm_listener_read(&listener, &reading->event, sizeof(reading->event), true);
	reading->at_ns = eng_now();
}

static void start_readers(u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		readings[i] = (struct reading){ .result = 1 };
		readings[i].actor = eng_spawn("reader", read_main, &readings[i]);
	}
	ck_assert_int_eq(eng_sleep_until(eng_now() + MS), 0);
}

static void join_readers(u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		eng_join(readings[i].actor);
}

/* Run @body in an actor, with a device, a container and an open listener. */
static void (*body)(void);

static void body_main(void *data)
{
	struct gvm_device_config config = { .name = "race", .chunk_count = 4 };

	(void)data;
	ck_assert_int_eq(gvm_device_init(&device, &config), 0);
	ck_assert_int_eq(gvm_container_attach(&device, 1, &container), 0);
	ck_assert_int_eq(gvm_listener_open(&listener, container), 0);
	body();
	gvm_listener_close(&listener);
	ck_assert_int_eq(gvm_check(&device), 0);
	if (container)
		gvm_container_detach(container);
	gvm_device_destroy(&device);
}

static void run_body(void (*function)(void))
{
	body = function;
	ck_assert_int_eq(eng_init(), 0);
	eng_spawn("body", body_main, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
}

static void post_to_sleepers(void)
{
	u64 posted_ns;
	u32 got = 0, i;

	start_readers(3);
	posted_ns = eng_now();
	gvm_pressure_post(container, 7);
	ck_assert_uint_eq(eng_now(), posted_ns); /* the post did not wait */
	ck_assert_int_eq(eng_sleep_until(eng_now() + MS), 0);
	for (i = 0; i < 3; i++)
		got += readings[i].at_ns == posted_ns && readings[i].result > 0 &&
		       readings[i].event.target_bytes == 7;
	ck_assert_uint_eq(got, 1);
	ck_assert_uint_eq(listener.readers, 2);
	gvm_listener_close(&listener);
	join_readers(3);
}

START_TEST(one_of_many_sleepers_gets_the_event_and_the_rest_sleep_on)
{
	run_body(post_to_sleepers);
}
END_TEST

static void close_on_sleepers(void)
{
	u32 i;

	start_readers(2);
	gvm_listener_close(&listener);
	memset(&listener, 0, sizeof(listener)); /* its owner may reuse it */
	join_readers(2);
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(readings[i].result, 0);
		ck_assert_uint_eq(readings[i].at_ns, MS);
	}
}

START_TEST(a_close_wakes_who_reads_and_waits_for_them)
{
	run_body(close_on_sleepers);
}
END_TEST

static void post_then_close(void)
{
	start_readers(1);
	gvm_pressure_post(container, 7);
	gvm_listener_close(&listener);
	join_readers(1);
	ck_assert_int_eq(readings[0].result, 0);
	ck_assert_ptr_null(listener.container);
}

/* The reader was woken for an event, but the listener is closing: the read ends. */
START_TEST(a_close_between_a_post_and_its_reader_ends_the_read)
{
	run_body(post_then_close);
}
END_TEST

static void close_main(void *data)
{
	(void)data;
	gvm_listener_close(&listener);
	readings[2].at_ns = eng_now();
}

/* A waker is counted, and reaches the listener a millisecond later. */
static void close_under_a_waker(void)
{
	struct gvm_wakers wakers;
	struct eng_actor *closer;

	gvm_spin_lock(&device.lock);
	gvm_watchers_wake_begin_locked(container, &wakers);
	gvm_spin_unlock(&device.lock);
	ck_assert_uint_eq(wakers.count, 1);
	closer = eng_spawn("closer", close_main, NULL);
	ck_assert_int_eq(eng_sleep_until(eng_now() + MS), 0);
	ck_assert_uint_eq(container->listener_count, 0);
	ck_assert_ptr_nonnull(listener.container);
	gvm_watchers_wake_end(&device, &wakers);
	eng_join(closer);
	ck_assert_ptr_null(listener.container);
	ck_assert_uint_eq(readings[2].at_ns, MS);
}

START_TEST(a_close_waits_for_a_waker_that_has_not_come_yet)
{
	run_body(close_under_a_waker);
}
END_TEST

static void die_under_sleepers(void)
{
	start_readers(2);
	gvm_container_detach(container);
	container = NULL;
	join_readers(2);
	ck_assert_int_eq(readings[0].result, 0);
	ck_assert_int_eq(readings[1].result, 0);
}

START_TEST(the_end_of_the_process_wakes_who_reads)
{
	run_body(die_under_sleepers);
}
END_TEST

static void interrupt_sleeper(void)
{
	start_readers(2);
	eng_interrupt(readings[0].actor);
	eng_join(readings[0].actor);
	ck_assert_int_eq(readings[0].result, -EINTR);
	ck_assert_uint_eq(listener.readers, 1);
	gvm_pressure_post(container, 9);
	eng_join(readings[1].actor);
	ck_assert_int_eq(readings[1].result, (int)sizeof(struct gvm_pressure_event));
	ck_assert_uint_eq(readings[1].event.target_bytes, 9);
}

START_TEST(a_signal_ends_one_read_and_no_other)
{
	run_body(interrupt_sleeper);
}
END_TEST

TEST_MAIN("pressure race", one_of_many_sleepers_gets_the_event_and_the_rest_sleep_on,
	  a_close_wakes_who_reads_and_waits_for_them,
	  a_close_between_a_post_and_its_reader_ends_the_read,
	  a_close_waits_for_a_waker_that_has_not_come_yet,
	  the_end_of_the_process_wakes_who_reads, a_signal_ends_one_read_and_no_other)
