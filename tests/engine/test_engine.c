// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The engine: order of equal dates, waits, interruption, debt, deadlock, and its fibres. Built
 * three times: alone, with the node under SimGrid (TEST_UNDER_SIMGRID), and with sanitizers.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"
#include "runner.h"

#define TEST_ADDRESS 1
#define TEST_THREAD  2
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif
#ifndef TEST_UNDER_SIMGRID
#define TEST_UNDER_SIMGRID 0
#endif

static void engine_init(void)
{
	ck_assert_int_eq(eng_init(), 0);
	if (TEST_UNDER_SIMGRID)
		ck_assert_int_eq(eng_use_simgrid(), 0);
}

static char order[64];
static size_t order_length;

static void note(char what)
{
	order[order_length++] = what;
}

static void fire_a(struct eng_timer *timer)
{
	(void)timer;
	note('a');
}

static void fire_b(struct eng_timer *timer)
{
	(void)timer;
	note('b');
}

static void fire_c(struct eng_timer *timer)
{
	(void)timer;
	note('c');
}

static void sleep_1s(void *data)
{
	(void)data;
	ck_assert_int_eq(eng_sleep_until(1000000000), 0);
}

START_TEST(equal_dates_fire_in_the_order_in_which_they_were_set)
{
	static struct eng_timer a = { .fire = fire_a };
	static struct eng_timer b = { .fire = fire_b };
	static struct eng_timer c = { .fire = fire_c };

	engine_init();
	eng_timer_set(&a, 5);
	eng_timer_set(&b, 7);
	eng_timer_set(&c, 5);
	eng_timer_set(&b, 5); /* set again: now after c */
	eng_spawn("sleeper", sleep_1s, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(order, "acb");
	ck_assert_uint_eq(eng_now(), 1000000000);
}
END_TEST

static void sleep_to(void *data)
{
	const u64 *date = data;

	eng_sleep_until(*date);
	note(eng_actor_name(eng_self())[0]);
}

START_TEST(sleepers_of_one_date_wake_in_the_order_in_which_they_went_to_sleep)
{
	static const u64 date = 123456789;
	char name[2] = "1";

	engine_init();
	for (int i = 0; i < 5; i++, name[0]++)
		eng_spawn(name, sleep_to, (void *)&date);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(order, "12345");
	ck_assert_uint_eq(eng_now(), date);
}
END_TEST

static void many_odd_sleeps(void *data)
{
	u64 date = 0;

	(void)data;
	for (int i = 0; i < 20000; i++) {
		date += (u64)(1 + i % 7) * 100003 + 1;
		ck_assert_int_eq(eng_sleep_until(date), 0);
		ck_assert_uint_eq(eng_now(), date);
	}
}

START_TEST(dates_stay_exact_to_the_nanosecond_over_many_sleeps)
{
	engine_init();
	eng_spawn("sleeper", many_odd_sleeps, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 100), ENG_END_DONE);
}
END_TEST

static struct eng_waitq waitq;

static void waiter(void *data)
{
	const u64 *date = data;

	note(eng_wait(&waitq, *date, true) == -ETIMEDOUT ? 't' : 'w');
}

static void waker(void *data)
{
	(void)data;
	eng_sleep_until(100);
	eng_wake_one(&waitq);
	eng_sleep_until(200);
	eng_wake_all(&waitq);
}

START_TEST(waits_end_by_wake_or_by_date_and_wakes_are_in_order)
{
	static const u64 soon = 50, never = ENG_NEVER;

	engine_init();
	eng_spawn("soon", waiter, (void *)&soon);
	eng_spawn("one", waiter, (void *)&never);
	eng_spawn("two", waiter, (void *)&never);
	eng_spawn("waker", waker, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(order, "tww");
	ck_assert_uint_eq(eng_now(), 200);
}
END_TEST

static void interruptible(void *data)
{
	(void)data;
	ck_assert_int_eq(eng_sleep_until(ENG_NEVER), -EINTR);
	ck_assert_int_eq(eng_wait(&waitq, ENG_NEVER, true), -EINTR);
	ck_assert(eng_interrupted());
	note('i');
}

static void interrupter(void *data)
{
	struct eng_actor *victim = data;

	eng_sleep_until(10);
	eng_interrupt(victim);
	eng_join(victim);
	note('j');
}

START_TEST(interruption_ends_this_wait_and_all_later_ones)
{
	struct eng_actor *victim;

	engine_init();
	victim = eng_spawn("victim", interruptible, NULL);
	eng_spawn("interrupter", interrupter, victim);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(order, "ij");
	ck_assert_uint_eq(eng_now(), 10);
}
END_TEST

static void indebted(void *data)
{
	(void)data;
	eng_add_debt(30);
	eng_add_debt(12);
	ck_assert_uint_eq(eng_now(), 0);
	ck_assert_uint_eq(eng_now_busy(), 42);
	eng_pay_debt();
	ck_assert_uint_eq(eng_now(), 42);
	eng_add_debt(8);
	/* A wait with a debt only pays the debt. The caller checks its condition again. */
	ck_assert_int_eq(eng_wait(&waitq, ENG_NEVER, true), 0);
	ck_assert_uint_eq(eng_now(), 50);
}

START_TEST(debt_is_paid_in_one_sleep_before_others_can_see_an_effect)
{
	engine_init();
	eng_spawn("indebted", indebted, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_uint_eq(eng_events(), 2);
}
END_TEST

static void wait_for_ever(void *data)
{
	(void)data;
	eng_wait(&waitq, ENG_NEVER, false);
}

START_TEST(a_deadlock_is_told_and_not_taken_for_an_end)
{
	engine_init();
	eng_spawn("stuck", wait_for_ever, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DEADLOCK);
}
END_TEST

static void note_and_wait(void *data)
{
	const char *name = data;

	note(name[0]);
	eng_wait(&waitq, ENG_NEVER, false);
	note(name[1]);
}

static void wake_all_and_note(void *data)
{
	struct eng_actor *actors[3];

	(void)data;
	actors[0] = eng_spawn("a", note_and_wait, "aA");
	actors[1] = eng_spawn("b", note_and_wait, "bB");
	actors[2] = eng_spawn("c", note_and_wait, "cC");
	note('1');
	eng_sleep_until(10);
	eng_wake_one(&waitq);
	eng_wake_all(&waitq);
	note('2');
	for (int i = 0; i < 3; i++)
		eng_join(actors[i]);
	note('3');
}

START_TEST(started_and_woken_actors_run_in_order_once_the_running_one_blocks)
{
	engine_init();
	eng_spawn("waker", wake_all_and_note, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(order, "1abc2ABC3");
}
END_TEST

/*
 * An actor wakes its waker and then starts a new actor. The waker runs before the new actor
 * does.
 */
static struct eng_waitq pings, pongs;

static void ping(void *data)
{
	static const u64 late = 7;

	(void)data;
	eng_wait(&pings, ENG_NEVER, false);
	note('p');
	eng_wake_all(&pongs);
	eng_spawn("late", sleep_to, (void *)&late);
}

static void pong(void *data)
{
	(void)data;
	eng_sleep_until(5);
	eng_wake_all(&pings);
	eng_wait(&pongs, ENG_NEVER, false);
	note('q');
}

START_TEST(who_wakes_its_waker_lets_it_run_next)
{
	engine_init();
	eng_spawn("ping", ping, NULL);
	eng_spawn("pong", pong, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	ck_assert_str_eq(order, "pql");
}
END_TEST

#define SHORT_LIVES 2000

static void use_stack(void *data)
{
	static char expected[16384];
	char bytes[sizeof(expected)];
	uintptr_t *ret_stack = data;

	memset(bytes, 0x5a, sizeof(bytes));
	memset(expected, 0x5a, sizeof(expected));
	eng_sleep_until(eng_now() + 1);
	if (memcmp(bytes, expected, sizeof(bytes)) != 0)
		ck_abort_msg("another actor wrote to this stack");
	*ret_stack = (uintptr_t)bytes;
}

static void spawn_one_after_another(void *data)
{
	static uintptr_t stacks[SHORT_LIVES];

	(void)data;
	for (int i = 0; i < SHORT_LIVES; i++) {
		eng_join(eng_spawn("short", use_stack, &stacks[i]));
		if (stacks[i] != stacks[0])
			ck_abort_msg("actor %d did not get the first actor's stack", i);
	}
}

START_TEST(stacks_of_actors_that_returned_are_used_again)
{
	if (TEST_SANITIZED) /* a sanitizer puts locals on fake stacks */
		return;
	engine_init();
	eng_spawn("spawner", spawn_one_after_another, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
}
END_TEST

#define MANY 1000

static void spawn_many(void *data)
{
	static struct eng_actor *actors[MANY];
	static uintptr_t stacks[MANY];

	(void)data;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++) {
			actors[i] = eng_spawn("many", use_stack, &stacks[i]);
			if (!actors[i])
				ck_abort_msg("no memory");
		}
		for (int i = 0; i < MANY; i++)
			eng_join(actors[i]);
	}
	ck_assert_uint_eq(eng_now(), 3);
}

START_TEST(many_actors_live_at_once_and_keep_to_their_stacks)
{
	engine_init();
	eng_spawn("spawner", spawn_many, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
}
END_TEST

/* The call is no tail call, so each level has a stack frame. */
static int descend(int depth)
{
	volatile char frame[512];

	frame[0] = (char)depth;
	return depth == 0 ? frame[0] : descend(depth - 1) + frame[0];
}

static void use_too_much_stack(void *data)
{
	(void)data;
	eng_sleep_until(1);
	descend(1 << 20);
}

/*
 * Run the engine with one actor in a child process. Returns the child's wait status, and in
 * @text its standard error.
 */
static int run_in_child(void (*function)(void *data), char *text, size_t bytes)
{
	int ends[2];
	int status;
	size_t length = 0;
	ssize_t got;
	pid_t child;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		engine_init();
		eng_spawn("greedy", function, NULL);
		_exit(eng_run(NULL, NULL, 1) == ENG_END_DONE ? 0 : 1);
	}
	close(ends[1]);
	while (length < bytes - 1 &&
	       (got = read(ends[0], text + length, bytes - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	close(ends[0]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

START_TEST(a_full_stack_ends_the_program_and_says_whose)
{
	char text[65536];
	int status = run_in_child(use_too_much_stack, text, sizeof(text));

	if (TEST_SANITIZED == TEST_ADDRESS)
		ck_assert_ptr_nonnull(strstr(text, "stack-overflow"));
	if (TEST_SANITIZED)
		return;
	ck_assert_str_eq(text, "gvmsim: broken invariant: the stack of 'greedy' is full\n");
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}
END_TEST

static void access_nothing(void *data)
{
	static volatile char *volatile nothing;

	(void)data;
	eng_sleep_until(1);
	*nothing = 1;
}

START_TEST(another_bad_access_is_not_taken_for_a_full_stack)
{
	char text[65536];
	int status = run_in_child(access_nothing, text, sizeof(text));

	if (TEST_SANITIZED)
		return;
	ck_assert_str_eq(text, "");
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}
END_TEST

START_TEST(without_memory_for_a_stack_there_is_no_actor)
{
	struct rlimit limit, nothing_more;
	struct eng_actor *actor;

	if (TEST_SANITIZED)
		return;
	engine_init();
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
	nothing_more = limit;
	nothing_more.rlim_cur = 1;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &nothing_more), 0);
	actor = eng_spawn("none", sleep_1s, NULL);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	ck_assert_ptr_null(actor);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
}
END_TEST

static void fire_again(struct eng_timer *timer)
{
	eng_timer_set(timer, eng_now());
}

static void stop_in_poll(void *data)
{
	u32 *polls = data;

	if (++*polls == 3)
		eng_stop();
}

static void sleep_until_stopped(void *data)
{
	struct eng_timer *timer = data;

	ck_assert_int_eq(eng_sleep_until(ENG_NEVER), -EINTR);
	eng_timer_cancel(timer);
}

START_TEST(the_poll_can_stop_a_run_whose_date_does_not_move)
{
	static struct eng_timer timer = { .fire = fire_again };
	u32 polls = 0;

	engine_init();
	eng_timer_set(&timer, 4);
	eng_spawn("sleeper", sleep_until_stopped, &timer);
	ck_assert_int_eq(eng_run(stop_in_poll, &polls, 10), ENG_END_DONE);
	ck_assert_uint_eq(polls, 3);
	ck_assert_uint_eq(eng_events(), 30);
	ck_assert_uint_eq(eng_now(), 4);
}
END_TEST

TEST_MAIN("engine", equal_dates_fire_in_the_order_in_which_they_were_set,
	  sleepers_of_one_date_wake_in_the_order_in_which_they_went_to_sleep,
	  dates_stay_exact_to_the_nanosecond_over_many_sleeps,
	  waits_end_by_wake_or_by_date_and_wakes_are_in_order,
	  interruption_ends_this_wait_and_all_later_ones,
	  debt_is_paid_in_one_sleep_before_others_can_see_an_effect,
	  a_deadlock_is_told_and_not_taken_for_an_end,
	  started_and_woken_actors_run_in_order_once_the_running_one_blocks,
	  who_wakes_its_waker_lets_it_run_next, stacks_of_actors_that_returned_are_used_again,
	  many_actors_live_at_once_and_keep_to_their_stacks,
	  a_full_stack_ends_the_program_and_says_whose,
	  another_bad_access_is_not_taken_for_a_full_stack,
	  without_memory_for_a_stack_there_is_no_actor,
	  the_poll_can_stop_a_run_whose_date_does_not_move)
