// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Random runs of four containers that need more than the GPU has, with limits that change. Each
 * victim is checked against the promises of limits and protection, and every byte is compared.
 */
#include "gvm/clock.h"
#include "draw.h"
#include "runner.h"
#include "toy_gpu.h"

#define CHUNK GVM_CHUNK_BYTES

enum { SPACES = 4, BLOCKS = 12, STEPS = 20000 };

static u64 random_state;
static struct gvm_container *tenants[SPACES];
static u32 tags[SPACES][BLOCKS * 32];
static struct gvm_container *faulting;
static u64 foreign; /* victims of another container's fault */
static u64 refused;

static u32 draw(u32 below)
{
	return draw_below(&random_state, below);
}

/* Was the owner of a picked chunk protected before the pick? */
static bool was_protected(const struct gvm_container *owner)
{
	return owner->charged_bytes - owner->evicting_bytes < owner->gmem_low_bytes;
}

/* Could a chunk of an unprotected container have gone in place of this one? */
static bool another_could_go(u32 chunk)
{
	for (u32 i = 0; i < toy.device.chunk_count; i++) {
		const struct gvm_chunk *entry = &toy.device.chunks[i];

		if (i != chunk && entry->state == GVM_CHUNK_BOUND &&
		    !entry->owner->is_protected && gvm_block_evictable(&toy.memory, i))
			return true;
	}
	return false;
}

static void judge_victim(u32 chunk)
{
	const struct gvm_container *owner = toy.device.chunks[chunk].owner;
	bool at_limit = (faulting->charged_bytes >> GVM_CHUNK_SHIFT) >=
			faulting->gmem_high_bytes >> GVM_CHUNK_SHIFT;

	ck_assert(!(at_limit && owner != faulting));
	ck_assert(!(was_protected(owner) && owner != faulting && another_could_go(chunk)));
	ck_assert(!(was_protected(owner) && owner != faulting &&
		    faulting->charged_bytes >= faulting->gmem_low_bytes));
	foreign += owner != faulting;
}

/*
 * A refusal is right only if no container has a chunk to give and the asking one is promised
 * none.
 */
static void judge_refusal(void)
{
	ck_assert_uint_eq(faulting->bound_chunks, 0);
	ck_assert_uint_ge(faulting->charged_bytes, faulting->gmem_low_bytes);
	ck_assert(!another_could_go(GVM_NO_CHUNK));
	refused++;
}

static void random_step(void)
{
	u32 who = draw(SPACES), page = draw(BLOCKS * 32), tag;

	faulting = tenants[who];
	switch (draw(20)) {
	case 0:
		gvm_limit_set_low(faulting, draw(10) * CHUNK);
		break;
	case 1:
		gvm_limit_set_high(faulting, (1 + draw(12)) * CHUNK + draw((u32)CHUNK));
		ck_assert_int_eq(gvm_reclaim(faulting), 0);
		break;
	case 2:
		toy_unmap_range(who);
		toy_map_range(who, faulting, BLOCKS * CHUNK, false);
		memset(tags[who], 0, sizeof(tags[who]));
		break;
	case 3 ... 10:
		tag = draw(U32_MAX);
		if (toy_store(who, page, tag))
			tags[who][page] = tag;
		else
			judge_refusal();
		break;
	default:
		if (!toy_load(who, page, tags[who][page]))
			judge_refusal();
	}
}

static void check_promises(void)
{
	u32 i;

	ck_assert_int_eq(gvm_check(&toy.device), 0);
	for (i = 0; i < SPACES; i++)
		ck_assert_uint_le((u64)(tenants[i]->charged_bytes >> GVM_CHUNK_SHIFT) * CHUNK,
				  tenants[i]->gmem_high_bytes);
}

START_TEST(limits_and_protection_hold_in_random_runs)
{
	u32 i, step;

	random_state = runner_seed();
	memset(tags, 0, sizeof(tags));
	toy_init(16);
	toy.on_evict = judge_victim;
	for (i = 0; i < SPACES; i++) {
		tenants[i] = toy_attach(10 + i);
		toy_map_range(i, tenants[i], BLOCKS * CHUNK, false);
	}
	for (step = 0; step < STEPS; step++) {
		random_step();
		check_promises();
	}
	/*
	 * The run was hard enough: containers lost chunks to others, and protection refused
	 * faults.
	 */
	ck_assert_uint_gt(foreign, 100);
	ck_assert_uint_gt(refused, 0);
	for (i = 0; i < SPACES; i++) {
		toy_unmap_range(i);
		gvm_container_detach(tenants[i]);
	}
	toy_destroy();
}
END_TEST

TEST_MAIN("evict random", limits_and_protection_hold_in_random_runs)
