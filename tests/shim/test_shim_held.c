// SPDX-License-Identifier: MIT OR GPL-2.0
/* Addresses that stay with a thread while they are unmapped and mapped again: held.c by itself. */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "shim.h"
#include "suite.h"

#define BYTES (8ul << 20)

extern unsigned long held_next_maps, held_next_unmaps;

static void *map_at(void *start, size_t bytes, int flags)
{
	return mmap(start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static char *map_some(void)
{
	char *some = map_at(NULL, BYTES, 0);

	ck_assert_ptr_ne(some, MAP_FAILED);
	return some;
}

/* Another thread cannot have a page there. */
static void *cannot_take(void *start)
{
	for (size_t at = 0; at < BYTES; at += BYTES / 4) {
		ck_assert_ptr_eq(map_at((char *)start + at, 4096, MAP_FIXED_NOREPLACE),
				 MAP_FAILED);
		ck_assert_int_eq(errno, EEXIST);
	}
	return NULL;
}

/* Not in another thread: its stack may lie there. */
static void can_take(void *start)
{
	char *page = map_at(start, 4096, MAP_FIXED_NOREPLACE);

	ck_assert_ptr_eq(page, start);
	ck_assert_int_eq(munmap(page, 4096), 0);
}

static void in_another_thread(void *(*what)(void *start), void *start)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, what, start), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void hold(const char *start)
{
	held_begin((u64)(uintptr_t)start, BYTES);
}

START_TEST(what_is_unmapped_is_free_for_nobody_and_comes_back)
{
	char *some = map_some();

	hold(some);
	errno = 7;
	ck_assert_int_eq(munmap(some, BYTES), 0);
	ck_assert_int_eq(errno, 7);
	in_another_thread(cannot_take, some);
	ck_assert_ptr_eq(map_at(some, BYTES, 0), some);
	ck_assert_int_eq(errno, 7);
	ck_assert_int_eq(held_end(), HELD_TAKEN);
	in_another_thread(cannot_take, some);
	ck_assert_int_eq(munmap(some, BYTES), 0);
	can_take(some);
}
END_TEST

/* As a driver would that fails to reserve it. */
START_TEST(what_is_not_taken_is_free_behind_the_hold)
{
	char *some = map_some();

	for (int taken = 0; taken < 2; taken++) {
		hold(some);
		ck_assert_int_eq(munmap(some, BYTES), 0);
		if (taken) {
			ck_assert_ptr_eq(map_at(some, BYTES, 0), some);
			ck_assert_int_eq(munmap(some, BYTES), 0);
		}
		in_another_thread(cannot_take, some);
		ck_assert_int_eq(held_end(), HELD_KEPT);
		can_take(some);
		ck_assert_ptr_eq(map_at(some, BYTES, MAP_FIXED_NOREPLACE), some);
	}
}
END_TEST

START_TEST(it_may_be_unmapped_in_pieces)
{
	char *some = map_some();

	hold(some);
	ck_assert_int_eq(munmap(some + BYTES / 4, BYTES / 2), 0);
	ck_assert_int_eq(munmap(some, BYTES / 4), 0);
	/* It is not all held yet. */
	ck_assert_ptr_ne(map_at(some, BYTES, 0), some);
	ck_assert_int_eq(munmap(some + BYTES / 4 * 3, BYTES / 4), 0);
	in_another_thread(cannot_take, some);
	/* A part is not what was asked for. */
	ck_assert_ptr_ne(map_at(some, BYTES / 2, 0), some);
	ck_assert_ptr_eq(map_at(some, BYTES, 0), some);
	ck_assert_int_eq(held_end(), HELD_TAKEN);
}
END_TEST

/* What the driver does not unmap here is its own: it stays as it is. */
START_TEST(what_was_not_unmapped_is_said_and_not_touched)
{
	char *some = map_some();

	hold(some);
	ck_assert_ptr_eq(mmap(some, BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 some);
	memset(some, 5, BYTES);
	ck_assert_ptr_ne(map_at(some, BYTES, 0), some);
	ck_assert_int_eq(held_end(), HELD_UNSEEN);
	ck_assert_int_eq(some[0], 5);
	ck_assert_int_eq(some[BYTES - 1], 5);
	hold(some);
	ck_assert_int_eq(munmap(some, BYTES / 2), 0);
	ck_assert_int_eq(held_end(), HELD_UNSEEN);
	ck_assert_int_eq(some[BYTES / 2], 5);
}
END_TEST

START_TEST(other_ranges_are_not_held)
{
	char *low = map_at(NULL, 3 * BYTES, 0), *some = low + BYTES, *high = some + BYTES;

	hold(some);
	ck_assert_int_eq(munmap(low, BYTES), 0);
	ck_assert_int_eq(munmap(high, BYTES), 0);
	can_take(low);
	can_take(high);
	/* A range that is longer than the held one is not in it. */
	ck_assert_ptr_eq(map_at(high, BYTES, MAP_FIXED_NOREPLACE), high);
	ck_assert_int_eq(munmap(some, 2 * BYTES), 0);
	can_take(some);
	ck_assert_int_eq(held_end(), HELD_UNSEEN);
}
END_TEST

START_TEST(wrong_calls_fail_as_they_do_without_it)
{
	char *some = map_some();

	for (int held = 0; held < 2; held++) {
		if (held)
			hold(some);
		ck_assert_int_eq(munmap(some, 0), -1);
		ck_assert_int_eq(errno, EINVAL);
		errno = 0;
		ck_assert_int_eq(munmap(some + 1, 4096), -1);
		ck_assert_int_eq(errno, EINVAL);
		errno = 0;
		ck_assert_ptr_eq(map_at(some, 0, 0), MAP_FAILED);
		ck_assert_int_eq(errno, EINVAL);
		errno = 0;
	}
	ck_assert_int_eq(held_end(), HELD_UNSEEN);
}
END_TEST

/* A sanitizer, or an allocator, sees what it would see without us. */
START_TEST(calls_go_on_to_the_next_library)
{
	unsigned long maps = held_next_maps, unmaps = held_next_unmaps;
	char *some = map_some();

	/* Before the constructor they are system calls. */
	ck_assert_uint_eq(held_next_maps, maps);
	held_init();
	some = map_some();
	ck_assert_ptr_eq(mmap64(some, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
				-1, 0),
			 some);
	ck_assert_uint_eq(held_next_maps, maps + 2);
	ck_assert_int_eq(munmap(some, BYTES), 0);
	ck_assert_uint_eq(held_next_unmaps, unmaps + 1);
	some = map_some();
	hold(some);
	munmap(some, BYTES);
	map_at(some, BYTES, 0);
	ck_assert_int_eq(held_end(), HELD_TAKEN);
	ck_assert_uint_eq(held_next_maps, maps + 5);
	ck_assert_uint_eq(held_next_unmaps, unmaps + 1);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, what_is_unmapped_is_free_for_nobody_and_comes_back);
	tcase_add_test(tests, what_is_not_taken_is_free_behind_the_hold);
	tcase_add_test(tests, it_may_be_unmapped_in_pieces);
	tcase_add_test(tests, what_was_not_unmapped_is_said_and_not_touched);
	tcase_add_test(tests, other_ranges_are_not_held);
	tcase_add_test(tests, wrong_calls_fail_as_they_do_without_it);
	tcase_add_test(tests, calls_go_on_to_the_next_library);
}

int main(void)
{
	return suite_run("shim_held", NULL, NULL, add_tests);
}
