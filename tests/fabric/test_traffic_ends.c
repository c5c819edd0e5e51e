// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * How transfers end: once, with all of their bytes or an error, and untouched afterwards. Nothing
 * of them is left: no tag, no event. Also on random fabrics, and without memory.
 */
#include "fabric_world.h"

#include <errno.h>

#include "gvm/port.h"

/* A transfer whose memory is overwritten as soon as it has ended. */
struct lost {
	struct fabric_transfer transfer;
	bool *ended;
	int *status;
	u64 *done;
};

#define OVERWRITTEN 0x5a

static void overwrite(struct fabric_transfer *transfer)
{
	struct lost lost = *container_of(transfer, struct lost, transfer);

	ck_assert(!*lost.ended);
	*lost.ended = true;
	*lost.status = transfer->status;
	*lost.done = transfer->done;
	memset(transfer, OVERWRITTEN, sizeof(*transfer));
}

/* Nothing has written to it since. */
static void expect_untouched(const struct lost *lost)
{
	const unsigned char *bytes = (const unsigned char *)&lost->transfer;

	for (size_t i = 0; i < sizeof(lost->transfer); i++)
		ck_assert_uint_eq(bytes[i], OVERWRITTEN);
}

/* No element has a tag in use, a read that waits for one, or a transfer. */
static void expect_idle(void)
{
	for (u32 i = 0; i < fabric.element_count; i++) {
		for (u32 k = 0; k <= FABRIC_ROOTS_MAX; k++) {
			ck_assert_uint_eq(fabric.elements[i].tags[k].used, 0);
			ck_assert_ptr_null(fabric.elements[i].tags[k].first);
		}
		ck_assert_uint_eq(fabric.elements[i].transfers, 0);
	}
	ck_assert(eng_timers_next(&fabric.events) == ENG_NEVER);
	ck_assert(!fabric.timer.set);
}

static struct lending_loan loan;
static u64 buffer, far_buffer;

/* Run one to its end, and 1 ms on. Returns its status. */
static int run_lost(struct fabric_transfer transfer, u64 *ret_done)
{
	bool ended = false;
	int status = 0;
	struct lost lost = { transfer, &ended, &status, ret_done };

	lost.transfer.on_end = overwrite;
	fabric_begin(&fabric, &lost.transfer);
	eng_sleep_until(eng_now() + 1000000);
	ck_assert(ended);
	expect_untouched(&lost);
	expect_idle();
	return status;
}

/* Four threads that think for long: the last answer comes while three of them think. */
static void think_beyond_the_end(void)
{
	struct fabric_transfer read = { .bytes = 1024, .read = true, .tags = 4 };
	u64 done;

	build_b(false);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, GIB / 2, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 0, GIB / 4, &buffer), 0);
	read.from = gpu;
	read.address = buffer;
	read.request_bytes = 128;
	read.think_ps = 500000;
	ck_assert_int_eq(run_lost(read, &done), 0);
	ck_assert_uint_eq(done, 1024);
}

START_TEST(a_read_that_has_ended_does_not_think_on)
{
	simulate(think_beyond_the_end);
}
END_TEST

static void end_half_way(void)
{
	struct fabric_transfer transfer = { .bytes = 4096, .read = true };
	u64 done;

	build_b(false);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, GIB / 2, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 0, GIB / 4, &buffer), 0);
	transfer.from = gpu;
	transfer.address = buffer + GIB / 4 - 1024;
	ck_assert_int_eq(run_lost(transfer, &done), -EFAULT);
	ck_assert_uint_eq(done, 1024);
	transfer.tags = 2;
	transfer.think_ps = 500000;
	ck_assert_int_eq(run_lost(transfer, &done), -EFAULT);
	ck_assert_uint_eq(done, 1024);
	transfer.read = false;
	ck_assert_int_eq(run_lost(transfer, &done), -EFAULT);
	ck_assert_uint_eq(done, 1024);
}

START_TEST(a_transfer_that_fails_half_way_ends_once)
{
	simulate(end_half_way);
}
END_TEST

/*
 * The last write before the end of what is mapped has 200 bytes. The root makes 128 and 72 of
 * them, which take less of a slow cable than the two of 128 that the sender waits for.
 */
static void write_ends_before_its_pace(void)
{
	struct fabric_config quick = world_config;
	struct fabric_transfer write = { .bytes = 4096 };
	u32 hosts[2], ntbs[2], disk;
	u64 address, done;

	quick.switch_ns = quick.root_ns = quick.ntb_ns = quick.memory_ns = quick.store_ns = 0;
	fabric_init(&fabric, &quick);
	for (u32 i = 0; i < 2; i++) {
		hosts[i] = fabric_add_host(&fabric, i ? "b" : "a", GIB, false);
		ntbs[i] = fabric_add_ntb(&fabric, i ? "b.ntb" : "a.ntb",
					 fabric.hosts[hosts[i]].root, 5, 16, GIB, 64);
	}
	disk = fabric_add_device(&fabric, "a.disk", fabric.hosts[hosts[0]].root, 5, 16, 4096);
	fabric_join(&fabric, ntbs[0], ntbs[1], 1, 1);
	ck_assert_int_eq(fabric_ntb_map(&fabric, ntbs[0], GIB - 4096, 4096, &address), 0);
	write.from = disk;
	write.address = address + 4096 - 200;
	ck_assert_int_eq(run_lost(write, &done), -EFAULT);
	ck_assert_uint_eq(done, 200);
}

START_TEST(a_write_that_is_stored_before_its_next_one_is_due_can_fail)
{
	simulate(write_ends_before_its_pace);
}
END_TEST

/* A device's own memory, and a CPU's: no link leads there. */
static void reach_itself(void)
{
	struct fabric_transfer transfer = { .bytes = 64 };
	u64 done;

	build_a(false);
	for (u32 i = 0; i < 4; i++) {
		transfer.from = i / 2 ? gpu : fabric.hosts[lender].root;
		transfer.address = fabric.elements[transfer.from].base;
		transfer.read = i % 2;
		ck_assert_int_eq(run_lost(transfer, &done), -EFAULT);
		ck_assert_uint_eq(done, 0);
	}
}

START_TEST(an_access_to_itself_leads_nowhere)
{
	simulate(reach_itself);
}
END_TEST

static int cancelled_status[2];
static u64 cancelled_done[2];

static void move_until_cancelled(void *data)
{
	u32 number = *(u32 *)data;
	struct fabric_transfer transfer = {
		.from = gpu, .address = buffer, .bytes = GIB / 4, .read = number
	};

	cancelled_status[number] = fabric_do(&fabric, &transfer);
	cancelled_done[number] = transfer.done;
	/* Interrupted before it begins. */
	transfer.bytes = GIB / 4;
	ck_assert_int_eq(fabric_do(&fabric, &transfer), -EINTR);
}

/* A write and a read of 256 MiB would take 37 and 45 ms. */
static void cancel(void)
{
	static u32 numbers[] = { 0, 1 };
	struct eng_actor *actors[2];

	build_b(false);
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, GIB / 2, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 0, GIB / 4, &buffer), 0);
	for (u32 i = 0; i < 2; i++)
		actors[i] = eng_spawn("moves", move_until_cancelled, &numbers[i]);
	eng_sleep_until(1000000);
	for (u32 i = 0; i < 2; i++) {
		eng_interrupt(actors[i]);
		eng_join(actors[i]);
		ck_assert_int_eq(cancelled_status[i], -EINTR);
		ck_assert_uint_gt(cancelled_done[i], MIB);
		ck_assert_uint_lt(cancelled_done[i], GIB / 8);
	}
	ck_assert_uint_lt(eng_now(), 1020000);
	eng_sleep_until(eng_now() + 1000000);
	expect_idle();
}

START_TEST(an_interrupt_cancels_a_transfer)
{
	simulate(cancel);
}
END_TEST

/* Memory. */

static u32 until_failure; /* so many allocations succeed; 0: all do */
static bool fails_on;	  /* and all after it fail, too */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool fails(void)
{
	if (!until_failure || --until_failure)
		return false;
	until_failure = fails_on;
	return true;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}

#define CROWD 6u

/*
 * Reads and writes of two devices by two roots, with more packets and requests than one block
 * has. Returns how many of them failed.
 */
static u32 run_crowd(void)
{
	bool ended[CROWD] = { 0 };
	int status[CROWD] = { 0 };
	u64 done[CROWD] = { 0 };
	struct lost lost[CROWD];
	u32 failed = 0;

	for (u32 i = 0; i < CROWD; i++) {
		lost[i] = (struct lost){
			.transfer = {
				.from = i % 2 ? gpu : far_gpu,
				.address = (i % 2 ? buffer : far_buffer) + i * MIB / 8,
				.bytes = MIB / 8,
				.read = i < 4,
				.tags = i < 2 ? 256 : 0,
				.think_ps = i < 2 ? 1000000 : 0,
				.on_end = overwrite,
			},
			.ended = &ended[i],
			.status = &status[i],
			.done = &done[i],
		};
		fabric_begin(&fabric, &lost[i].transfer);
	}
	eng_sleep_until(eng_now() + 10000000);
	until_failure = 0;
	for (u32 i = 0; i < CROWD; i++) {
		ck_assert(ended[i]);
		expect_untouched(&lost[i]);
		ck_assert(status[i] == 0 || status[i] == -ENOMEM);
		ck_assert(status[i] || done[i] == MIB / 8);
		failed += status[i] != 0;
	}
	expect_idle();
	return failed;
}

static u32 fail_at, last_failed;

static void crowd_without_memory(void)
{
	build_b(true);
	fabric.config.read_tags = 1024;
	fabric.config.root_tags = 1024;
	ck_assert_int_eq(lending_borrow(&fabric, gpu, borrower, false, GIB / 2, &loan), 0);
	ck_assert_int_eq(lending_map_buffer(&loan, 0, GIB / 4, &buffer), 0);
	/* The other one reaches it through its own lender, and the first one's. */
	ck_assert_int_eq(fabric_ntb_map(&fabric, fabric_find(&fabric, "lender-b.ntb-lender"),
					buffer, GIB / 4, &far_buffer),
			 0);
	ck_assert_int_eq(fabric_domain_add(&fabric, far_gpu, far_buffer, GIB / 4), 0);
	until_failure = fail_at;
	last_failed = run_crowd();
	ck_assert_uint_eq(run_crowd(), 0);
}

START_TEST(without_memory_transfers_fail_and_leave_nothing)
{
	for (u32 how = 0; how < 2; how++) {
		fails_on = how;
		last_failed = 1;
		for (fail_at = 1; last_failed; fail_at++)
			simulate(crowd_without_memory);
		ck_assert_uint_gt(fail_at, 20);
	}
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_read_that_has_ended_does_not_think_on);
	tcase_add_test(tests, a_transfer_that_fails_half_way_ends_once);
	tcase_add_test(tests, a_write_that_is_stored_before_its_next_one_is_due_can_fail);
	tcase_add_test(tests, an_access_to_itself_leads_nowhere);
	tcase_add_test(tests, an_interrupt_cancels_a_transfer);
	tcase_add_test(tests, without_memory_transfers_fail_and_leave_nothing);
}

int main(void)
{
	return suite_run("traffic_ends", NULL, NULL, add_tests);
}
