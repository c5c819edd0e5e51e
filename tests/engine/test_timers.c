// SPDX-License-Identifier: MIT OR GPL-2.0
/* The heap of timers, compared with a list that is searched for the earliest timer. */
#include "engine/timers.h"

#include "engine/port/gvm_common.h"
#include "runner.h"

#define TIMERS 60
#define STEPS  200000

static struct eng_timers heap;
static struct eng_timer timers[TIMERS];
static u64 dates[TIMERS]; /* ENG_NEVER: not set */
static u64 orders[TIMERS];
static u64 next_order;

static u32 earliest(void)
{
	u32 first = 0;

	for (u32 i = 1; i < TIMERS; i++)
		if (dates[i] < dates[first] ||
		    (dates[i] == dates[first] && orders[i] < orders[first]))
			first = i;
	return first;
}

static void set(u32 i, u64 date)
{
	eng_timers_set(&heap, &timers[i], date);
	dates[i] = date;
	orders[i] = next_order++;
}

static void cancel(u32 i)
{
	eng_timers_cancel(&heap, &timers[i]);
	dates[i] = ENG_NEVER;
}

static void pop(u64 now)
{
	u32 first = earliest();
	struct eng_timer *timer = eng_timers_pop_due(&heap, now);
	struct eng_timer *expected = NULL;

	if (dates[first] <= now && dates[first] != ENG_NEVER)
		expected = &timers[first];
	if (timer != expected || (timer && timer->set))
		ck_abort_msg("not the earliest timer, or still set");
	dates[first] = timer ? ENG_NEVER : dates[first];
}

START_TEST(timers_come_out_by_date_and_then_by_the_order_of_setting)
{
	u64 random = runner_seed();
	u64 now = 0;

	for (u32 i = 0; i < TIMERS; i++)
		dates[i] = ENG_NEVER;
	for (u32 step = 0; step < STEPS; step++) {
		u32 i = (u32)(gvm_port_draw(&random) % TIMERS);

		if (eng_timers_next(&heap) != dates[earliest()])
			ck_abort_msg("not the date of the earliest timer");
		switch (gvm_port_draw(&random) % 4) {
		case 0:
		case 1:
			set(i, now + gvm_port_draw(&random) % 20);
			break;
		case 2:
			cancel(i);
			break;
		default:
			pop(now);
			now += gvm_port_draw(&random) % 3;
		}
	}
}
END_TEST

START_TEST(the_empty_heap_has_no_date)
{
	ck_assert_uint_eq(eng_timers_next(&heap), ENG_NEVER);
	ck_assert_ptr_null(eng_timers_pop_due(&heap, ENG_NEVER - 1));
	cancel(0);
	set(0, 5);
	ck_assert_ptr_null(eng_timers_pop_due(&heap, 4));
	ck_assert_ptr_eq(eng_timers_pop_due(&heap, 5), &timers[0]);
	ck_assert_uint_eq(eng_timers_next(&heap), ENG_NEVER);
}
END_TEST

TEST_MAIN("timers", timers_come_out_by_date_and_then_by_the_order_of_setting,
	  the_empty_heap_has_no_date)
