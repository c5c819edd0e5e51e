// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The partition table and its two allocators: what a mode gets, what is refused, and that
 * nothing overlaps or is lost under random use.
 */
#include "runner.h"
#include "draw.h"
#include "gvm/fence_table.h"

#define GIB (1ull << 30)

/* A device of 16 GB, at an address like that of Guardian 4.3. */
#define DEVICE_BASE  0x7f8000000000ull
#define DEVICE_BYTES (16 * GIB)

static struct gvm_fence_table table;

static void table_of(bool any_size, u64 bytes, u64 granule, u32 tenants)
{
	struct gvm_fence_table_config config = {
		.base = DEVICE_BASE,
		.bytes = bytes,
		.granule = granule,
		.margin = 8ull << 20,
		.tenants = tenants,
		.allocations = 64,
		.any_size = any_size,
	};

	ck_assert_int_eq(gvm_fence_table_init(&table, &config), 0);
}

static const struct gvm_address_fence *open_ok(u64 tenant, u64 bytes, enum gvm_fence_mode mode)
{
	struct gvm_fence_partition *partition = NULL;

	ck_assert_int_eq(gvm_fence_table_open(&table, tenant, bytes, mode, &partition), 0);
	ck_assert_ptr_eq(gvm_fence_table_tenant(&table, tenant), partition);
	return &partition->fence;
}

static int open_status(u64 tenant, u64 bytes, enum gvm_fence_mode mode)
{
	struct gvm_fence_partition *partition = NULL;

	return gvm_fence_table_open(&table, tenant, bytes, mode, &partition);
}

START_TEST(nine_gigabytes_take_sixteen)
{
	const struct gvm_address_fence *fence;

	table_of(false, DEVICE_BYTES, 2ull << 20, 8);
	fence = open_ok(1, 9 * GIB, GVM_FENCE_MASK);
	ck_assert_uint_eq(fence->bytes, 16 * GIB);
	ck_assert_uint_eq(fence->base, DEVICE_BASE);
	ck_assert_int_eq(open_status(2, 1, GVM_FENCE_MASK), -ENOSPC);
	gvm_fence_table_destroy(&table);
}
END_TEST

START_TEST(fifth_partition_of_three_gigabytes_is_refused)
{
	table_of(false, DEVICE_BYTES, 2ull << 20, 8);
	for (u64 tenant = 1; tenant <= 4; tenant++)
		ck_assert_uint_eq(open_ok(tenant, 3 * GIB, GVM_FENCE_MASK)->bytes, 4 * GIB);
	ck_assert_int_eq(open_status(5, 3 * GIB, GVM_FENCE_MASK), -ENOSPC);
	gvm_fence_table_destroy(&table);
}
END_TEST

/*
 * Cards of a fleet, and what tenants that come one after the other have declared when the first one
 * is refused: of 1 GB to half of the card, each size as often as any other, 1000 times. In docs/guardian.md.
 */
static const struct {
	u64 gib;
	u32 tenants[2];	 /* a hundred times the mean: powers of two, any size */
	u32 declared[2]; /* percent of the card */
} cards[] = {
	{ 16, { 273, 326 }, { 71, 85 } },  { 24, { 250, 342 }, { 60, 85 } },
	{ 40, { 253, 350 }, { 57, 84 } },  { 48, { 251, 351 }, { 58, 84 } },
	{ 80, { 252, 356 }, { 56, 83 } },  { 96, { 248, 353 }, { 56, 83 } },
	{ 141, { 255, 367 }, { 56, 84 } },
};

static void check_card(u32 number)
{
	const u64 card = cards[number].gib;
	u64 tenants[2] = { 0 }, declared[2] = { 0 };

	for (u32 run = 0; run < 1000; run++)
		for (u32 any = 0; any < 2; any++) {
			enum gvm_fence_mode mode = any ? GVM_FENCE_CHECK : GVM_FENCE_MASK;
			u64 state = run, gib = 0, tenant;

			table_of(any, card * GIB, GIB, 200);
			for (tenant = 0;; tenant++) {
				gib = 1 + draw_below(&state, (u32)card / 2);
				if (open_status(tenant, gib * GIB, mode))
					break;
				declared[any] += gib;
			}
			tenants[any] += tenant;
			gvm_fence_table_destroy(&table);
		}
	for (u32 any = 0; any < 2; any++) {
		ck_assert_uint_eq(tenants[any] / 10, cards[number].tenants[any]);
		ck_assert_uint_eq(declared[any] / 10 / card, cards[number].declared[any]);
	}
}

START_TEST(powers_of_two_waste_a_part_of_each_card)
{
	for (u32 i = 0; i < ARRAY_SIZE(cards); i++)
		check_card(i);
}
END_TEST

/* Of any size, five fit, and 1 GB is left for a sixth. */
START_TEST(five_partitions_of_any_size_fit)
{
	table_of(true, DEVICE_BYTES, 2ull << 20, 8);
	for (u64 tenant = 1; tenant <= 5; tenant++)
		ck_assert_uint_eq(open_ok(tenant, 3 * GIB, GVM_FENCE_CHECK)->bytes, 3 * GIB);
	ck_assert_int_eq(open_status(6, 3 * GIB, GVM_FENCE_MODULO), -ENOSPC);
	ck_assert_uint_eq(open_ok(6, GIB, GVM_FENCE_MODULO)->bytes, GIB);
	ck_assert_int_eq(open_status(7, GIB, GVM_FENCE_MASK), -EINVAL);
	gvm_fence_table_destroy(&table);
}
END_TEST

START_TEST(each_mode_gets_a_partition_that_it_can_fence)
{
	const struct gvm_address_fence *fence;
	u64 first;

	table_of(false, DEVICE_BYTES, 2ull << 20, 8);
	fence = open_ok(1, 16ull << 20, GVM_FENCE_ONCE);
	ck_assert_uint_eq(fence->bytes, 32ull << 20);
	ck_assert_int_eq(gvm_fence_table_alloc(&table, 1, 16ull << 20, &first), 0);
	ck_assert_uint_eq(first, fence->base + (8ull << 20));
	ck_assert_int_eq(gvm_fence_table_alloc(&table, 1, 1, &first), -ENOMEM);
	fence = open_ok(2, 5, GVM_FENCE_4G);
	ck_assert_uint_eq(fence->bytes, 4 * GIB);
	ck_assert_uint_eq(fence->base % (4 * GIB), 0);
	ck_assert_uint_eq(open_ok(3, 5, GVM_FENCE_MASK)->bytes, 2ull << 20);
	gvm_fence_table_destroy(&table);
}
END_TEST

START_TEST(bad_requests_are_refused)
{
	static const struct gvm_fence_table_config bad[] = {
		{ .base = 0, .bytes = 4096, .granule = 4095, .tenants = 1, .allocations = 1 },
		{ .base = 0, .bytes = 4096, .granule = 128, .tenants = 1, .allocations = 1 },
		{ .base = 1, .bytes = 4096, .granule = 4096, .tenants = 1, .allocations = 1 },
		{ .base = 0, .bytes = 5000, .granule = 4096, .tenants = 1, .allocations = 1 },
		{ .base = 0, .bytes = 0, .granule = 4096, .tenants = 1, .allocations = 1 },
		{ .base = 0, .bytes = 4096, .granule = 4096, .tenants = 0, .allocations = 1 },
		{ .base = 0, .bytes = 4096, .granule = 4096, .tenants = 1, .allocations = 0 },
		{ .base = 0, .bytes = 1 << 30, .granule = 256, .tenants = 1, .allocations = 1 },
		{ .base = 4096, /* lies across 1 << 62: its tree would have no end */
		  .bytes = 1ull << 62,
		  .granule = 1ull << 12,
		  .tenants = 1,
		  .allocations = 1 },
	};
	static struct gvm_fence_table refused;

	for (u32 i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(gvm_fence_table_init(&refused, &bad[i]) == -EINVAL, "case %u", i);
	table_of(false, DEVICE_BYTES, 2ull << 20, 2);
	ck_assert_int_eq(open_status(1, 0, GVM_FENCE_MASK), -EINVAL);
	ck_assert_int_eq(open_status(1, U64_MAX, GVM_FENCE_MASK), -ENOSPC);
	ck_assert_int_eq(open_status(1, U64_MAX, GVM_FENCE_ONCE), -ENOSPC);
	ck_assert_int_eq(open_status(1, 1, GVM_FENCE_MODES), -EINVAL);
	(void)open_ok(1, 1, GVM_FENCE_MASK);
	ck_assert_int_eq(open_status(1, 1, GVM_FENCE_MASK), -EEXIST);
	(void)open_ok(2, 1, GVM_FENCE_MASK);
	ck_assert_int_eq(open_status(3, 1, GVM_FENCE_MASK), -EMFILE);
	ck_assert_int_eq(gvm_fence_table_close(&table, 3), -ENOENT);
	ck_assert_int_eq(gvm_fence_table_free(&table, 1, DEVICE_BASE), -EINVAL);
	ck_assert_int_eq(gvm_fence_table_free(&table, 3, DEVICE_BASE), -ENOENT);
	gvm_fence_table_destroy(&table);
}
END_TEST

START_TEST(a_dead_tenants_share_is_free_at_once)
{
	u64 address, base;

	table_of(false, DEVICE_BYTES, 2ull << 20, 8);
	base = open_ok(7, 8 * GIB, GVM_FENCE_MASK)->base;
	(void)open_ok(8, 8 * GIB, GVM_FENCE_MASK);
	ck_assert_int_eq(gvm_fence_table_alloc(&table, 7, 5 * GIB, &address), 0);
	ck_assert_int_eq(open_status(9, GIB, GVM_FENCE_MASK), -ENOSPC);
	ck_assert_int_eq(gvm_fence_table_close(&table, 7), 0);
	ck_assert_ptr_null(gvm_fence_table_tenant(&table, 7));
	ck_assert_uint_eq(open_ok(9, 8 * GIB, GVM_FENCE_MASK)->base, base);
	ck_assert_int_eq(gvm_fence_table_alloc(&table, 9, 8 * GIB, &address), 0);
	gvm_fence_table_destroy(&table);
}
END_TEST

START_TEST(a_refused_copy_is_counted)
{
	const struct gvm_address_fence *fence;
	struct gvm_fence_counts more = { .launches = 2 };
	const struct gvm_fence_counts *counts;

	table_of(false, DEVICE_BYTES, 2ull << 20, 8);
	fence = open_ok(1, 2ull << 20, GVM_FENCE_MASK);
	counts = &gvm_fence_table_tenant(&table, 1)->counts;
	ck_assert_int_eq(gvm_fence_table_copy(&table, 1, GVM_FENCE_COPY_IN, fence->base, 0, 64),
			 0);
	ck_assert_uint_eq(counts->refused_copies, 0);
	ck_assert_int_eq(gvm_fence_table_copy(&table, 1, GVM_FENCE_COPY_IN, 0, 0, 64), -EACCES);
	ck_assert_uint_eq(counts->refused_copies, 1);
	ck_assert_int_eq(gvm_fence_table_copy(&table, 2, GVM_FENCE_COPY_IN, 0, 0, 64), -ENOENT);
	gvm_fence_table_count(&table, 1, &more);
	gvm_fence_table_count(&table, 1, &more);
	gvm_fence_table_count(&table, 2, &more);
	ck_assert_uint_eq(counts->launches, 4);
	ck_assert_uint_eq(counts->refused_copies, 1);
	gvm_fence_table_destroy(&table);
}
END_TEST

START_TEST(a_mode_can_change_where_the_partition_fits_it)
{
	const struct gvm_address_fence *fence;

	table_of(false, DEVICE_BYTES, 2ull << 20, 8);
	fence = open_ok(1, 2ull << 20, GVM_FENCE_NONE);
	ck_assert_int_eq(gvm_fence_table_set_mode(&table, 1, GVM_FENCE_MASK), 0);
	ck_assert_uint_eq(fence->mask, (2ull << 20) - 1);
	ck_assert_int_eq(gvm_fence_table_set_mode(&table, 1, GVM_FENCE_CHECK), 0);
	ck_assert_int_eq(gvm_fence_table_set_mode(&table, 1, GVM_FENCE_4G), -EINVAL);
	ck_assert_int_eq(gvm_fence_table_set_mode(&table, 1, GVM_FENCE_ONCE), -EINVAL);
	ck_assert_int_eq(fence->mode, GVM_FENCE_CHECK);
	ck_assert_int_eq(gvm_fence_table_set_mode(&table, 2, GVM_FENCE_MASK), -ENOENT);
	/* Margins stay, whatever the mode. */
	fence = open_ok(2, 2ull << 20, GVM_FENCE_ONCE);
	ck_assert_int_eq(gvm_fence_table_set_mode(&table, 2, GVM_FENCE_NONE), 0);
	ck_assert_int_eq(gvm_fence_table_set_mode(&table, 2, GVM_FENCE_ONCE), 0);
	ck_assert_uint_eq(fence->margin, 8ull << 20);
	gvm_fence_table_destroy(&table);
}
END_TEST

/* The largest free part, in bytes; 0: none. */
static u64 buddy_largest(const struct gvm_fence_buddy *buddy)
{
	u8 order = buddy->largest[1];

	return order ? 1ull << (buddy->leaf_shift + order - 1u) : 0;
}

START_TEST(buddies_merge_back)
{
	struct gvm_fence_buddy buddy;
	u64 base, leaves[16];

	ck_assert_int_eq(gvm_fence_buddy_init(&buddy, 1 << 20, 1 << 16, 12), 0);
	ck_assert_uint_eq(buddy_largest(&buddy), 1 << 16);
	for (u32 i = 0; i < 16; i++) {
		ck_assert_int_eq(gvm_fence_buddy_alloc(&buddy, 4096, &leaves[i]), 0);
		ck_assert_uint_eq(leaves[i], (1 << 20) + i * 4096);
	}
	ck_assert_int_eq(gvm_fence_buddy_alloc(&buddy, 4096, &base), -ENOMEM);
	ck_assert_uint_eq(buddy_largest(&buddy), 0);
	for (u32 i = 0; i < 16; i += 2)
		gvm_fence_buddy_free(&buddy, leaves[i], 4096);
	ck_assert_uint_eq(buddy_largest(&buddy), 4096); /* halves, but no buddies */
	ck_assert_int_eq(gvm_fence_buddy_alloc(&buddy, 8192, &base), -ENOMEM);
	for (u32 i = 1; i < 16; i += 2)
		gvm_fence_buddy_free(&buddy, leaves[i], 4096);
	ck_assert_uint_eq(buddy_largest(&buddy), 1 << 16);
	gvm_fence_buddy_destroy(&buddy);
}
END_TEST

/* 12 leaves from leaf 6 on: the tree has 32; one part of eight and two of two are free. */
START_TEST(a_range_that_is_no_power_of_two_is_covered_without_its_neighbours)
{
	struct gvm_fence_buddy buddy;
	u64 base;

	ck_assert_int_eq(gvm_fence_buddy_init(&buddy, 6 << 12, 12 << 12, 12), 0);
	ck_assert_uint_eq(buddy_largest(&buddy), 8 << 12);
	ck_assert_int_eq(gvm_fence_buddy_alloc(&buddy, 16 << 12, &base), -ENOMEM);
	ck_assert_int_eq(gvm_fence_buddy_alloc(&buddy, 2 << 12, &base), 0);
	ck_assert_uint_eq(base, 16 << 12); /* its half has no larger part */
	ck_assert_int_eq(gvm_fence_buddy_alloc(&buddy, 2 << 12, &base), 0);
	ck_assert_uint_eq(base, 6 << 12);
	ck_assert_int_eq(gvm_fence_buddy_alloc(&buddy, 8 << 12, &base), 0);
	ck_assert_uint_eq(base, 8 << 12);
	ck_assert_int_eq(gvm_fence_buddy_alloc(&buddy, 1 << 12, &base), -ENOMEM);
	gvm_fence_buddy_destroy(&buddy);
}
END_TEST

/* The largest free extent, in bytes. */
static u64 heap_largest(const struct gvm_fence_heap *heap)
{
	const struct gvm_fence_extent *extent;
	u64 largest = 0;

	list_for_each_entry(extent, &heap->order, order)
		if (extent->is_free)
			largest = max(largest, extent->bytes);
	return largest;
}

/*
 * Regression: a range across 2^63 was taken. Its root has 2^64 bytes, which no shift gives, and
 * the search for a partition's size doubled past 2^63 to 0 and did not end.
 */
START_TEST(a_range_across_the_middle_of_all_addresses_is_refused)
{
	struct gvm_fence_table_config config = {
		.bytes = 3ull << 62,
		.granule = 1ull << 48,
		.tenants = 1,
		.allocations = 1,
	};
	struct gvm_fence_buddy buddy;

	ck_assert_int_eq(gvm_fence_buddy_init(&buddy, 0, 15ull << 60, 60), -EINVAL);
	ck_assert_int_eq(gvm_fence_table_init(&table, &config), -EINVAL);
	/* Half of all addresses is not too much. */
	config.base = 1ull << 63;
	config.bytes = (1ull << 63) - config.granule;
	ck_assert_int_eq(gvm_fence_table_init(&table, &config), 0);
	ck_assert_int_eq(open_status(1, 1ull << 62, GVM_FENCE_MASK), 0);
	gvm_fence_table_destroy(&table);
}
END_TEST

START_TEST(a_heap_joins_free_neighbours_and_needs_no_more_than_its_pool)
{
	static struct gvm_fence_heap heap;
	u64 a, b, c, d;

	ck_assert_int_eq(gvm_fence_heap_init(&heap, 1 << 20, 1 << 16, 256, 2), -EINVAL);
	ck_assert_int_eq(gvm_fence_heap_init(&heap, 1 << 20, 1 << 16, 256, 4), 0);
	ck_assert_int_eq(gvm_fence_heap_alloc(&heap, 0, &a), -EINVAL);
	ck_assert_int_eq(gvm_fence_heap_alloc(&heap, U64_MAX, &a), -ENOMEM);
	ck_assert_int_eq(gvm_fence_heap_alloc(&heap, 1, &a), 0);
	ck_assert_int_eq(gvm_fence_heap_alloc(&heap, 257, &b), 0);
	ck_assert_int_eq(gvm_fence_heap_alloc(&heap, 256, &c), 0);
	ck_assert_uint_eq(a, 1 << 20);
	ck_assert_uint_eq(b, a + 256);
	ck_assert_uint_eq(c, b + 512);
	ck_assert_uint_eq(heap.used_bytes, 1024);
	ck_assert_uint_eq(gvm_fence_heap_free(&heap, b + 256), 0); /* not where it begins */
	ck_assert_int_eq(gvm_fence_heap_alloc(&heap, 256, &d), -ENOSPC);
	ck_assert_int_eq(gvm_fence_heap_alloc(&heap, (1 << 16) - 1024, &d), 0); /* all of it */
	ck_assert_uint_eq(gvm_fence_heap_free(&heap, b), 512);
	ck_assert_uint_eq(gvm_fence_heap_free(&heap, b), 0);
	ck_assert_uint_eq(gvm_fence_heap_free(&heap, a), 256);
	ck_assert_uint_eq(heap_largest(&heap), 768);
	ck_assert_uint_eq(gvm_fence_heap_free(&heap, c), 256);
	ck_assert_uint_eq(gvm_fence_heap_free(&heap, d), (1 << 16) - 1024);
	ck_assert_uint_eq(heap_largest(&heap), 1 << 16);
	ck_assert_uint_eq(heap.used_bytes, 0);
	gvm_fence_heap_destroy(&heap);
}
END_TEST

#define MODEL_UNITS   256u
#define MODEL_TENANTS 16u

/* The tenant of each unit, as a second statement of what the table should say; 0: none. */
static u8 model[MODEL_UNITS];

static bool has_address(u64 tenant, u64 address)
{
	const struct gvm_fence_partition *partition = gvm_fence_table_tenant(&table, tenant);

	return partition && address - partition->fence.base < partition->fence.bytes;
}

static void expect_tenants(u64 unit)
{
	for (u32 i = 0; i < MODEL_UNITS; i++)
		for (u64 tenant = 1; tenant <= MODEL_TENANTS; tenant++)
			ck_assert(has_address(tenant, DEVICE_BASE + i * unit) ==
				  (model[i] == tenant));
}

/* Is there a place in the model for a partition of @units, at a multiple of @alignment? */
static bool model_has_room(u32 units, u32 alignment)
{
	for (u32 at = 0; at + units <= MODEL_UNITS; at += alignment) {
		u32 taken = 0;

		for (u32 i = 0; i < units; i++)
			taken += model[at + i] != 0;
		if (!taken)
			return true;
	}
	return false;
}

/*
 * Tenants come and go at random. Partitions never overlap, are refused only if there is no
 * place, and all addresses are there at the end.
 */
static void play_table(bool any_size, u64 seed)
{
	const u64 unit = 1ull << 20;
	u64 state = seed;

	memset(model, 0, sizeof(model));
	table_of(any_size, MODEL_UNITS * unit, unit, MODEL_TENANTS);
	for (u32 step = 0; step < 3000; step++) {
		u64 tenant = 1 + draw_below(&state, MODEL_TENANTS);
		u32 units = 1u << draw_below(&state, 8), alignment = units;
		bool was_there = gvm_fence_table_tenant(&table, tenant) != NULL;
		const struct gvm_address_fence *fence;
		u64 at;
		int status;

		if (was_there) {
			ck_assert_int_eq(gvm_fence_table_close(&table, tenant), 0);
			for (u32 i = 0; i < MODEL_UNITS; i++)
				model[i] = model[i] == tenant ? 0 : model[i];
			continue;
		}
		if (any_size) {
			units = 1 + draw_below(&state, 100);
			alignment = 1;
		}
		status = open_status(tenant, units * unit - draw_below(&state, 1000),
				     any_size ? GVM_FENCE_MODULO : GVM_FENCE_MASK);
		if (status) {
			ck_assert_int_eq(status, -ENOSPC);
			ck_assert(!model_has_room(units, alignment));
			continue;
		}
		fence = &gvm_fence_table_tenant(&table, tenant)->fence;
		ck_assert_uint_eq(fence->bytes, units * unit);
		at = (fence->base - DEVICE_BASE) / unit;
		for (u32 i = 0; i < units; i++) {
			ck_assert_uint_eq(model[at + i], 0);
			model[at + i] = (u8)tenant;
		}
		if (step % 16 == 0)
			expect_tenants(unit);
	}
	for (u64 tenant = 1; tenant <= MODEL_TENANTS; tenant++)
		(void)gvm_fence_table_close(&table, tenant);
	ck_assert_int_eq(open_status(1, MODEL_UNITS * unit,
				     any_size ? GVM_FENCE_MODULO : GVM_FENCE_MASK),
			 0);
	gvm_fence_table_destroy(&table);
}

START_TEST(partitions_of_powers_of_two_never_overlap)
{
	play_table(false, runner_seed());
}
END_TEST

START_TEST(partitions_of_any_size_never_overlap)
{
	play_table(true, runner_seed());
}
END_TEST

/* Allocations inside a partition: the same, byte ranges against a map of granules. */
START_TEST(a_tenants_allocations_never_overlap_and_stay_inside)
{
	enum { GRANULES = 1024, HELD = 64 };
	static u8 taken[GRANULES];
	u64 state = runner_seed(), addresses[HELD] = { 0 }, base;
	u32 sizes[HELD] = { 0 };

	memset(taken, 0, sizeof(taken));
	table_of(false, 1ull << 20, GRANULES * 256, 4);
	base = open_ok(1, GRANULES * 256, GVM_FENCE_MASK)->base;
	for (u32 step = 0; step < 20000; step++) {
		u32 slot = draw_below(&state, HELD), run = 0, longest = 0;
		u32 granules = 1 + draw_below(&state, 1u << draw_below(&state, 8));
		u64 first;
		int status;

		if (sizes[slot]) {
			ck_assert_int_eq(gvm_fence_table_free(&table, 1, addresses[slot]), 0);
			memset(taken + (addresses[slot] - base) / 256, 0, sizes[slot]);
			sizes[slot] = 0;
			continue;
		}
		status = gvm_fence_table_alloc(
			&table, 1, granules * 256 - draw_below(&state, 256), &addresses[slot]);
		if (status) {
			for (u32 i = 0; i < GRANULES; i++) {
				run = taken[i] ? 0 : run + 1;
				longest = max(longest, run);
			}
			ck_assert_int_eq(status, -ENOMEM);
			ck_assert_uint_lt(longest, granules);
			continue;
		}
		first = (addresses[slot] - base) / 256;
		ck_assert_uint_le(first + granules, GRANULES);
		for (u32 i = 0; i < granules; i++)
			ck_assert_uint_eq(taken[first + i], 0);
		memset(taken + first, 1, granules);
		sizes[slot] = granules;
	}
	gvm_fence_table_destroy(&table);
}
END_TEST

TEST_MAIN("fence_table", nine_gigabytes_take_sixteen,
	  fifth_partition_of_three_gigabytes_is_refused,
	  powers_of_two_waste_a_part_of_each_card, five_partitions_of_any_size_fit,
	  each_mode_gets_a_partition_that_it_can_fence, bad_requests_are_refused,
	  a_dead_tenants_share_is_free_at_once, a_refused_copy_is_counted,
	  a_mode_can_change_where_the_partition_fits_it, buddies_merge_back,
	  a_range_that_is_no_power_of_two_is_covered_without_its_neighbours,
	  a_range_across_the_middle_of_all_addresses_is_refused,
	  a_heap_joins_free_neighbours_and_needs_no_more_than_its_pool,
	  partitions_of_powers_of_two_never_overlap, partitions_of_any_size_never_overlap,
	  a_tenants_allocations_never_overlap_and_stay_inside)
