// SPDX-License-Identifier: MIT OR GPL-2.0
/* The model of NVIDIA's driver in parts: prefetcher and thrashing detection, by hand. */
#include "runner.h"
#include "nvuvm/prefetch.h"
#include "nvuvm/thrash.h"

#define FULL GVM_BLOCK_FULL
#define US   1000ull

/* The prefetcher. */

START_TEST(the_prefetcher_takes_the_largest_subtree_above_51_percent)
{
	static const struct {
		u32 valid, resident, faulted, thrashing, expected;
	} rows[] = {
		/* The sequential walker: 1 of 2 is 50 %, not enough. */
		{ FULL, 0x00000000, 0x00000001, 0, 0x00000001 },
		{ FULL, 0x00000001, 0x00000002, 0, 0x00000002 }, /* 2 of 4: 50 % */
		{ FULL, 0x00000003, 0x00000004, 0, 0x0000000c }, /* 3 of 4; 3 of 8: 37 % */
		{ FULL, 0x0000000f, 0x00000010, 0, 0x000000f0 }, /* 5 of 8: 62 % */
		{ FULL, 0x000000ff, 0x00000100, 0, 0x0000ff00 }, /* 9 of 16: 56 % */
		{ FULL, 0x0000ffff, 0x00010000, 0, 0xffff0000 }, /* 17 of 32: 53 % */
		/* The same from the top down. */
		{ FULL, 0xffff0000, 0x00008000, 0, 0x0000ffff },
		/* 16 of 32 is not enough, nor 2 of 4: the faulted pages alone. */
		{ FULL, 0x00005555, 0x55550000, 0, 0x55550000 },
		/* All pages of 0 to 15 and every second above: 24 of 32 = 75 %. */
		{ FULL, 0x0000ffff, 0x55550000, 0, 0xffff0000 },
		/* 17 faults in one batch have the same result as 17 rounds. */
		{ FULL, 0x00000000, 0x0001ffff, 0, 0xffffffff },
		/* Two regions of one batch: 3 of 4 each, 6 of 32 together. */
		{ FULL, 0x30000003, 0x40000004, 0, 0xc000000c },
		/*
		 * 3 of the first 4 pages bring in page 3. For the region of 8 page 3 does not
		 * count, so it has 4 of 8, which is not enough.
		 */
		{ FULL, 0x00000003, 0x00000014, 0, 0x0000001c },
		/* Resident pages are not brought in again. */
		{ FULL, 0x0000000f, 0x0000000f, 0, 0x00000000 },
		/* A block of 3 pages: 2 of 3 = 66 %. One of 20: 11 of 20 = 55 %. */
		{ 0x00000007, 0x00000001, 0x00000002, 0, 0x00000006 },
		{ 0x000fffff, 0x000003ff, 0x00000400, 0, 0x000ffc00 },
		/* A fault after the end of the block brings in no page. */
		{ 0x00000007, 0x00000000, 0x00000010, 0, 0x00000000 },
		/*
		 * A thrashing page is brought in only by its own fault. It does not count for
		 * the pages around it.
		 */
		{ FULL, 0x00000003, 0x00000004, 0x00000004, 0x00000004 },
		{ FULL, 0x00000003, 0x00000004, 0x00000008, 0x00000004 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_msg(nvuvm_prefetch(rows[i].valid, rows[i].resident, rows[i].faulted,
					     rows[i].thrashing) == rows[i].expected,
			      "row %zu: 0x%08x", i,
			      nvuvm_prefetch(rows[i].valid, rows[i].resident, rows[i].faulted,
					     rows[i].thrashing));
}
END_TEST

/* The prefetcher stated a second time by its definition, over random masks. */
static u32 slow_prefetch(u32 resident, u32 faulted)
{
	u32 wanted = faulted;
	u32 size, first, page;

	for (size = 1; size <= 32; size *= 2)
		for (first = 0; first < 32; first += size) {
			u32 faults = 0, present = 0;

			for (page = first; page < first + size; page++) {
				faults += faulted >> page & 1;
				present += (resident | faulted) >> page & 1;
			}
			if (faults && present * 100 > size * 51)
				for (page = first; page < first + size; page++)
					wanted |= 1u << page;
		}
	return wanted & ~resident;
}

START_TEST(the_prefetcher_is_its_definition_for_random_masks)
{
	u64 state = runner_seed();
	u32 i;

	for (i = 0; i < 100000; i++) {
		u32 resident, faulted;

		state = state * 6364136223846793005ull + 1442695040888963407ull;
		resident = (u32)(state >> 32) & (u32)(state >> (i % 16));
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		faulted = (u32)(state >> 32) & (u32)(state >> (i % 7 + 8)) & ~resident;
		ck_assert_uint_eq(nvuvm_prefetch(FULL, resident, faulted, 0),
				  slow_prefetch(resident, faulted));
	}
}
END_TEST

/* Thrashing. */

static enum nvuvm_processor residency;

static enum nvuvm_hint hint(struct nvuvm_thrash *thrash, enum nvuvm_processor requester,
			    u64 now)
{
	return nvuvm_thrash_hint(thrash, 0, requester, now, &residency);
}

START_TEST(one_processor_alone_never_thrashes)
{
	struct nvuvm_thrash thrash = { 0 };
	u64 i;

	/*
	 * Evictions are no events: this is all that the model sees of a page that comes back
	 * all the time.
	 */
	for (i = 1; i <= 1000; i++) {
		nvuvm_thrash_migrated(&thrash, FULL, NVUVM_GPU, i * 10 * US);
		ck_assert_int_eq(hint(&thrash, NVUVM_GPU, i * 10 * US), NVUVM_HINT_NONE);
	}
	ck_assert_ptr_null(thrash.pages);
	ck_assert_uint_eq(thrash.thrashing, 0);
}
END_TEST

/* Page 0 migrates to and fro every 100 us from @start on, first to the CPU, @count times. */
static u64 ping_pong(struct nvuvm_thrash *thrash, u64 start, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++, start += 100 * US)
		nvuvm_thrash_migrated(thrash, 1, i % 2 ? NVUVM_GPU : NVUVM_CPU, start);
	return start - 100 * US;
}

/*
 * The first migration is the block's. The second goes to the other side: from now on pages are
 * watched, and this is their first. The third to the fifth migrations are events 1 to 3.
 */
START_TEST(a_page_thrashes_at_its_third_event)
{
	struct nvuvm_thrash thrash = { 0 };
	u64 now = ping_pong(&thrash, 1000 * US, 1);

	ck_assert_ptr_null(thrash.pages);
	now = now + 100 * US;
	nvuvm_thrash_migrated(&thrash, 1, NVUVM_GPU, now);
	ck_assert_ptr_nonnull(thrash.pages);
	ck_assert_uint_eq(thrash.pages[0].events, 0);
	nvuvm_thrash_migrated(&thrash, 1, NVUVM_CPU, now + 100 * US);
	nvuvm_thrash_migrated(&thrash, 1, NVUVM_GPU, now + 200 * US);
	ck_assert_uint_eq(thrash.thrashing, 0);
	ck_assert_int_eq(hint(&thrash, NVUVM_CPU, now + 210 * US), NVUVM_HINT_NONE);
	nvuvm_thrash_migrated(&thrash, 1, NVUVM_CPU, now + 300 * US);
	ck_assert_uint_eq(thrash.thrashing, 1);
	nvuvm_thrash_destroy(&thrash);
}
END_TEST

START_TEST(a_lapse_of_500_us_is_the_longest_that_counts)
{
	struct nvuvm_thrash thrash = { 0 };

	nvuvm_thrash_migrated(&thrash, 1, NVUVM_CPU, 1);
	nvuvm_thrash_migrated(&thrash, 1, NVUVM_GPU, 2 + 500 * US);
	ck_assert_ptr_null(thrash.pages);
	nvuvm_thrash_migrated(&thrash, 1, NVUVM_CPU, 2 + 1000 * US);
	ck_assert_ptr_nonnull(thrash.pages);
	nvuvm_thrash_migrated(&thrash, 1, NVUVM_GPU, 2 + 1500 * US);
	ck_assert_uint_eq(thrash.pages[0].events, 1);
	nvuvm_thrash_migrated(&thrash, 1, NVUVM_CPU, 3 + 2000 * US);
	ck_assert_uint_eq(thrash.pages[0].events, 1);
	nvuvm_thrash_destroy(&thrash);
}
END_TEST

/* Page 0 thrashes at the fifth migration, to the CPU, at 1400 us. */
#define THRASHING_NS (1400 * US)

static struct nvuvm_thrash thrashing_block(void)
{
	struct nvuvm_thrash thrash = { 0 };

	ck_assert_uint_eq(ping_pong(&thrash, 1000 * US, 5), THRASHING_NS);
	ck_assert_uint_eq(thrash.thrashing, 1);
	return thrash;
}

/*
 * Periods of 500 us. The first requester is favoured in the first period. In the next it is
 * not, and the other side is, as soon as it asks.
 */
START_TEST(throttling_favours_one_side_at_a_time)
{
	struct nvuvm_thrash thrash = thrashing_block();
	u64 now = THRASHING_NS;

	ck_assert_int_eq(hint(&thrash, NVUVM_GPU, now + 10), NVUVM_HINT_NONE);
	ck_assert_int_eq(hint(&thrash, NVUVM_CPU, now + 20), NVUVM_HINT_THROTTLE);
	ck_assert_uint_eq(thrash.pages[0].throttles, 1);
	/* A second request in the same period changes nothing. */
	ck_assert_int_eq(hint(&thrash, NVUVM_CPU, now + 30), NVUVM_HINT_THROTTLE);
	ck_assert_uint_eq(thrash.pages[0].throttles, 1);
	nvuvm_thrash_migrated(&thrash, 1, NVUVM_GPU, now + 40);
	/*
	 * The period ends at 10 + 500 us. The throttled side asks first after that, and is
	 * favoured.
	 */
	ck_assert_int_eq(hint(&thrash, NVUVM_CPU, now + 9 + 500 * US), NVUVM_HINT_THROTTLE);
	ck_assert_int_eq(hint(&thrash, NVUVM_CPU, now + 10 + 500 * US), NVUVM_HINT_NONE);
	ck_assert_int_eq(hint(&thrash, NVUVM_GPU, now + 20 + 500 * US), NVUVM_HINT_THROTTLE);
	ck_assert_uint_eq(thrash.pages[0].throttles, 2);
	nvuvm_thrash_destroy(&thrash);
}
END_TEST

START_TEST(thrashing_ends_after_a_quiet_lapse)
{
	struct nvuvm_thrash thrash = thrashing_block();
	u64 now = THRASHING_NS + 500 * US + 1;

	ck_assert_int_eq(hint(&thrash, NVUVM_GPU, now), NVUVM_HINT_NONE);
	ck_assert_int_eq(hint(&thrash, NVUVM_CPU, now), NVUVM_HINT_NONE);
	/* A migration after the lapse forgets the page. */
	nvuvm_thrash_migrated(&thrash, 1, NVUVM_GPU, now);
	ck_assert_uint_eq(thrash.thrashing, 0);
	ck_assert_uint_eq(thrash.pages[0].events, 0);
	nvuvm_thrash_destroy(&thrash);
}
END_TEST

/* Let the two sides fight until page 0 is pinned. Returns the date. */
static u64 fight_until_pinned(struct nvuvm_thrash *thrash, u64 now)
{
	u32 turns = 0;

	while (!thrash->pinned && turns++ < 100) {
		enum nvuvm_processor side = turns % 2 ? NVUVM_GPU : NVUVM_CPU;

		now += 250 * US;
		if (hint(thrash, side, now) == NVUVM_HINT_NONE)
			nvuvm_thrash_migrated(thrash, 1, side, now);
	}
	return now;
}

START_TEST(ten_throttlings_pin_and_150_ms_release)
{
	struct nvuvm_thrash thrash = thrashing_block();
	u64 now = fight_until_pinned(&thrash, THRASHING_NS);
	u64 deadline = now + 150000 * US;
	enum nvuvm_processor first = residency;

	ck_assert_uint_eq(thrash.pinned, 1);
	ck_assert_uint_eq(thrash.pages[0].throttles, 0);
	ck_assert_uint_eq(thrash.pages[0].pin_deadline_ns, deadline);
	/*
	 * The page is first pinned to the favoured side. The GPU can reach the host; the CPU
	 * cannot reach the GPU.
	 */
	ck_assert_uint_eq(thrash.pages[0].pinned_to, first);
	ck_assert_uint_eq(first, thrash.pages[0].favoured);
	/* A migration to the side it is pinned to is no event. */
	nvuvm_thrash_migrated(&thrash, 1, first, now);
	/* It is released a little early: the timer's granularity is 20 us. */
	hint(&thrash, first, deadline - 21 * US);
	ck_assert_uint_eq(thrash.pinned, 1);
	ck_assert_int_eq(hint(&thrash, first, deadline - 20 * US), NVUVM_HINT_NONE);
	ck_assert_uint_eq(thrash.pinned, 0);
	ck_assert_uint_eq(thrash.thrashing, 0);
	nvuvm_thrash_destroy(&thrash);
}
END_TEST

/*
 * The page is pinned to the GPU. The CPU cannot map that and waits. In the CPU's period the
 * page goes to the host.
 */
START_TEST(a_pinned_page_ends_where_both_can_reach_it)
{
	struct nvuvm_thrash thrash = thrashing_block();
	struct nvuvm_thrash_page *page = &thrash.pages[0];
	u64 now = THRASHING_NS;

	page->throttles = NVUVM_THRASH_PIN_THRESHOLD;
	ck_assert_int_eq(hint(&thrash, NVUVM_GPU, now + 1), NVUVM_HINT_PIN);
	ck_assert_uint_eq(residency, NVUVM_GPU);
	ck_assert_int_eq(hint(&thrash, NVUVM_CPU, now + 2), NVUVM_HINT_THROTTLE);
	ck_assert_uint_eq(page->throttles, 0);
	ck_assert_int_eq(hint(&thrash, NVUVM_CPU, now + 3 + 500 * US), NVUVM_HINT_PIN);
	ck_assert_uint_eq(residency, NVUVM_CPU);
	ck_assert_int_eq(hint(&thrash, NVUVM_GPU, now + 4 + 500 * US), NVUVM_HINT_PIN);
	ck_assert_uint_eq(residency, NVUVM_CPU);
	nvuvm_thrash_destroy(&thrash);
}
END_TEST

START_TEST(an_epoch_without_thrashing_resets_four_times)
{
	struct nvuvm_thrash thrash = { 0 };
	u64 now = 1000 * US;
	u32 i;

	for (i = 0; i < 6; i++) {
		now = ping_pong(&thrash, now, 6);
		ck_assert_uint_eq(thrash.thrashing, 1);
		/* After exactly a second the epoch is not over. */
		ck_assert_int_eq(hint(&thrash, NVUVM_GPU, now + 1000000 * US), NVUVM_HINT_NONE);
		ck_assert_ptr_nonnull(thrash.pages);
		hint(&thrash, NVUVM_GPU, now + 1000000 * US + 1);
		ck_assert_uint_eq(thrash.resets, min(i + 1, 4u));
		ck_assert(i < 4 ? !thrash.pages : !!thrash.pages);
		now += 1000000 * US + 100 * US;
	}
	nvuvm_thrash_destroy(&thrash);
}
END_TEST

TEST_MAIN("nvuvm parts", the_prefetcher_takes_the_largest_subtree_above_51_percent,
	  the_prefetcher_is_its_definition_for_random_masks, one_processor_alone_never_thrashes,
	  a_page_thrashes_at_its_third_event, a_lapse_of_500_us_is_the_longest_that_counts,
	  throttling_favours_one_side_at_a_time, thrashing_ends_after_a_quiet_lapse,
	  ten_throttlings_pin_and_150_ms_release, a_pinned_page_ends_where_both_can_reach_it,
	  an_epoch_without_thrashing_resets_four_times)
