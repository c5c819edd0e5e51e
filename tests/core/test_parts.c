// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Small blocks that share chunks (block/part.c), on a GPU of a few chunks with contents: who
 * shares, who pays, what leaves, and what stays when only a part can leave.
 */
#include "draw.h"
#include "gvm/clock.h"
#include "gvm/control.h"
#include "runner.h"
#include "toy_gpu.h"

#define CHUNK  GVM_CHUNK_BYTES
#define PAGE   GVM_PAGE_BYTES
#define PAGES  GVM_PAGES_PER_BLOCK
#define RANGES TOY_BLOCKS_MAX

static struct gvm_container *one, *two;

/* Ranges of one block. Number i lies in block i of its address space. */
static struct small {
	struct gvm_range range;
	u32 space;
	u32 pages; /* 0: not mapped */
	u32 tag;   /* of all its pages; 0: never written */
} small[RANGES];

static void map_small(u32 i, u32 space, struct gvm_container *container, u32 pages)
{
	const struct gvm_range_config config = {
		.container = container,
		.space = &toy.spaces[space],
		.va = TOY_VA + i * CHUNK,
		.bytes = pages * PAGE,
	};

	small[i] = (struct small){ .space = space, .pages = pages };
	ck_assert_int_eq(gvm_range_init(&toy.memory, &small[i].range, &config), 0);
}

static void unmap_small(u32 i)
{
	gvm_range_destroy(&small[i].range);
	small[i].pages = 0;
}

static void store_small(u32 i, u32 tag)
{
	for (u32 page = 0; page < small[i].pages; page++)
		ck_assert(toy_store(small[i].space, i * PAGES + page, tag + page));
	small[i].tag = tag;
}

static void load_small(u32 i)
{
	for (u32 page = 0; page < small[i].pages; page++)
		ck_assert(toy_load(small[i].space, i * PAGES + page,
				   small[i].tag ? small[i].tag + page : 0));
}

static void load_all(void)
{
	for (u32 i = 0; i < RANGES; i++)
		load_small(i);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
}

static struct gvm_block *block_of(u32 i)
{
	return &small[i].range.blocks[0];
}

static u32 chunk_of(u32 i)
{
	return block_of(i)->chunk;
}

static void begin(u32 chunks)
{
	memset(small, 0, sizeof(small));
	toy_init_parts(chunks, 0);
	one = toy_attach(1);
	two = toy_attach(2);
}

static void end(void)
{
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	for (u32 i = 0; i < RANGES; i++)
		if (small[i].pages)
			unmap_small(i);
	toy_unmap_all();
	ck_assert_uint_eq(one->charged_bytes + two->charged_bytes, 0);
	ck_assert_uint_eq(one->swapped_bytes + two->swapped_bytes, 0);
	gvm_container_detach(one);
	gvm_container_detach(two);
	toy_destroy();
}

/* Evict a chunk as an evictor does. */
static int evict(u32 chunk, struct gvm_eviction *eviction)
{
	ck_assert(gvm_clock_take(&toy.device, chunk));
	return toy.device.memory_ops->evict(&toy.memory, chunk, eviction);
}

/* 96 ranges of 64 KB take 6 MB in three chunks. A chunk for each would be 192 MB. */
START_TEST(many_small_ranges_cost_their_bytes)
{
	begin(4);
	for (u32 i = 0; i < RANGES; i++) {
		map_small(i, 0, one, 1);
		store_small(i, 100 + i);
		ck_assert_uint_eq(one->charged_bytes, (i + 1) * PAGE);
		ck_assert_uint_eq(one->bound_chunks, i / PAGES + 1);
	}
	ck_assert_uint_eq(toy.device.bound_chunks, 3);
	ck_assert_uint_eq(toy.free_count, 1);
	load_all();
	ck_assert_uint_eq(toy.kinds[TOY_OUT], 0);
	end();
}
END_TEST

START_TEST(the_end_of_a_range_is_a_part)
{
	begin(4);
	toy_map_range(0, one, CHUNK + 3 * PAGE, false);
	toy_store_blocks(0, 0, 2);
	ck_assert_uint_eq(one->charged_bytes, CHUNK + 3 * PAGE);
	map_small(5, 1, one, PAGES - 3);
	store_small(5, 7);
	ck_assert_uint_eq(one->charged_bytes, 2 * CHUNK);
	ck_assert_uint_eq(toy.device.bound_chunks, 2);
	ck_assert_uint_eq(block_of(5)->offset_pages, 3);
	toy_load_blocks(0, 0, 2);
	load_all();
	end();
}
END_TEST

START_TEST(address_spaces_share_and_containers_do_not)
{
	begin(4);
	map_small(0, 0, one, 4);
	map_small(1, 1, one, 4);
	map_small(2, 2, two, 4);
	for (u32 i = 0; i < 3; i++)
		store_small(i, 1000 * (i + 1));
	ck_assert_uint_eq(chunk_of(0), chunk_of(1));
	ck_assert(chunk_of(0) != chunk_of(2));
	ck_assert(block_of(0)->offset_pages != block_of(1)->offset_pages);
	load_all();
	/* What the neighbour leaves behind is cleared before another block reads it. */
	unmap_small(1);
	map_small(3, 3, one, 4);
	load_small(3);
	ck_assert_uint_eq(chunk_of(3), chunk_of(0));
	end();
}
END_TEST

START_TEST(a_place_that_was_left_is_used_again)
{
	begin(4);
	for (u32 i = 0; i < 4; i++) {
		map_small(i, 0, one, 8);
		store_small(i, 10 * i + 1);
	}
	unmap_small(1);
	map_small(4, 0, one, 9);
	store_small(4, 77);
	ck_assert_uint_eq(toy.device.bound_chunks, 2);
	map_small(5, 0, one, 5);
	store_small(5, 88);
	ck_assert_uint_eq(chunk_of(5), chunk_of(0));
	ck_assert_uint_eq(block_of(5)->offset_pages, 8);
	load_all();
	end();
}
END_TEST

START_TEST(a_victim_takes_all_its_blocks_along)
{
	struct gvm_eviction eviction = { 0 };

	begin(4);
	for (u32 i = 0; i < 3; i++) {
		map_small(i, i, one, 5);
		store_small(i, 100 * (i + 1));
	}
	ck_assert_int_eq(evict(chunk_of(0), &eviction), 0);
	ck_assert_uint_eq(eviction.left_bytes, 0);
	ck_assert_uint_eq(one->charged_bytes, 0);
	ck_assert_uint_eq(one->swapped_bytes, 15 * PAGE);
	ck_assert_uint_eq(one->evicted_chunks, 1);
	ck_assert_uint_eq(toy.free_count, 4);
	load_all();
	ck_assert_uint_eq(one->swapped_bytes, 0);
	end();
}
END_TEST

/* One half leaves while the other is in service. The chunk stays, charged for that half. */
START_TEST(what_is_in_service_stays_and_the_chunk_with_it)
{
	struct gvm_eviction eviction = { .keep = true };
	u32 chunk;

	begin(4);
	map_small(0, 0, one, PAGES / 2);
	map_small(1, 1, one, PAGES / 2);
	store_small(0, 100);
	store_small(1, 200);
	chunk = chunk_of(0);
	gvm_block_set_in_service(&toy.memory, block_of(1), true);
	ck_assert(!toy.device.memory_ops->evictable(&toy.memory, chunk));
	ck_assert_int_eq(evict(chunk, &eviction), 0);
	ck_assert_uint_eq(eviction.left_bytes, CHUNK / 2);
	ck_assert_uint_eq(chunk_of(0), GVM_NO_CHUNK);
	ck_assert_uint_eq(chunk_of(1), chunk);
	ck_assert_uint_eq(one->charged_bytes, CHUNK / 2);
	ck_assert_uint_eq(one->swapped_bytes, CHUNK / 2);
	ck_assert_uint_eq(one->evicted_chunks, 0);
	ck_assert_int_eq(toy.device.chunks[chunk].state, GVM_CHUNK_BOUND);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	/* Nothing can leave now. */
	ck_assert_int_eq(evict(chunk, &eviction), -EBUSY);
	ck_assert_uint_eq(eviction.left_bytes, 0);
	gvm_block_set_in_service(&toy.memory, block_of(1), false);
	load_all();
	ck_assert_uint_eq(chunk_of(0), chunk);
	/* A chunk that is wholly empty is handed over. */
	ck_assert_int_eq(evict(chunk, &eviction), 0);
	ck_assert_uint_eq(eviction.left_bytes, 0);
	ck_assert_int_eq(toy.device.chunks[chunk].state, GVM_CHUNK_FREE);
	ck_assert_uint_eq(toy.free_count, 3);
	toy.device.memory_ops->release(&toy.memory, chunk);
	load_all();
	end();
}
END_TEST

START_TEST(a_failed_copy_leaves_the_rest_in_place)
{
	struct gvm_eviction eviction = { 0 };

	begin(4);
	for (u32 i = 0; i < 3; i++) {
		map_small(i, 0, one, 2);
		store_small(i, 50 + 10 * i);
	}
	toy.fail_out = (u32)toy.kinds[TOY_OUT] + 2;
	ck_assert_int_eq(evict(chunk_of(0), &eviction), -EIO);
	ck_assert_uint_eq(one->charged_bytes, 4 * PAGE);
	ck_assert_uint_eq(chunk_of(0), GVM_NO_CHUNK);
	ck_assert_int_eq(toy.device.chunks[chunk_of(1)].state, GVM_CHUNK_BOUND);
	load_all();
	end();
}
END_TEST

START_TEST(a_chunk_that_is_being_evicted_gets_no_new_part)
{
	u32 chunk;

	begin(4);
	map_small(0, 0, one, 2);
	map_small(1, 0, one, 2);
	store_small(0, 10);
	chunk = chunk_of(0);
	ck_assert(gvm_clock_take(&toy.device, chunk));
	store_small(1, 20);
	ck_assert(chunk_of(1) != chunk);
	gvm_clock_putback(&toy.device, chunk);
	load_all();
	end();
}
END_TEST

/* The owner frees all blocks of a picked chunk: the evictor is told, and gets nothing. */
START_TEST(a_chunk_whose_blocks_left_by_themselves_is_freed_once)
{
	struct gvm_eviction eviction = { .keep = true };
	u32 chunk;

	begin(4);
	map_small(0, 0, one, 2);
	map_small(1, 0, one, 2);
	store_small(0, 10);
	store_small(1, 20);
	chunk = chunk_of(0);
	ck_assert(gvm_clock_take(&toy.device, chunk));
	ck_assert_uint_eq(gvm_range_discard(&small[0].range, 0, 2 * PAGE), 2 * PAGE);
	unmap_small(1);
	ck_assert_uint_eq(toy.free_count, 4);
	ck_assert_int_eq(toy.device.memory_ops->evict(&toy.memory, chunk, &eviction), -ENOENT);
	ck_assert_uint_eq(toy.free_count, 4);
	small[0].tag = 0;
	load_all();
	end();
}
END_TEST

START_TEST(a_limit_counts_the_bytes_of_parts)
{
	begin(8);
	toy_write_file(one, "gmem.limit.high", "655360"); /* ten pages */
	for (u32 i = 0; i < 20; i++) {
		map_small(i, 0, one, 1);
		store_small(i, 100 + i);
		ck_assert_uint_le(one->charged_bytes, 10 * PAGE);
	}
	ck_assert_uint_eq(one->evicted_chunks, 1);
	for (u32 i = 0; i < 20; i++)
		load_small(i);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	toy_write_file(one, "gmem.limit.high", "0");
	ck_assert_uint_eq(one->charged_bytes, 0);
	ck_assert(!toy_load(0, 0, 0));
	end();
}
END_TEST

/*
 * Parts of 17 pages: no two fit into a chunk. Three of them are within 4 MB in bytes, but would
 * keep 6 MB from others.
 */
START_TEST(a_limit_holds_for_chunks_that_are_partly_charged)
{
	begin(8);
	toy_write_file(one, "gmem.limit.high", "4194304");
	for (u32 i = 0; i < 5; i++) {
		map_small(i, 0, one, 17);
		store_small(i, 100 * i + 1);
		ck_assert_uint_le(one->bound_chunks, 2);
	}
	for (u32 i = 0; i < 5; i++) {
		load_small(i);
		ck_assert_uint_le(one->bound_chunks, 2);
	}
	toy_write_file(one, "gmem.limit.high", "2097152");
	ck_assert_uint_eq(one->bound_chunks, 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	end();
}
END_TEST

START_TEST(a_hint_unmaps_all_blocks_of_a_chunk)
{
	begin(4);
	for (u32 i = 0; i < 2; i++) {
		map_small(i, 0, one, 3);
		store_small(i, 10 * (i + 1));
	}
	ck_assert_int_eq(toy.device.memory_ops->hint(&toy.memory, chunk_of(0)), 0);
	ck_assert_uint_eq(small[0].range.hinted_pages + small[1].range.hinted_pages, 6);
	load_all();
	ck_assert_uint_eq(small[0].range.hinted_pages + small[1].range.hinted_pages, 0);
	end();
}
END_TEST

/* Each invariant of the parts, broken by hand. */
START_TEST(the_check_finds_broken_books_of_parts)
{
	struct gvm_root *root;
	struct list_head *next;

	begin(4);
	map_small(0, 0, one, 3);
	map_small(1, 0, one, 3);
	store_small(0, 10);
	store_small(1, 20);
	root = &toy.memory.roots[chunk_of(0)];
	root->used ^= 1u << 9;
	ck_assert_int_eq(gvm_check(&toy.device), -EUCLEAN);
	root->used ^= 1u << 9;
	block_of(1)->offset_pages--;
	ck_assert_int_eq(gvm_check(&toy.device), -EUCLEAN);
	block_of(1)->offset_pages++;
	root->container = two;
	ck_assert_int_eq(gvm_check(&toy.device), -EUCLEAN);
	root->container = one;
	next = root->node.next;
	list_del_init(&root->node);
	ck_assert_int_eq(gvm_check(&toy.device), -EUCLEAN);
	list_add(&root->node, next);
	gvm_uncharge_part(&toy.device, chunk_of(0), 4, 1);
	ck_assert_int_eq(gvm_check(&toy.device), -EUCLEAN);
	ck_assert_int_eq(gvm_charge_join(one, chunk_of(0), 4, 1), 0);
	load_all();
	end();
}
END_TEST

static u64 random_state = 5;

static u32 draw(u32 below)
{
	return draw_below(&random_state, below);
}

/* One step of the random test: map, unmap, store, load, discard, evict or change a limit. */
static void random_step(u32 tag)
{
	u32 i = draw(RANGES), chunk = draw(toy.device.chunk_count);
	struct gvm_eviction eviction = { 0 };

	if (!small[i].pages) {
		map_small(i, i % 4, i % 4 < 2 ? one : two, 1 + draw(draw(2) ? 4 : PAGES - 1));
		return;
	}
	switch (draw(8)) {
	case 0:
		unmap_small(i);
		break;
	case 1:
		(void)gvm_range_discard(&small[i].range, 0, small[i].pages * PAGE);
		small[i].tag = 0;
		break;
	case 2:
		if (gvm_clock_take(&toy.device, chunk))
			(void)toy.device.memory_ops->evict(&toy.memory, chunk, &eviction);
		break;
	case 3:
		gvm_limit_set_high(draw(2) ? one : two, (2 + draw(6)) * CHUNK + draw(2) * PAGE);
		break;
	case 4:
		load_small(i);
		break;
	default:
		store_small(i, tag);
		break;
	}
}

/* The books say what the blocks say, after every step. */
START_TEST(random_parts_keep_their_bytes_and_their_charges)
{
	begin(8);
	for (u32 step = 0; step < 6000; step++) {
		u64 bytes[2] = { 0 };

		random_step(64 * (step + 1));
		for (u32 i = 0; i < RANGES; i++) {
			if (small[i].pages && chunk_of(i) != GVM_NO_CHUNK)
				bytes[small[i].range.container == two] += small[i].pages * PAGE;
		}
		ck_assert_uint_eq(one->charged_bytes, bytes[0]);
		ck_assert_uint_eq(two->charged_bytes, bytes[1]);
		ck_assert_uint_eq(toy.free_count + toy.device.bound_chunks, 8);
		if (step % 16 == 0)
			ck_assert_int_eq(gvm_check(&toy.device), 0);
	}
	gvm_limit_set_high(one, GVM_NO_LIMIT);
	gvm_limit_set_high(two, GVM_NO_LIMIT);
	load_all();
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	ck_assert_uint_gt(one->evicted_chunks, 100);
	ck_assert_uint_gt(two->evicted_chunks, 100);
	end();
}
END_TEST

TEST_MAIN("parts", many_small_ranges_cost_their_bytes, the_end_of_a_range_is_a_part,
	  address_spaces_share_and_containers_do_not, a_place_that_was_left_is_used_again,
	  a_victim_takes_all_its_blocks_along, what_is_in_service_stays_and_the_chunk_with_it,
	  a_failed_copy_leaves_the_rest_in_place,
	  a_chunk_that_is_being_evicted_gets_no_new_part,
	  a_chunk_whose_blocks_left_by_themselves_is_freed_once,
	  a_limit_counts_the_bytes_of_parts, a_limit_holds_for_chunks_that_are_partly_charged,
	  a_hint_unmaps_all_blocks_of_a_chunk, the_check_finds_broken_books_of_parts,
	  random_parts_keep_their_bytes_and_their_charges)
