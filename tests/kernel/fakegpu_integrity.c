// SPDX-License-Identifier: MIT OR GPL-2.0
/* Data stored in managed memory reads back, wherever the memory has been meanwhile. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakegpu_guest.h"
#include "gvm_ioctl.h"

#define RANDOM_CHUNKS 36u /* one and a half times the device */
#define RANDOM_PAGES  (RANDOM_CHUNKS * 32u)
#define RANDOM_STEPS  gpu_times(200)

/* The smallest case: blocks are touched, evicted by a limit, and touched again. */
static void one_block(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, 4 * CHUNK);
	struct gvm_pressure_record event;
	uint64_t words[32];
	int listener = tenant_listen();
	long long fixed = control_get(getpid(), "gmem.current");

	require(fakegpu_fill(context, va, 4 * CHUNK, index + 1) == 0, "fill");
	require(control_get(getpid(), "gmem.current") == fixed + (long long)(4 * CHUNK),
		"four chunks are charged");
	require(control_set(getpid(), "gmem.limit.high", "0") == 0, "limit");
	require(read(listener, &event, sizeof(event)) == sizeof(event) &&
			event.target_bytes == 4 * CHUNK + (uint64_t)fixed,
		"it was told that all of it goes");
	require(control_get(getpid(), "gmem.current") == fixed, "nothing is left on the GPU");
	require(control_get(getpid(), "gmem.swap.current") == (long long)(4 * CHUNK),
		"all of it is in host memory");
	require(control_set(getpid(), "gmem.limit.high", "max") == 0, "limit");
	require(fakegpu_load(context, va + CHUNK, words, sizeof(words)) == 0, "load");
	for (uint32_t i = 0; i < 32; i++)
		require(words[i] == gvm_fakegpu_word(index + 1, va + CHUNK + 8 * i), "word");
	require(fakegpu_verify(context, va, 4 * CHUNK, index + 1, NULL) == 0, "verify");
	require(fakegpu_verify(context, va, 4 * CHUNK, index + 2, NULL) == EBADMSG,
		"another pattern is told apart");
	require(control_get(getpid(), "gmem.swap.current") == 0, "all of it is back");
	fakegpu_close(context);
}

/* The contents of each page of the random test: a pattern, or zeros. */
struct page_state {
	uint64_t seed; /* 0: zeros */
};

static void expect_page(int context, uint64_t va, const struct page_state *state)
{
	uint64_t first;
	int error = state->seed ? fakegpu_verify(context, va, PAGE, state->seed, &first) :
				  fakegpu_verify_zero(context, va, PAGE, &first);

	require(error == 0, "page at %llx, seed %llx, wrong at %llx: %s",
		(unsigned long long)va, (unsigned long long)state->seed,
		(unsigned long long)first, guest_error_name(error));
}

/* Store a new pattern in a run of pages, in any order. */
static void store_pages(int context, uint64_t va, struct page_state *pages, struct dice *dice)
{
	uint32_t first = (uint32_t)roll(dice, RANDOM_PAGES);
	uint32_t count = 1 + (uint32_t)roll(dice, 48);
	struct gvm_fakegpu_launch launch = {
		.seed = roll(dice, UINT64_MAX) | 1,
		.op = GVM_FAKEGPU_FILL,
		.order = (uint32_t)roll(dice, GVM_FAKEGPU_ORDERS),
		.stride_pages = 1 + (uint32_t)roll(dice, 3),
	};
	int error;

	if (count > RANDOM_PAGES - first)
		count = RANDOM_PAGES - first;
	launch.va = va + first * PAGE;
	launch.bytes = count * PAGE;
	error = fakegpu_launch(context, &launch);
	require(error == 0, "fill: %s", guest_error_name(error));
	for (uint32_t i = 0; i < count; i += launch.stride_pages)
		pages[first + i].seed = launch.seed;
}

static void discard_pages(int context, uint64_t va, struct page_state *pages, struct dice *dice)
{
	uint32_t first = (uint32_t)roll(dice, RANDOM_PAGES - 4);

	if (!gpu_can(GPU_DISCARDS))
		return;
	require(fakegpu_discard(context, va + first * PAGE, 4 * PAGE) == 0, "discard");
	memset(&pages[first], 0, 4 * sizeof(*pages));
}

/*
 * Bytes of the user's own, anywhere in the range. They are read back at once, then overwritten
 * by patterns.
 */
static void move_bytes(int context, uint64_t va, struct page_state *pages, struct dice *dice)
{
	uint64_t offset = 8 * roll(dice, (RANDOM_PAGES - 4) * PAGE / 8);
	uint64_t words[64], back[64];

	for (uint32_t i = 0; i < 64; i++)
		words[i] = roll(dice, UINT64_MAX);
	require(fakegpu_store(context, va + offset, words, sizeof(words)) == 0, "store");
	require(fakegpu_load(context, va + offset, back, sizeof(back)) == 0, "load");
	require(memcmp(words, back, sizeof(words)) == 0, "bytes came back");
	for (uint64_t page = offset / PAGE; page <= (offset + sizeof(words) - 1) / PAGE;
	     page++) {
		uint64_t seed = roll(dice, UINT64_MAX) | 1;

		require(fakegpu_fill(context, va + page * PAGE, PAGE, seed) == 0, "fill");
		pages[page].seed = seed;
	}
}

/* Launches over more memory than the device has, in a range that the CPU wrote first (F4). */
static void random_launches(uint32_t index)
{
	struct dice dice = fakegpu_dice(100 + index);
	uint64_t seed = roll(&dice, UINT64_MAX) | 1, va;
	struct page_state *pages = calloc(RANDOM_PAGES, sizeof(*pages));
	int context = tenant_open(0);

	require(fakegpu_map_on_host(context, RANDOM_CHUNKS * CHUNK, seed, &va) == 0, "map");
	for (uint32_t i = 0; i < RANDOM_PAGES; i++)
		pages[i].seed = seed;
	for (uint32_t i = 0; i < RANDOM_STEPS; i++) {
		uint32_t page = (uint32_t)roll(&dice, RANDOM_PAGES);

		switch (roll(&dice, 8)) {
		case 0:
			discard_pages(context, va, pages, &dice);
			break;
		case 1:
			move_bytes(context, va, pages, &dice);
			break;
		case 2 ... 4:
			store_pages(context, va, pages, &dice);
			break;
		default:
			expect_page(context, va + page * PAGE, &pages[page]);
		}
	}
	for (uint32_t i = 0; i < RANDOM_PAGES; i++)
		expect_page(context, va + i * PAGE, &pages[i]);
	require(fakegpu_unmap(context, va) == 0, "unmap");
	fakegpu_close(context);
}

void test_integrity(void)
{
	struct gvm_fakegpu_info info;

	gpu_load("chunks=24");
	guest_check(tenants_run(one_block, 1) == 1, "memory that a limit evicts comes back");
	guest_check(tenants_run(random_launches, 1) == 1,
		    "every page of one and a half times the device is as it was stored");
	info = gpu_info();
	guest_check(info.bytes_out > gpu_times(24) * CHUNK, "%llu MB went out meanwhile",
		    info.bytes_out >> 20);
	gpu_unload();
	if (!gpu_can(GPU_HAS_FEATURES))
		return;

	/* The same with clean drop, hint faults and priority batches. */
	gpu_load("chunks=24 features=7 sms=1");
	guest_check(tenants_run(random_launches, 2) == 2,
		    "every page is as it was stored, with ideas beyond the papers on");
	gpu_unload();
}
