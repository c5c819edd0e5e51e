// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The engine for tests that link without SimGrid: one thread, and time that moves only when
 * that thread sleeps. A wait without a date that nothing can end is a bug of the test, and
 * aborts. A wait with a date moves time to the date and times out. Actors are made but never
 * run: tests call their bodies. Actors come from the port's allocator, so that tests count and
 * fail these allocations, too.
 */
#include "engine_null.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gvm/port.h"

static u64 null_now_ns;
static u64 null_debt_ns;
static bool null_interrupted;

void (*null_body)(void *data);
void *null_body_data;

struct eng_actor {
	bool interrupted;
};

u64 eng_now(void)
{
	return null_now_ns;
}

struct eng_actor *eng_self(void)
{
	return NULL;
}

const void *eng_inherited(void)
{
	return NULL;
}

void *eng_local(void)
{
	static u64 local[ENG_LOCAL_BYTES / sizeof(u64)];

	return local;
}

struct eng_actor *eng_spawn(const char *name, void (*function)(void *data), void *data)
{
	(void)name;
	null_body = function;
	null_body_data = data;
	return gvm_alloc(sizeof(struct eng_actor));
}

void eng_join(struct eng_actor *actor)
{
	gvm_free(actor);
}

void eng_interrupt(struct eng_actor *actor)
{
	actor->interrupted = true;
}

void eng_stop(void)
{
	null_interrupted = true;
}

void (*null_on_give_way)(void);

bool eng_interrupted(void)
{
	if (null_on_give_way)
		null_on_give_way();
	return null_interrupted;
}

void eng_add_debt(u64 ns)
{
	null_debt_ns += ns;
}

u64 eng_now_busy(void)
{
	return null_now_ns + null_debt_ns;
}

void eng_pay_debt(void)
{
	null_now_ns += null_debt_ns;
	null_debt_ns = 0;
}

int eng_sleep_until(u64 date)
{
	eng_pay_debt();
	if (null_now_ns < date)
		null_now_ns = date;
	return null_interrupted ? -EINTR : 0;
}

int eng_wait(struct eng_waitq *waitq, u64 date, bool interruptible)
{
	(void)waitq;
	if (interruptible && null_interrupted)
		return -EINTR;
	if (date == ENG_NEVER) {
		fputs("engine_null: this wait would never end\n", stderr);
		abort();
	}
	eng_sleep_until(date);
	return -ETIMEDOUT;
}

void eng_wake_one(struct eng_waitq *waitq)
{
	(void)waitq;
}

void eng_wake_all(struct eng_waitq *waitq)
{
	(void)waitq;
}
