// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Everything at once, at random, for GVM_TEST_STRESS_SECONDS, on hooked nvidia-uvm.
 * Tenants map, fill, verify and migrate memory, and the CPU looks at it. An attacker
 * cuts their limits and protects them, freezes and thaws them, kills them, has RM take
 * memory, and lets the machine sleep. A tenant may die of a limit. Every word that is
 * read must be the word that was stored.
 */
#include "fakegpu_guest.h"
#include "hooked_guest.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRESS_SECONDS 3ul /* unless GVM_TEST_STRESS_SECONDS is set */
#define ROUND_SECONDS  60  /* with one set of modules */
#define TENANTS	       6u
#define RANGES	       3u
#define RANGE_CHUNKS   8u
#define CHUNKS	       24u
#define GPU_CHUNKS     "chunks=24" /* CHUNKS */
#define STREAM	       7000u

/* Of all tenants. */
struct stress_counts {
	volatile uint64_t verified; /* bytes */
	volatile uint64_t wrong;    /* ranges with a wrong word */
};

static struct stress_counts *counts;
static uint32_t lives; /* tenants ever started */

struct stress_range {
	uint64_t va; /* 0: there is none */
	uint64_t bytes;
	uint64_t seed; /* 0: zeros */
};

/* A tenant ends where a limit leaves no room. Any other error is a failure. */
static void judge(int error, const struct stress_range *range)
{
	if (error == EDQUOT || error == ENOMEM || error == EIO)
		_exit(0);
	if (error == EBADMSG)
		__sync_fetch_and_add(&counts->wrong, 1);
	require(error == 0, "range of %llu bytes, seed %llx: %s",
		(unsigned long long)range->bytes, (unsigned long long)range->seed,
		guest_error_name(error));
}

static void verify(int context, const struct stress_range *range)
{
	judge(range->seed ?
		      fakegpu_verify(context, range->va, range->bytes, range->seed, NULL) :
		      fakegpu_verify_zero(context, range->va, range->bytes, NULL),
	      range);
	__sync_fetch_and_add(&counts->verified, range->bytes);
}

/* The CPU reads a page, which takes it off the GPU. */
static void look(const struct stress_range *range, struct dice *dice)
{
	uint64_t at = range->va + roll(dice, range->bytes / PAGE) * PAGE;

	for (uint64_t end = at + PAGE; at < end; at += sizeof(uint64_t))
		if (*(volatile uint64_t *)at !=
		    (range->seed ? gvm_fakegpu_word(range->seed, at) : 0))
			judge(EBADMSG, range);
}

static void map(int context, struct stress_range *range, struct dice *dice)
{
	range->bytes = (1 + roll(dice, RANGE_CHUNKS * CHUNK / PAGE)) * PAGE;
	range->seed = roll(dice, 4) ? 0 : roll(dice, UINT64_MAX) | 1;
	judge(range->seed ?
		      fakegpu_map_on_host(context, range->bytes, range->seed, &range->va) :
		      fakegpu_map(context, range->bytes, &range->va),
	      range);
}

static void stress_life(uint32_t number)
{
	struct dice dice = fakegpu_dice(STREAM + number);
	struct stress_range ranges[RANGES] = { 0 };
	int context = tenant_open(0);

	for (;;) {
		struct stress_range *range = &ranges[roll(&dice, RANGES)];

		if (!range->va) {
			map(context, range, &dice);
			continue;
		}
		switch (roll(&dice, 8)) {
		case 0:
			verify(context, range);
			judge(fakegpu_unmap(context, range->va), range);
			range->va = 0;
			break;
		case 1:
			look(range, &dice);
			break;
		case 2:
			/* Without room for all of it, a part stays behind. */
			hooked_migrate(context, range->va, range->bytes, roll(&dice, 2));
			break;
		case 3 ... 5:
			range->seed = roll(&dice, UINT64_MAX) | 1;
			judge(fakegpu_fill(context, range->va, range->bytes, range->seed),
			      range);
			break;
		default:
			verify(context, range);
		}
	}
}

struct stress_round {
	struct dice dice;
	pid_t pids[TENANTS];
	uint64_t kills, ended, failed, broken;
};

static void start(struct stress_round *round, uint32_t i)
{
	round->pids[i] = tenant_start(stress_life, lives++);
}

/* Whether a process failed: it ended, but not with 0 or by our kill. */
static bool has_failed(pid_t pid, int status)
{
	if (status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		return false;
	guest_log("# process %d ended with status %#x", pid, (unsigned int)status);
	return true;
}

/* Kill a tenant. Returns whether it had failed before. */
static bool kill_tenant(pid_t pid)
{
	int status;

	return kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid || has_failed(pid, status);
}

/* A tenant that has ended gets a successor. */
static void replace_ended(struct stress_round *round)
{
	for (uint32_t i = 0; i < TENANTS; i++) {
		pid_t pid = round->pids[i];
		int status;

		if (waitpid(pid, &status, WNOHANG) != pid)
			continue;
		round->ended++;
		round->failed += has_failed(pid, status);
		start(round, i);
	}
}

/* One attack on a tenant. It may have ended meanwhile, so a write may fail. */
static void attack(struct stress_round *round)
{
	struct dice *dice = &round->dice;
	uint32_t i = (uint32_t)roll(dice, TENANTS);
	pid_t pid = round->pids[i];

	switch (roll(dice, 10)) {
	case 0 ... 2:
		control_set_number(pid, "gmem.limit.high", (2 + roll(dice, 12)) * CHUNK);
		break;
	case 3:
		control_set(pid, "gmem.limit.high", "max");
		control_set_number(pid, "gmem.limit.low", roll(dice, 4) * CHUNK);
		break;
	case 4:
		control_set_number(pid, "hmem.limit", (8 + roll(dice, 24)) * CHUNK);
		break;
	case 5:
		control_set(pid, "compute.freeze", "1");
		sleep_ms((unsigned int)roll(dice, 20));
		control_set(pid, "compute.freeze", "0");
		break;
	case 6:
		control_set_number(pid, "compute.priority", roll(dice, 17));
		break;
	case 7:
		if (roll(dice, 2))
			softgpu_rm_take((1 + roll(dice, 6)) * CHUNK);
		else
			softgpu_rm_take_range(roll(dice, CHUNKS) * CHUNK, CHUNK);
		sleep_ms((unsigned int)roll(dice, 20));
		softgpu_rm_give();
		break;
	case 8:
		round->broken += softgpu_sleep(true) != 0 || softgpu_sleep(false) != 0;
		break;
	default:
		if (roll(dice, 4))
			break;
		round->failed += kill_tenant(pid);
		round->kills++;
		start(round, i);
	}
	round->broken += !gpu_check();
}

static void play_round(uint32_t number, long end)
{
	struct stress_round round = { .dice = fakegpu_dice(STREAM / 2 + number) };
	uint64_t attacks = 0;

	gpu_load(GPU_CHUNKS);
	for (uint32_t i = 0; i < TENANTS; i++)
		start(&round, i);
	for (; guest_seconds() < end; attacks++) {
		attack(&round);
		replace_ended(&round);
		sleep_ms((unsigned int)roll(&round.dice, 10));
	}
	for (uint32_t i = 0; i < TENANTS; i++)
		round.failed += kill_tenant(round.pids[i]);
	guest_check(round.failed == 0 && round.broken == 0,
		    "%llu attacks: %llu tenants failed, the books were broken %llu times",
		    (unsigned long long)attacks, (unsigned long long)round.failed,
		    (unsigned long long)round.broken);
	guest_log("# %llu tenants were killed, %llu ended", (unsigned long long)round.kills,
		  (unsigned long long)round.ended);
	gpu_unload();
}

void test_hooked_stress(void)
{
	long seconds = (long)guest_number("GVM_TEST_STRESS_SECONDS", STRESS_SECONDS);
	long begin = guest_seconds(), end = begin + seconds;

	counts = shared_alloc(sizeof(*counts));
	for (uint32_t i = 0; guest_seconds() < end; i++) {
		long round_end = guest_seconds() + ROUND_SECONDS;

		play_round(i, round_end < end ? round_end : end);
	}
	guest_check(counts->wrong == 0 && counts->verified > 0,
		    "%llu MB were verified, %llu times there was a wrong word",
		    (unsigned long long)counts->verified >> 20,
		    (unsigned long long)counts->wrong);
	guest_log("# %ld seconds of stress", guest_seconds() - begin);
}
