// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Children of a container, by address range: who pays to the byte, who gives at which limit,
 * what is protected, and what ends when.
 */
#include "draw.h"
#include "gvm/address_fence.h"
#include "gvm/charge.h"
#include "gvm/child.h"
#include "gvm/clock.h"
#include "gvm/control.h"
#include "gvm/evict.h"
#include "gvm/swap.h"
#include "runner.h"
#include "toy_pair.h"

/* The window of all blocks that a toy space can have. */
static struct gvm_window window_of(u32 space)
{
	return (struct gvm_window){ .space = &toy.spaces[space],
				    .va = TOY_VA,
				    .bytes = TOY_BLOCKS_MAX * CHUNK };
}

/* A child of container one, with @blocks stored blocks in address space @number. */
static struct gvm_container *child_with(u32 number, u32 blocks)
{
	struct gvm_window window = window_of(number);
	struct gvm_container *child;

	ck_assert_int_eq(gvm_child_open(one, &window, number, &child), 0);
	toy_map_range(number, one, 8 * CHUNK, false);
	toy_store_blocks(number, 0, blocks);
	return child;
}

static u64 chunks_of(const struct gvm_container *container)
{
	return container->charged_bytes / CHUNK;
}

static void end_child(struct gvm_container *child)
{
	gvm_child_close(child);
	gvm_container_put(child);
}

/* The end of a test whose only children are these; there may be no @sibling. */
static void end_family(struct gvm_container *child, struct gvm_container *sibling)
{
	toy_unmap_all();
	end_child(child);
	if (sibling)
		end_child(sibling);
	end();
}

static void expect_file(struct gvm_container *container, const char *file, u64 bytes)
{
	char text[GVM_CONTROL_TEXT_MAX];
	u64 value = U64_MAX;
	int length = gvm_control_read(container, file, text, sizeof(text));

	ck_assert_int_gt(length, 1);
	text[length - 1] = '\0';
	ck_assert_int_eq(gvm_parse_u64(text, &value), 0);
	ck_assert_uint_eq(value, bytes);
}

START_TEST(a_range_in_a_window_is_charged_to_the_child_and_counts_for_the_parent)
{
	struct gvm_container *child;

	begin(8);
	child = child_with(1, 3);
	toy_fill(0, one, 2);
	ck_assert_uint_eq(chunks_of(child), 3);
	ck_assert_uint_eq(chunks_of(one), 2);
	expect_file(child, "gmem.current", 3 * CHUNK);
	expect_file(one, "gmem.current", 5 * CHUNK);
	expect_file(one, "gmem.peak", 5 * CHUNK);
	expect_file(two, "gmem.current", 0);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	toy_unmap_range(1);
	expect_file(child, "gmem.current", 0);
	expect_file(one, "gmem.current", 2 * CHUNK);
	end_child(child);
	end();
}
END_TEST

START_TEST(small_blocks_of_a_child_are_charged_to_the_page)
{
	struct gvm_window window;
	struct gvm_container *child;

	toy_init_parts(8, 0);
	one = toy_attach(1);
	two = toy_attach(2);
	window = window_of(1);
	ck_assert_int_eq(gvm_child_open(one, &window, 1, &child), 0);
	toy_map_range(1, one, 3 * GVM_PAGE_BYTES, false);
	toy_store_blocks(1, 0, 1);
	expect_file(child, "gmem.current", 3 * GVM_PAGE_BYTES);
	expect_file(one, "gmem.current", 3 * GVM_PAGE_BYTES);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	end_child(child);
	end();
}
END_TEST

START_TEST(a_child_at_its_limit_gives_its_own_coldest_chunk)
{
	struct gvm_container *child, *sibling;

	begin(16);
	child = child_with(1, 3);
	sibling = child_with(2, 4);
	toy_write_file(child, "gmem.limit.high", "6M");
	toy_store_blocks(1, 3, 1);
	ck_assert_uint_eq(chunks_of(child), 3);
	ck_assert_uint_eq(child->evicted_chunks, 1);
	ck_assert(!toy_on_device(1, 0) && toy_on_device(1, 1) && toy_on_device(1, 3));
	ck_assert_uint_eq(sibling->evicted_chunks, 0);
	ck_assert_uint_eq(child->events[GVM_EVENT_HIGH], 1);
	ck_assert_uint_eq(one->events[GVM_EVENT_HIGH], 0);
	expect_file(child, "gmem.swap.current", CHUNK);
	expect_file(one, "gmem.swap.current", CHUNK);
	expect_file(sibling, "gmem.swap.current", 0);
	toy_load_blocks(1, 0, 4);
	toy_load_blocks(2, 0, 4);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	end_family(child, sibling);
}
END_TEST

/*
 * A tenant stores to any address of 64 bits. Its fence has the window of its child
 * as partition: all it faults in, charges and evicts is its own. Without a fence
 * hardly any address would be.
 */
START_TEST(wild_stores_of_a_fenced_child_touch_its_own_memory_only)
{
	struct gvm_window window = { .space = &toy.spaces[1],
				     .va = TOY_VA,
				     .bytes = 8 * CHUNK };
	struct gvm_container *child, *behind, *sibling, *payer;
	struct gvm_address_fence fence;
	u64 state = runner_seed(), at;
	u32 unfenced = 0;

	begin(16);
	ck_assert_int_eq(gvm_child_open(one, &window, 1, &child), 0);
	window.va += window.bytes;
	ck_assert_int_eq(gvm_child_open(one, &window, 3, &behind), 0);
	toy_map_range(1, one, 8 * CHUNK, false);
	sibling = child_with(2, 4);
	toy_write_file(child, "gmem.limit.high", "6M");
	ck_assert_int_eq(gvm_address_fence_init(&fence, GVM_FENCE_MASK, TOY_VA, 8 * CHUNK, 0),
			 0);
	for (u32 i = 0; i < 500; i++) {
		u64 address = draw_bits(&state) >> draw_below(&state, 64);

		window = (struct gvm_window){ .space = &toy.spaces[1], .bytes = CHUNK };
		window.va = address / 2 / CHUNK * CHUNK;
		if (!gvm_child_payer(one, &window, &payer)) {
			unfenced += payer == child;
			gvm_container_put(payer);
		}
		ck_assert_int_eq(gvm_address_fence_access(&fence, address, 0, 8, &at), 0);
		window.va = at / CHUNK * CHUNK;
		ck_assert_int_eq(gvm_child_payer(one, &window, &payer), 0);
		ck_assert_ptr_eq(payer, child);
		gvm_container_put(payer);
		toy_store_blocks(1, (u32)((at - TOY_VA) / CHUNK), 1);
		ck_assert_uint_le(chunks_of(child), 3);
	}
	ck_assert_uint_lt(unfenced, 10);
	ck_assert_uint_eq(chunks_of(child), 3);
	ck_assert_uint_gt(child->evicted_chunks, 100);
	ck_assert_uint_eq(chunks_of(behind) + chunks_of(one) + chunks_of(two), 0);
	ck_assert_uint_eq(chunks_of(sibling), 4);
	ck_assert_uint_eq(sibling->evicted_chunks + one->evicted_chunks + two->evicted_chunks,
			  0);
	expect_file(sibling, "gmem.swap.current", 0);
	for (u32 i = 0; i < 4; i++)
		ck_assert(toy_on_device(2, i));
	toy_load_blocks(2, 0, 4);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	toy_unmap_all();
	end_child(child);
	end_child(behind);
	end_child(sibling);
	end();
}
END_TEST

/* The parent's limit holds for the sum; the member with most memory gives, not who asks. */
START_TEST(at_the_parents_limit_the_largest_member_gives)
{
	struct gvm_container *child, *sibling;

	begin(16);
	child = child_with(1, 1);
	sibling = child_with(2, 4);
	toy_map_range(0, one, 8 * CHUNK, false);
	toy_store_blocks(0, 0, 2);
	toy_write_file(one, "gmem.limit.high", "14M");
	toy_store_blocks(1, 1, 1);
	ck_assert_uint_eq(chunks_of(child), 2);
	ck_assert_uint_eq(chunks_of(sibling), 3);
	ck_assert_uint_eq(chunks_of(one), 2);
	ck_assert(!toy_on_device(2, 0) && toy_on_device(2, 1));
	ck_assert_uint_eq(one->events[GVM_EVENT_HIGH], 1);
	ck_assert_uint_eq(child->events[GVM_EVENT_HIGH], 0);
	/* The parent's own memory gives as well. */
	toy_store_blocks(0, 2, 1);
	toy_store_blocks(0, 3, 1);
	expect_file(one, "gmem.current", 7 * CHUNK);
	toy_load_blocks(2, 0, 4);
	toy_load_blocks(0, 0, 4);
	toy_load_blocks(1, 0, 2);
	expect_file(one, "gmem.current", 7 * CHUNK);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	end_family(child, sibling);
}
END_TEST

START_TEST(a_lowered_limit_of_the_parent_reclaims_from_the_family)
{
	struct gvm_container *child, *sibling;

	begin(16);
	child = child_with(1, 2);
	sibling = child_with(2, 6);
	toy_write_file(one, "gmem.limit.high", "8M");
	ck_assert_uint_eq(chunks_of(child), 2);
	ck_assert_uint_eq(chunks_of(sibling), 2);
	toy_write_file(child, "gmem.limit.high", "2M");
	ck_assert_uint_eq(chunks_of(child), 1);
	ck_assert_uint_eq(chunks_of(sibling), 2);
	end_family(child, sibling);
}
END_TEST

/* Children get the parent's gmem.limit.low in the order of their making, and not more. */
START_TEST(a_child_is_protected_by_its_part_of_the_parents_low)
{
	struct gvm_container *child, *sibling;

	begin(8);
	child = child_with(1, 2);
	sibling = child_with(2, 4);
	toy_write_file(child, "gmem.limit.low", "4M");
	ck_assert(!child->is_protected);
	toy_write_file(one, "gmem.limit.low", "6M");
	toy_write_file(sibling, "gmem.limit.low", "16M");
	ck_assert(child->is_protected && !sibling->is_protected);
	ck_assert_uint_eq(sibling->low_bytes, CHUNK);
	ck_assert_uint_eq(one->low_bytes, 0);
	/* A neighbour fills the device: the protected child keeps its memory. */
	toy_map_range(3, two, 8 * CHUNK, false);
	toy_store_blocks(3, 0, 5);
	ck_assert_uint_eq(chunks_of(child), 2);
	ck_assert_uint_eq(chunks_of(sibling), 1);
	ck_assert_uint_eq(chunks_of(two), 5);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	toy_unmap_all();
	end_child(child);
	ck_assert_uint_eq(sibling->low_bytes, 3 * CHUNK);
	end_child(sibling);
	ck_assert_uint_eq(one->low_bytes, 3 * CHUNK);
	end();
}
END_TEST

START_TEST(the_parents_hmem_limit_holds_for_the_sum_of_its_children)
{
	struct gvm_container *child, *sibling;

	begin(16);
	child = child_with(1, 3);
	sibling = child_with(2, 3);
	toy_write_file(one, "hmem.limit", "4M");
	toy_write_file(child, "gmem.limit.high", "4M");
	toy_write_file(sibling, "gmem.limit.high", "4M");
	expect_file(one, "gmem.swap.current", 2 * CHUNK);
	ck_assert(child->is_swap_full && sibling->is_swap_full && one->is_swap_full);
	/* No member can give one more chunk. */
	ck_assert(!toy_store(2, 4ull * GVM_PAGES_PER_BLOCK, 1));
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	toy_unmap_range(1);
	ck_assert(!sibling->is_swap_full && !one->is_swap_full);
	ck_assert(toy_store(2, 4ull * GVM_PAGES_PER_BLOCK, 1));
	end_family(child, sibling);
}
END_TEST

/* Regression: the parent's own pages took room on the host that its children had used up. */
START_TEST(the_parents_own_host_memory_counts_beside_its_childrens)
{
	struct gvm_container *child;

	begin(16);
	child = child_with(1, 3);
	toy_write_file(one, "hmem.limit", "4M");
	toy_write_file(child, "gmem.limit.high", "4M");
	expect_file(one, "gmem.swap.current", CHUNK);
	ck_assert_int_eq(gvm_swap_reserve(one, CHUNK + 1), -EDQUOT);
	ck_assert_int_eq(gvm_swap_reserve(one, CHUNK), 0);
	ck_assert_int_eq(gvm_swap_reserve(one, 1), -EDQUOT);
	ck_assert_int_eq(gvm_swap_reserve(child, 1), -EDQUOT);
	expect_file(one, "gmem.swap.current", 2 * CHUNK);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	gvm_swap_uncharge(one, CHUNK);
	end_family(child, NULL);
}
END_TEST

/* A limit of the parent that just holds what its members have. */
static void limit_family_to_usage(void)
{
	gvm_limit_set_high(one, gvm_charged_bytes(one));
}

/* Only a member that is below its own part takes a protected chunk of another one. */
START_TEST(a_newcomer_takes_no_protected_memory_of_its_siblings)
{
	struct gvm_container *child, *sibling, *newcomer;

	begin(16);
	child = child_with(1, 2);
	sibling = child_with(2, 4);
	newcomer = child_with(3, 0);
	toy_write_file(one, "gmem.limit.low", "12M");
	toy_write_file(sibling, "gmem.limit.low", "8M");
	toy_write_file(child, "gmem.limit.low", "4M");
	limit_family_to_usage();
	ck_assert(child->is_protected && sibling->is_protected);
	ck_assert(!toy_store(3, 0, 1));
	ck_assert_uint_eq(chunks_of(child), 2);
	ck_assert_uint_eq(chunks_of(sibling), 4);
	/* The promise to the sibling is lowered: now it gives. */
	toy_write_file(sibling, "gmem.limit.low", "6M");
	ck_assert(toy_store(3, 0, 1));
	ck_assert_uint_eq(chunks_of(sibling), 3);
	/* The newcomer has nothing above its part, and gives its own chunk for another one. */
	ck_assert(toy_store(3, GVM_PAGES_PER_BLOCK, 1));
	ck_assert_uint_eq(chunks_of(child), 2);
	ck_assert_uint_eq(chunks_of(sibling), 3);
	ck_assert_uint_eq(newcomer->evicted_chunks, 1);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	toy_unmap_all();
	end_child(child);
	end_child(sibling);
	end_child(newcomer);
	end();
}
END_TEST

/* The parent's high goes before the lows of its children, as within one container. */
START_TEST(a_lowered_limit_of_the_parent_reclaims_protected_memory_too)
{
	struct gvm_container *child;

	begin(16);
	child = child_with(1, 4);
	toy_write_file(one, "gmem.limit.low", "8M");
	toy_write_file(child, "gmem.limit.low", "8M");
	toy_write_file(one, "gmem.limit.high", "4M");
	ck_assert_uint_eq(chunks_of(child), 2);
	end_family(child, NULL);
}
END_TEST

/* The last chunk of a sibling is on its way out: a moment later there is room. */
START_TEST(a_siblings_chunk_on_its_way_out_is_waited_for)
{
	struct gvm_eviction eviction = { 0 };
	struct gvm_container *child, *sibling;
	u32 chunk;

	begin(8);
	child = child_with(1, 0);
	sibling = child_with(2, 1);
	limit_family_to_usage();
	chunk = gvm_clock_pick_own(sibling);
	if (chunk == GVM_NO_CHUNK) /* it was just used */
		chunk = gvm_clock_pick_own(sibling);
	ck_assert(chunk != GVM_NO_CHUNK);
	ck_assert_int_eq(gvm_evict_for(child, GVM_NEED_CHARGE, &eviction), -EAGAIN);
	gvm_clock_putback(&toy.device, chunk);
	/* Likewise one that is on its way in. */
	gvm_limit_set_high(one, 2 * CHUNK);
	ck_assert_int_eq(gvm_charge_reserve(sibling), 0);
	toy_unmap_range(2);
	limit_family_to_usage();
	ck_assert_int_eq(gvm_evict_for(child, GVM_NEED_CHARGE, &eviction), -EAGAIN);
	gvm_charge_cancel(sibling);
	gvm_limit_set_high(one, 0);
	ck_assert_int_eq(gvm_evict_for(child, GVM_NEED_CHARGE, &eviction), -ENOENT);
	/* Room for less than a chunk is enough for a small charge. */
	gvm_limit_set_high(one, GVM_PAGE_BYTES);
	ck_assert_int_eq(gvm_evict_for(child, GVM_NEED_CHARGE, &eviction), -ENOENT);
	eviction.bytes = GVM_PIECE_BYTES;
	ck_assert_int_eq(gvm_evict_for(child, GVM_NEED_CHARGE, &eviction), 0);
	end_family(child, sibling);
}
END_TEST

/* The sibling has the most memory. All but a part of a chunk has to stay: hmem.limit is 0. */
START_TEST(a_sibling_that_can_give_no_chunk_costs_a_tenant_nothing)
{
	struct gvm_container *child, *sibling;

	toy_init_with(16, GVM_CLEAN_DROP);
	one = toy_attach(1);
	two = toy_attach(2);
	child = child_with(1, 2);
	sibling = child_with(2, 4);
	gvm_clean_charge(sibling, toy.spaces[2].range.blocks[0].chunk, 0, GVM_PAGE_BYTES);
	gvm_limit_set_hmem(sibling, 0);
	limit_family_to_usage();
	ck_assert(sibling->is_swap_full && sibling->clean_bytes);
	ck_assert(toy_store(1, 2 * GVM_PAGES_PER_BLOCK, 1));
	ck_assert_uint_eq(chunks_of(sibling), 4);
	ck_assert_uint_eq(child->evicted_chunks, 1);
	gvm_clean_charge(sibling, toy.spaces[2].range.blocks[0].chunk, GVM_PAGE_BYTES, 0);
	end_family(child, sibling);
}
END_TEST

/* The parent's limit made them remote, so a higher one ends them. */
START_TEST(a_write_of_the_parents_limit_ends_remote_pages_of_its_children)
{
	struct gvm_container *child;
	struct gvm_range *range;

	begin(16);
	child = child_with(1, 0);
	range = &toy.spaces[1].range;
	gvm_limit_set_high(one, 2 * CHUNK);
	ck_assert_uint_lt(toy_store_together(1, 0, 5, 100), TOY_REPLAYS_MAX);
	ck_assert_uint_gt(range->remote_pages, 0);
	toy_write_file(one, "gmem.limit.high", "16M");
	ck_assert_uint_eq(range->remote_pages, 0);
	end_family(child, NULL);
}
END_TEST

START_TEST(a_closed_child_keeps_its_memory_until_the_range_is_gone)
{
	struct gvm_container *child, *heir;
	struct gvm_window window;

	begin(8);
	window = window_of(1);
	child = child_with(1, 2);
	gvm_container_put(child); /* its window and its range are left */
	gvm_children_close(one, &toy.spaces[2]);
	ck_assert_uint_eq(child->window.bytes, TOY_BLOCKS_MAX * CHUNK);
	gvm_children_close(one, &toy.spaces[1]);
	ck_assert_ptr_null(gvm_child_find(one, 1));
	toy_store_blocks(1, 2, 1);
	ck_assert_uint_eq(chunks_of(child), 3);
	expect_file(one, "gmem.current", 3 * CHUNK);
	/* A new child takes the number and the addresses, and owes nothing. */
	ck_assert_int_eq(gvm_child_open(one, &window, 1, &heir), 0);
	expect_file(heir, "gmem.current", 0);
	ck_assert_uint_eq(one->child_count, 2);
	toy_unmap_range(1);
	ck_assert_uint_eq(one->child_count, 1);
	expect_file(one, "gmem.current", 0);
	end_child(heir);
	ck_assert_uint_eq(one->child_count, 0);
	end();
}
END_TEST

/* The process is gone; a reader of the child's files keeps the parent as well. */
START_TEST(a_child_keeps_its_parent)
{
	struct gvm_container *child;

	begin(8);
	child = child_with(1, 1);
	toy_unmap_range(1);
	gvm_children_close(one, &toy.spaces[1]);
	gvm_container_detach(one);
	ck_assert_ptr_eq(child->parent, one);
	ck_assert_uint_eq(toy.device.container_count, 3);
	gvm_container_put(child);
	ck_assert_uint_eq(toy.device.container_count, 1);
	gvm_container_detach(two);
	toy_destroy();
}
END_TEST

static void expect_events(struct gvm_container *container, const char *expected)
{
	char text[GVM_CONTROL_TEXT_MAX];

	ck_assert_int_gt(gvm_control_read(container, "gmem.events", text, sizeof(text)), 0);
	ck_assert_str_eq(text, expected);
}

START_TEST(events_and_clean_memory_of_the_parent_are_those_of_the_family)
{
	struct gvm_container *child;
	u32 chunk;

	begin(8);
	child = child_with(1, 2);
	toy_map_range(0, one, 2 * CHUNK, false);
	toy_store_blocks(0, 0, 1);
	toy_write_file(child, "gmem.limit.high", "4M");
	toy_store_blocks(1, 2, 1);
	toy_store_blocks(1, 3, 1);
	expect_events(child, "high 2\nhmem 0\noom 0\n");
	expect_events(one, "high 2\nhmem 0\noom 0\n");
	ck_assert_uint_eq(one->events[GVM_EVENT_HIGH], 0);
	chunk = toy.spaces[1].range.blocks[3].chunk;
	gvm_clean_charge(child, chunk, 0, GVM_PAGE_BYTES);
	expect_file(child, "gmem.clean.current", GVM_PAGE_BYTES);
	expect_file(one, "gmem.clean.current", GVM_PAGE_BYTES);
	gvm_clean_charge(child, chunk, GVM_PAGE_BYTES, 0);
	toy_unmap_all();
	end_child(child);
	/* The child has gone; what happened to its memory has happened to the parent's. */
	ck_assert_uint_eq(one->child_count, 0);
	expect_events(one, "high 2\nhmem 0\noom 0\n");
	end();
}
END_TEST

START_TEST(windows_are_resized_and_never_overlap)
{
	struct gvm_window small, behind, addresses;
	struct gvm_container *child, *sibling, *payer;

	begin(8);
	small = (struct gvm_window){ .space = &toy, .va = 4 * CHUNK, .bytes = 4 * CHUNK };
	behind = (struct gvm_window){ .space = &toy, .va = 12 * CHUNK, .bytes = CHUNK };
	ck_assert_int_eq(gvm_child_open(one, &small, 1, &child), 0);
	ck_assert_int_eq(gvm_child_open(child, &behind, 3, &sibling), -EINVAL);
	ck_assert_int_eq(gvm_child_open(one, &small, 2, &sibling), -EEXIST);
	ck_assert_int_eq(gvm_child_open(one, &behind, 1, &sibling), -EEXIST);
	ck_assert_int_eq(gvm_child_open(one, &behind, 2, &sibling), 0);
	ck_assert_int_eq(gvm_child_resize(child, 9 * CHUNK), -EEXIST);
	ck_assert_int_eq(gvm_child_resize(child, 1), -EINVAL);
	ck_assert_int_eq(gvm_child_resize(child, 0), -EINVAL);
	ck_assert_int_eq(gvm_child_resize(child, 0 - 4 * CHUNK), -EEXIST);
	ck_assert_int_eq(gvm_child_resize(child, 8 * CHUNK), 0);
	addresses = (struct gvm_window){ .space = &toy, .va = 11 * CHUNK, .bytes = CHUNK };
	ck_assert_int_eq(gvm_child_payer(one, &addresses, &payer), 0);
	ck_assert_ptr_eq(payer, child);
	gvm_container_put(payer);
	addresses.bytes = 2 * CHUNK; /* a part in each of two windows */
	ck_assert_int_eq(gvm_child_payer(one, &addresses, &payer), -EINVAL);
	ck_assert_int_eq(gvm_child_resize(child, 7 * CHUNK), 0);
	addresses.bytes = CHUNK;
	ck_assert_int_eq(gvm_child_payer(one, &addresses, &payer), 0);
	ck_assert_ptr_eq(payer, one);
	gvm_container_put(payer);
	gvm_child_close(child);
	ck_assert_int_eq(gvm_child_resize(child, CHUNK), -ENOENT);
	gvm_container_put(child);
	end_child(sibling);
	end();
}
END_TEST

START_TEST(a_container_has_a_bounded_number_of_children)
{
	struct gvm_container *children[GVM_CHILDREN_MAX + 1];

	begin(8);
	for (u32 i = 0; i <= GVM_CHILDREN_MAX; i++) {
		struct gvm_window window = { .space = &toy, .va = i * CHUNK, .bytes = CHUNK };

		ck_assert_int_eq(gvm_child_open(one, &window, i, &children[i]),
				 i < GVM_CHILDREN_MAX ? 0 : -ENOSPC);
	}
	gvm_children_close(one, &toy);
	for (u32 i = 0; i < GVM_CHILDREN_MAX; i++)
		gvm_container_put(children[i]);
	ck_assert_uint_eq(one->child_count, 0);
	end();
}
END_TEST

TEST_MAIN("child", a_range_in_a_window_is_charged_to_the_child_and_counts_for_the_parent,
	  small_blocks_of_a_child_are_charged_to_the_page,
	  a_child_at_its_limit_gives_its_own_coldest_chunk,
	  wild_stores_of_a_fenced_child_touch_its_own_memory_only,
	  at_the_parents_limit_the_largest_member_gives,
	  a_lowered_limit_of_the_parent_reclaims_from_the_family,
	  a_child_is_protected_by_its_part_of_the_parents_low,
	  the_parents_hmem_limit_holds_for_the_sum_of_its_children,
	  the_parents_own_host_memory_counts_beside_its_childrens,
	  a_newcomer_takes_no_protected_memory_of_its_siblings,
	  a_lowered_limit_of_the_parent_reclaims_protected_memory_too,
	  a_siblings_chunk_on_its_way_out_is_waited_for,
	  a_sibling_that_can_give_no_chunk_costs_a_tenant_nothing,
	  a_write_of_the_parents_limit_ends_remote_pages_of_its_children,
	  a_closed_child_keeps_its_memory_until_the_range_is_gone, a_child_keeps_its_parent,
	  events_and_clean_memory_of_the_parent_are_those_of_the_family,
	  windows_are_resized_and_never_overlap, a_container_has_a_bounded_number_of_children)
