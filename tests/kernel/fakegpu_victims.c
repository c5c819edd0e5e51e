// SPDX-License-Identifier: MIT OR GPL-2.0
/* When the copy of a victim fails, another victim goes. No TSG dies while there is another. */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define OTHER_CHUNKS 7u
#define TAKER_CHUNKS 12u /* more than the GPU has */
#define ROUNDS	     20u

/* Relative to debugfs. */
#define FAIL_OUTS "../../module/gvm_fakegpu/parameters/fail_outs"

static volatile bool *step;

/* It fills most of the GPU, and checks all of it at the end. */
static void give(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, OTHER_CHUNKS * CHUNK);

	(void)index;
	require(fakegpu_fill(context, va, OTHER_CHUNKS * CHUNK, 4) == 0, "fill");
	step[0] = true;
	while (!step[1])
		sleep_ms(5);
	require(fakegpu_verify(context, va, OTHER_CHUNKS * CHUNK, 4, NULL) == 0, "verify");
	close(context);
}

/* It needs a victim for each of its chunks, while every second copy to the host fails. */
static void take(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, TAKER_CHUNKS * CHUNK);
	int error;

	(void)index;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		error = fakegpu_fill(context, va, TAKER_CHUNKS * CHUNK, i);
		require(error == 0, "round %u: %s", i, guest_error_name(error));
	}
	require(event_count(getpid(), "oom ") == 0, "oom %lu", event_count(getpid(), "oom "));
	/* Now every copy fails, and this TSG dies, once. */
	require(guest_write(FAIL_OUTS, "1") == 0, "write");
	error = fakegpu_fill(context, va, TAKER_CHUNKS * CHUNK, 1);
	require(error == EIO, "no victim goes: %s", guest_error_name(error));
	require(event_count(getpid(), "oom ") == 1, "oom %lu", event_count(getpid(), "oom "));
	require(guest_write(FAIL_OUTS, "0") == 0, "write");
	close(context);
}

void test_victims(void)
{
	pid_t other;

	step = shared_alloc(2);
	gpu_load("chunks=11 fail_outs=2");
	other = tenant_start(give, 0);
	for (uint32_t i = 0; i < STEP_TRIES && !step[0]; i++)
		sleep_ms(5);
	guest_check(tenants_run(take, 1) == 1,
		    "a TSG lives as long as one of many victims can be copied out");
	step[1] = true;
	guest_check(tenant_finish(other), "no byte of the victims was lost");
	gpu_unload();
}
