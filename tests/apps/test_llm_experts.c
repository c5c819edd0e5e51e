// SPDX-License-Identifier: MIT OR GPL-2.0
/* Which experts a step touches. */
#include "apps/llm_experts.h"
#include "suite.h"

#define CHUNK GVM_CHUNK_BYTES
#define ALL   (1ull << 32) /* the share of a step that uses all */

static const struct cuda_memory weights = { .chunks = 100 };
static struct llm_experts experts;

/* Experts from @offset on, as a step with @share touches them. */
static void draw(u64 offset, u64 bytes, u64 layers, u64 count, u64 share)
{
	ck_assert_int_eq(llm_experts_init(&experts, &weights, offset, bytes, layers, count, 7),
			 0);
	llm_experts_draw(&experts, share);
}

static u32 touched(void)
{
	u32 count = 0;

	for (u32 i = 0; i < experts.chunks; i++) {
		bool listed = experts.groups[i / 64] >> i % 64 & 1;

		if (i % 64 == 0)
			ck_assert_uint_eq(experts.ranks[i / 64], count);
		ck_assert_uint_eq(experts.masks[i], listed ? U32_MAX : 0);
		count += listed;
	}
	ck_assert_uint_eq(experts.ranks[CUDA_GROUP_WORDS(experts.chunks)], count);
	return count;
}

START_TEST(a_step_that_uses_all_touches_all_from_the_first_to_the_last_byte)
{
	draw(3 * CHUNK, 64 * CHUNK, 4, 16, ALL);
	ck_assert_uint_eq(experts.access.first, 3);
	ck_assert_uint_eq(experts.access.chunks, 64);
	ck_assert_uint_eq(experts.access.kernels, 4);
	ck_assert_uint_eq(touched(), 64);
	llm_experts_destroy(&experts);
	/* From the last byte of a chunk to the first of another. */
	draw(3 * CHUNK - 1, 5 * CHUNK + 2, 4, 16, ALL);
	ck_assert_uint_eq(experts.access.first, 2);
	ck_assert_uint_eq(experts.access.chunks, 7);
	ck_assert_uint_eq(touched(), 7);
	llm_experts_destroy(&experts);
}
END_TEST

START_TEST(without_tokens_none_is_touched)
{
	draw(0, 64 * CHUNK, 4, 16, 0);
	ck_assert_uint_eq(touched(), 0);
	llm_experts_destroy(&experts);
}
END_TEST

/* An expert of three chunks is touched whole; each step draws others. */
START_TEST(experts_are_touched_whole_and_drawn_anew)
{
	u32 sum = 0;
	bool changed = false;
	u64 before;

	draw(0, 48 * CHUNK, 4, 4, ALL / 4);
	before = experts.groups[0];
	for (int step = 0; step < 1000; step++) {
		llm_experts_draw(&experts, ALL / 4);
		sum += touched();
		changed |= experts.groups[0] != before;
		for (u32 i = 0; i < 48; i += 3)
			ck_assert(experts.masks[i] == experts.masks[i + 1] &&
				  experts.masks[i] == experts.masks[i + 2]);
	}
	ck_assert(changed);
	/*
	 * A quarter of 48,000, within five standard deviations: of 16,000 draws, 3 chunks each.
	 */
	ck_assert_uint_ge(sum, 12000 - 3 * 274);
	ck_assert_uint_le(sum, 12000 + 3 * 274);
	llm_experts_destroy(&experts);
}
END_TEST

/* Two experts share the chunk in which one ends and the other begins. */
START_TEST(a_chunk_of_two_experts_is_touched_by_either)
{
	draw(0, 3 * CHUNK, 0, 2, ALL / 2);
	for (int step = 0; step < 100; step++) {
		llm_experts_draw(&experts, ALL / 2);
		ck_assert_uint_eq(experts.masks[1], experts.masks[0] | experts.masks[2]);
	}
	llm_experts_destroy(&experts);
}
END_TEST

/* A model with more experts than bytes is drawn in fewer parts. */
START_TEST(no_model_takes_for_ever)
{
	draw(0, 5, 1000000000, 1000000000, ALL);
	ck_assert_uint_eq(experts.count, 1 << 20);
	ck_assert_uint_eq(touched(), 1);
	llm_experts_destroy(&experts);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_step_that_uses_all_touches_all_from_the_first_to_the_last_byte);
	tcase_add_test(tests, without_tokens_none_is_touched);
	tcase_add_test(tests, experts_are_touched_whole_and_drawn_anew);
	tcase_add_test(tests, a_chunk_of_two_experts_is_touched_by_either);
	tcase_add_test(tests, no_model_takes_for_ever);
}

int main(void)
{
	return suite_run("llm_experts", NULL, NULL, add_tests);
}
