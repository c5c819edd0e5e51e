// SPDX-License-Identifier: MIT OR GPL-2.0
/* Waking the worker up from code that it calls itself. */
#include "shim.h"

static _Atomic bool closing;
static _Atomic bool idle = true; /* before it starts, too */
static _Atomic bool lost;
static void (*wake)(void);

bool shim_closing(void)
{
	return closing;
}

void shim_close_begins(void)
{
	closing = true;
}

void shim_set_waker(void (*waker)(void))
{
	wake = waker;
}

void shim_set_idle(bool now_idle)
{
	idle = now_idle;
}

bool shim_lost(void)
{
	return lost;
}

bool shim_set_lost(bool now_lost)
{
	return atomic_exchange(&lost, now_lost);
}

void shim_wake(void)
{
	if (!closing && wake)
		wake();
}

void shim_wake_if_idle(void)
{
	if (idle)
		shim_wake();
}
