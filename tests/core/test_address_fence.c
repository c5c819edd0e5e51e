// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Address fences: values worked by hand, what holds for every address, and
 * the bounds of copies.
 */
#include "runner.h"
#include "draw.h"
#include "gvm/address_fence.h"

#define DRAWS 20000u

/* The partition of Guardian 4.3. */
#define PAPER_BASE  0x7fa2d0000000ull
#define PAPER_BYTES (16ull << 20)

static struct gvm_address_fence fence_of(enum gvm_fence_mode mode, u64 base, u64 bytes,
					 u64 margin)
{
	struct gvm_address_fence fence;

	ck_assert_int_eq(gvm_address_fence_init(&fence, mode, base, bytes, margin), 0);
	return fence;
}

/* Where a patched access ends. */
static u64 access_of(const struct gvm_address_fence *fence, u64 reg, s64 offset, u32 width)
{
	u64 address = 0;

	ck_assert_int_eq(gvm_address_fence_access(fence, reg, offset, width, &address), 0);
	return address;
}

START_TEST(addresses_wrap_as_worked_by_hand)
{
	static const u64 cases[][2] = {
		{ PAPER_BASE + PAPER_BYTES - 1, 0x7fa2d0ffffff },
		{ PAPER_BASE + PAPER_BYTES, PAPER_BASE },
		{ PAPER_BASE - 1, PAPER_BASE + PAPER_BYTES - 1 },
		{ 0x7fa2cf123456, 0x7fa2d0123456 },
		{ 0, PAPER_BASE },
		{ U64_MAX, PAPER_BASE + PAPER_BYTES - 1 },
		{ PAPER_BASE, PAPER_BASE },
	};
	struct gvm_address_fence fence = fence_of(GVM_FENCE_MASK, PAPER_BASE, PAPER_BYTES, 0);

	ck_assert_uint_eq(fence.mask, 0x000000ffffff);
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_uint_eq(access_of(&fence, cases[i][0], 0, 1), cases[i][1]);
}
END_TEST

/* A partition of a random size and place that suits the mode. */
static struct gvm_address_fence draw_fence(u64 *state, enum gvm_fence_mode mode)
{
	u32 shift =
		mode == GVM_FENCE_4G ? 32 + draw_below(state, 10) : 12 + draw_below(state, 30);
	u64 bytes = 1ull << shift, base = (draw_bits(state) >> 17) & ~(bytes - 1);

	if (mode == GVM_FENCE_MODULO || mode == GVM_FENCE_CHECK) {
		bytes = (1 + draw_bits(state) % (bytes / GVM_FENCE_ALIGNMENT)) *
			GVM_FENCE_ALIGNMENT;
		base = (draw_bits(state) >> 17) & ~(u64)(GVM_FENCE_ALIGNMENT - 1);
	}
	return fence_of(mode, base, bytes, mode == GVM_FENCE_ONCE ? 1024 : 0);
}

/* For each width, at any address: the access is confined, aligned, and stable. */
START_TEST(no_access_leaves_its_partition)
{
	static const enum gvm_fence_mode modes[] = { GVM_FENCE_MASK, GVM_FENCE_4G,
						     GVM_FENCE_MODULO, GVM_FENCE_COUNT };
	u64 state = runner_seed();

	for (u32 i = 0; i < DRAWS; i++) {
		struct gvm_address_fence fence = draw_fence(&state, modes[i % 4]);
		u64 address = draw_bits(&state) >> draw_below(&state, 64), inside, again;
		u32 width = 1u << draw_below(&state, 6);
		s64 offset = (s64)draw_bits(&state) >> draw_below(&state, 64);
		u64 at = access_of(&fence, address, offset, width);

		ck_assert_uint_ge(at, fence.base);
		ck_assert_uint_le(at - fence.base, fence.bytes - width);
		ck_assert_uint_eq(at % width, 0);
		ck_assert_uint_eq(access_of(&fence, at, 0, width), at);
		/* A correct access is left alone, wherever its offset comes from. */
		inside = fence.base + draw_bits(&state) % (fence.bytes / width) * width;
		ck_assert_uint_eq(access_of(&fence, inside - (u64)offset, offset, width),
				  inside);
		/* Addresses that are whole partitions apart are one address. */
		again = inside + (u64)draw_below(&state, 1000) * fence.bytes;
		if (again >= fence.base)
			ck_assert_uint_eq(access_of(&fence, again, 0, width), inside);
	}
}
END_TEST

START_TEST(once_ends_in_its_partition_or_in_a_margin)
{
	u64 state = runner_seed();

	for (u32 i = 0; i < DRAWS; i++) {
		struct gvm_address_fence fence = draw_fence(&state, GVM_FENCE_ONCE);
		u64 margin = fence.margin, reg = draw_bits(&state);
		u32 width = 1u << draw_below(&state, 6);
		s64 offset = (s64)draw_below(&state, 4096) - 2048;
		u64 at = access_of(&fence, reg, offset, width), inside;

		ck_assert_uint_le(at - (fence.base - margin), fence.bytes + 2 * margin - width);
		if (!gvm_fence_keeps_offset(margin, offset, width))
			ck_assert_uint_le(at - fence.base, fence.bytes - width);
		ck_assert_uint_eq(at % width, 0);
		/* Data are a margin away from the ends, so correct accesses stay. */
		inside = fence.base + margin +
			 draw_bits(&state) % ((fence.bytes - 2 * margin) / width) * width;
		ck_assert_uint_eq(access_of(&fence, inside - (u64)offset, offset, width),
				  inside);
	}
}
END_TEST

START_TEST(once_keeps_an_offset_that_the_margin_holds)
{
	ck_assert(gvm_fence_keeps_offset(1024, 0, 4));
	ck_assert(gvm_fence_keeps_offset(1024, 1020, 4));
	ck_assert(!gvm_fence_keeps_offset(1024, 1024, 4));
	ck_assert(gvm_fence_keeps_offset(1024, -1024, 4));
	ck_assert(!gvm_fence_keeps_offset(1024, -1028, 4));
	ck_assert(!gvm_fence_keeps_offset(1024, 2, 4)); /* the register may be misaligned */
	ck_assert(!gvm_fence_keeps_offset(1024, (s64)(1ull << 63), 4));
	ck_assert(!gvm_fence_keeps_offset(0, 0, 4));
}
END_TEST

START_TEST(modulo_is_the_remainder_of_c)
{
	u64 state = runner_seed();

	for (u32 i = 0; i < DRAWS; i++) {
		u64 bytes = (draw_bits(&state) >> (1 + draw_below(&state, 63))) | 1;
		u64 base = draw_bits(&state) >> 1, address = draw_bits(&state);
		struct gvm_address_fence fence = fence_of(GVM_FENCE_MODULO, base, bytes, 0);

		ck_assert_uint_eq(access_of(&fence, address, 0, 1),
				  base + (address - base) % bytes);
	}
}
END_TEST

/* Guardian 4.4 has one multiplication. Its result is often one size too large. */
START_TEST(modulo_without_the_correction_leaves_the_partition)
{
	u64 state = runner_seed_or(19);
	u32 wrong = 0;

	for (u32 i = 0; i < DRAWS; i++) {
		u64 bytes = (draw_bits(&state) >> (1 + draw_below(&state, 63))) | 1;
		u64 address = draw_bits(&state), reciprocal = U64_MAX / bytes;
		u64 rest = address - gvm_multiply_high(address, reciprocal) * bytes;

		ck_assert(rest == address % bytes || rest == address % bytes + bytes);
		wrong += rest >= bytes;
	}
	ck_assert_uint_gt(wrong, 0);
}
END_TEST

START_TEST(high_product_is_that_of_four_halves)
{
	ck_assert_uint_eq(gvm_multiply_high(U64_MAX, U64_MAX), U64_MAX - 1);
	ck_assert_uint_eq(gvm_multiply_high(1ull << 63, 2), 1);
	ck_assert_uint_eq(gvm_multiply_high(0xffffffffull, 0x100000001ull), 0);
	ck_assert_uint_eq(gvm_multiply_high(0x123456789abcdef0ull, 0xfedcba9876543210ull),
			  0x121fa00ad77d7422ull);
}
END_TEST

START_TEST(check_detects_what_the_other_modes_wrap)
{
	struct gvm_address_fence fence = fence_of(GVM_FENCE_CHECK, 0x10100, 0x700, 0);
	u64 address = 0x5555;

	ck_assert_uint_eq(access_of(&fence, 0x10100, 0, 32), 0x10100);
	ck_assert_uint_eq(access_of(&fence, 0x10000, 0x7fc, 4), 0x107fc);
	ck_assert_int_eq(gvm_address_fence_access(&fence, 0x10000, 0x800, 4, &address),
			 -EFAULT);
	ck_assert_int_eq(gvm_address_fence_access(&fence, 0x107fe, 0, 4, &address), -EFAULT);
	ck_assert_int_eq(gvm_address_fence_access(&fence, 0x100ff, 0, 1, &address), -EFAULT);
	ck_assert_int_eq(gvm_address_fence_access(&fence, U64_MAX, 0, 8, &address), -EFAULT);
	ck_assert_uint_eq(address, 0x5555);
}
END_TEST

START_TEST(unprotected_modes_change_nothing)
{
	struct gvm_address_fence none = fence_of(GVM_FENCE_NONE, 0x10100, 0x700, 0);
	struct gvm_address_fence noprot = fence_of(GVM_FENCE_NOPROT, 0x10100, 0x700, 0);

	ck_assert_uint_eq(access_of(&none, 7, -8, 4), U64_MAX);
	ck_assert_uint_eq(access_of(&noprot, 7, 8, 4), 15);
}
END_TEST

START_TEST(partitions_that_a_mode_cannot_fence_are_refused)
{
	static const struct {
		enum gvm_fence_mode mode;
		u64 base, bytes, margin;
		int status;
	} cases[] = {
		{ GVM_FENCE_MASK, 0x10000, 0x10000, 0, 0 },
		{ GVM_FENCE_MASK, 0x18000, 0x10000, 0, -EINVAL }, /* OR is no addition */
		{ GVM_FENCE_MASK, 0x10000, 0xc000, 0, -EINVAL },
		{ GVM_FENCE_MASK, 0x10000, 0, 0, -EINVAL },
		{ GVM_FENCE_COUNT, 0x10000, 0x10000, 0, 0 },
		{ GVM_FENCE_COUNT, 0x18000, 0x10000, 0, -EINVAL },
		{ GVM_FENCE_CHECK, 0x18000, 0xc000, 0, 0 },
		{ GVM_FENCE_CHECK, 0x18001, 0xc003, 0, 0 },
		{ GVM_FENCE_CHECK, 0x18000, 0, 0, -EINVAL },
		{ GVM_FENCE_CHECK, U64_MAX, 1, 0, 0 },
		{ GVM_FENCE_CHECK, U64_MAX, 2, 0, -EINVAL },
		{ GVM_FENCE_MODULO, 0x18001, 0xc003, 0, 0 },
		{ GVM_FENCE_MODULO, 0, 1ull << 63, 0, 0 },
		{ GVM_FENCE_MODULO, 0, (1ull << 63) + 1, 0, -EINVAL },
		{ GVM_FENCE_4G, 1ull << 40, 1ull << 31, 0, -EINVAL },
		{ GVM_FENCE_4G, 1ull << 40, 1ull << 32, 0, 0 },
		{ GVM_FENCE_ONCE, 0x10000, 0x10000, 0x1000, 0 },
		{ GVM_FENCE_ONCE, 0x10000, 0x10000, 0x8000, -EINVAL }, /* no room is left */
		{ GVM_FENCE_ONCE, 0x10000, 0x10000, 0x7f00, 0 },
		{ GVM_FENCE_ONCE, 0x10000, 0x10000, 0x1010, -EINVAL },
		{ GVM_FENCE_MODES, 0x10000, 0x10000, 0, -EINVAL },
	};
	struct gvm_address_fence fence;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_msg(gvm_address_fence_init(&fence, cases[i].mode, cases[i].base,
						     cases[i].bytes,
						     cases[i].margin) == cases[i].status,
			      "case %u", i);
}
END_TEST

START_TEST(copies_are_checked_on_each_side_that_is_on_the_gpu)
{
	const u64 base = PAPER_BASE, end = PAPER_BASE + PAPER_BYTES, outside = end + 4096;
	struct gvm_address_fence fence = fence_of(GVM_FENCE_MASK, base, PAPER_BYTES, 0);

	ck_assert(gvm_address_fence_holds(&fence, base, PAPER_BYTES));
	ck_assert(gvm_address_fence_holds(&fence, end, 0));
	ck_assert(!gvm_address_fence_holds(&fence, end, 1));
	ck_assert(!gvm_address_fence_holds(&fence, end + 1, 0));
	ck_assert(!gvm_address_fence_holds(&fence, base - 1, 1));
	ck_assert(!gvm_address_fence_holds(&fence, base - 1, 0));
	ck_assert(!gvm_address_fence_holds(&fence, base, PAPER_BYTES + 1));
	ck_assert(!gvm_address_fence_holds(&fence, base + 1, U64_MAX)); /* wraps 2^64 */
	ck_assert(!gvm_address_fence_holds(&fence, base + 4096, 0 - base));
	ck_assert_int_eq(gvm_address_fence_copy(&fence, GVM_FENCE_COPY_IN, base, outside, 4096),
			 0);
	ck_assert_int_eq(gvm_address_fence_copy(&fence, GVM_FENCE_COPY_IN, outside, base, 4096),
			 -EACCES);
	ck_assert_int_eq(
		gvm_address_fence_copy(&fence, GVM_FENCE_COPY_OUT, outside, base, 4096), 0);
	ck_assert_int_eq(gvm_address_fence_copy(&fence, GVM_FENCE_COPY_OUT, base, outside,
						4096),
			 -EACCES);
	ck_assert_int_eq(gvm_address_fence_copy(&fence, GVM_FENCE_COPY_WITHIN, base, end - 4096,
						4096),
			 0);
	ck_assert_int_eq(gvm_address_fence_copy(&fence, GVM_FENCE_COPY_WITHIN, base, outside,
						4096),
			 -EACCES);
	ck_assert_int_eq(gvm_address_fence_copy(&fence, GVM_FENCE_COPY_WITHIN, outside, base,
						4096),
			 -EACCES);
}
END_TEST

START_TEST(modes_have_the_names_that_users_write)
{
	for (enum gvm_fence_mode mode = 0; mode < GVM_FENCE_MODES; mode++)
		ck_assert_int_eq(gvm_fence_mode_find(gvm_fence_mode_name(mode)), mode);
	ck_assert_int_eq(gvm_fence_mode_find("fence"), GVM_FENCE_MASK);
	ck_assert_int_eq(gvm_fence_mode_find("4g"), GVM_FENCE_4G);
	ck_assert_int_eq(gvm_fence_mode_find("mask"), -EINVAL);
}
END_TEST

TEST_MAIN("address_fence", addresses_wrap_as_worked_by_hand, no_access_leaves_its_partition,
	  once_ends_in_its_partition_or_in_a_margin, once_keeps_an_offset_that_the_margin_holds,
	  modulo_is_the_remainder_of_c, modulo_without_the_correction_leaves_the_partition,
	  high_product_is_that_of_four_halves, check_detects_what_the_other_modes_wrap,
	  unprotected_modes_change_nothing, partitions_that_a_mode_cannot_fence_are_refused,
	  copies_are_checked_on_each_side_that_is_on_the_gpu,
	  modes_have_the_names_that_users_write)
