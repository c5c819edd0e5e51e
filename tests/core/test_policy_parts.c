// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Parts of a chunk: each container pays for its own bytes, whichever container owns the chunk.
 * Also here: chunks that are allocated and not bound yet, and chunks taken by force.
 */
#include "core_world.h"
#include "draw.h"
#include "give.h"
#include "gvm/control.h"
#include "gvm/evict.h"
#include "gvm/swap.h"

#include <stdlib.h>

#define PAGE  GVM_PAGE_BYTES
#define PAGES GVM_PAGES_PER_BLOCK

static struct gvm_device *const device = &world.device;
static struct gvm_container *a, *b, *c;

static u8 state_of(u32 chunk)
{
	return device->chunks[chunk].state;
}

START_TEST(each_part_is_paid_by_the_container_that_got_it)
{
	give(a, 3, 0, 4);
	give(b, 3, 4, 2);
	ck_assert_uint_eq(gvm_charged_bytes(a), 4 * PAGE);
	ck_assert_uint_eq(gvm_charged_bytes(b), 2 * PAGE);
	ck_assert_uint_eq(device->bound_chunks, 1);
	ck_assert_ptr_eq(device->chunks[3].owner, a);
	world_check();
	gvm_uncharge_part(device, 3, 4, 1);
	ck_assert_uint_eq(gvm_charged_bytes(b), PAGE);
	gvm_uncharge(device, 3);
	ck_assert_uint_eq(gvm_charged_bytes(a) + gvm_charged_bytes(b), 0);
	ck_assert_uint_eq(state_of(3), GVM_CHUNK_FREE);
}
END_TEST

/* D15 */
START_TEST(a_limit_counts_parts_to_the_byte)
{
	gvm_limit_set_high(a, 5 * PAGE);
	give(a, 0, 0, 3);
	ck_assert_int_eq(gvm_charge_reserve_bytes(a, 3 * PAGE), -EDQUOT);
	give(a, 1, 7, 2);
	ck_assert_int_eq(gvm_charge_reserve_bytes(a, PAGE), -EDQUOT);
	ck_assert_uint_eq(a->events[GVM_EVENT_HIGH], 2);
	gvm_limit_set_high(a, PAGE);
	ck_assert_uint_eq(gvm_charge_excess(a), 1);
}
END_TEST

/* A page in each of four chunks: where limits hold for bytes, two chunks are room for that. */
START_TEST(a_limit_of_bytes_counts_no_chunks)
{
	for (u32 chunk = 0; chunk < 4; chunk++)
		give(a, chunk, 0, 1);
	gvm_limit_set_high(a, 2 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(gvm_charge_excess(a), 2);
	device->byte_limits = true;
	ck_assert_uint_eq(gvm_charge_excess(a), 0);
	gvm_limit_set_high(a, 3 * PAGE);
	ck_assert_uint_eq(gvm_charge_excess(a), 1);
}
END_TEST

START_TEST(another_payer_owns_the_chunk_when_the_owner_has_left)
{
	give(a, 5, 0, 1);
	give(b, 5, 9, 1);
	gvm_uncharge_part(device, 5, 0, 1);
	ck_assert_ptr_eq(device->chunks[5].owner, b);
	ck_assert_uint_eq(b->bound_chunks, 1);
	ck_assert_uint_eq(a->bound_chunks, 0);
	world_check();
	ck_assert_uint_eq(world_pick_own(b, 2), 5);
	gvm_uncharge_part(device, 5, 9, 1);
	ck_assert_uint_eq(b->evicted_chunks, 1);
}
END_TEST

START_TEST(an_eviction_of_a_part_leaves_the_rest_charged)
{
	give(a, 2, 0, PAGES);
	ck_assert_uint_eq(world_pick_own(a, 2), 2);
	ck_assert_uint_eq(a->evicting_bytes, GVM_CHUNK_BYTES);
	gvm_uncharge_part(device, 2, 0, 20);
	ck_assert_uint_eq(a->evicting_bytes, 12 * PAGE);
	world_check();
	gvm_clock_putback(device, 2);
	ck_assert_uint_eq(gvm_charged_bytes(a), 12 * PAGE);
	ck_assert_uint_eq(a->evicting_bytes, 0);
	ck_assert_uint_eq(a->evicted_chunks, 0);
}
END_TEST

START_TEST(an_owner_can_leave_while_its_chunk_is_evicted)
{
	give(a, 2, 0, 2);
	give(b, 2, 2, 3);
	ck_assert_uint_eq(world_pick_own(a, 2), 2);
	gvm_uncharge_part(device, 2, 0, 2);
	ck_assert_uint_eq(a->evicting_bytes, 0);
	ck_assert_uint_eq(b->evicting_bytes, 3 * PAGE);
	world_check();
	gvm_uncharge(device, 2);
	ck_assert_uint_eq(device->evicting_chunks, 0);
}
END_TEST

START_TEST(pieces_of_a_page_are_charged_to_the_byte)
{
	for (u32 i = 0; i < GVM_PIECES_PER_PAGE; i++) {
		ck_assert_int_eq(give_piece(a, 4, 6), 0);
		ck_assert_uint_eq(gvm_charged_bytes(a), (i + 1) * GVM_PIECE_BYTES);
		world_check();
	}
	ck_assert_uint_eq(gvm_charged_bytes(a), PAGE);
	ck_assert_uint_eq(a->bound_chunks, 1);
	ck_assert_uint_eq(a->unevictable_bytes, 0);
	for (u32 i = GVM_PIECES_PER_PAGE; i > 1; i--) {
		gvm_uncharge_piece(device, 4, 6);
		ck_assert_uint_eq(gvm_charged_bytes(a), (i - 1) * GVM_PIECE_BYTES);
		world_check();
	}
	gvm_uncharge_piece(device, 4, 6);
	ck_assert_uint_eq(gvm_charged_bytes(a), 0);
	ck_assert_uint_eq(state_of(4), GVM_CHUNK_FREE);
}
END_TEST

START_TEST(a_page_leaves_in_pieces_or_pieces_leave_as_a_page)
{
	give(a, 1, 0, 2);
	gvm_uncharge_piece(device, 1, 1);
	ck_assert_uint_eq(gvm_charged_bytes(a), 2 * PAGE - GVM_PIECE_BYTES);
	world_check();
	ck_assert_int_eq(give_piece(b, 1, 9), 0);
	ck_assert_int_eq(give_piece(b, 1, 9), 0);
	gvm_uncharge_part(device, 1, 9, 1);
	ck_assert_uint_eq(gvm_charged_bytes(b), 0);
	/* An eviction takes all of it. */
	ck_assert_uint_eq(world_pick_own(a, 2), 1);
	ck_assert_uint_eq(a->evicting_bytes, 2 * PAGE - GVM_PIECE_BYTES);
	gvm_uncharge(device, 1);
	ck_assert_uint_eq(gvm_charged_bytes(a), 0);
	ck_assert_uint_eq(a->evicting_bytes, 0);
	world_check();
}
END_TEST

START_TEST(a_page_of_pieces_has_one_payer)
{
	ck_assert_int_eq(give_piece(a, 2, 3), 0);
	ck_assert_int_eq(give_piece(b, 2, 3), -EEXIST);
	ck_assert_uint_eq(gvm_charged_bytes(b), 0);
	ck_assert_int_eq(give_piece(b, 2, 4), 0);
	ck_assert_ptr_eq(device->chunks[2].owner, a);
	/* Its owner's last piece leaves: the other one owns the chunk, and the page is free. */
	gvm_uncharge_piece(device, 2, 3);
	ck_assert_ptr_eq(device->chunks[2].owner, b);
	world_check();
	ck_assert_int_eq(give_piece(b, 2, 3), 0);
	/* Nothing is bound to a chunk that leaves. */
	ck_assert_uint_eq(world_pick_own(b, 2), 2);
	ck_assert_int_eq(give_piece(b, 2, 3), -EBUSY);
	ck_assert_uint_eq(b->evicting_bytes, 2 * GVM_PIECE_BYTES);
	gvm_uncharge_piece(device, 2, 3);
	gvm_uncharge_piece(device, 2, 4);
	ck_assert_uint_eq(b->evicted_chunks, 1);
	ck_assert_uint_eq(device->evicting_chunks, 0);
}
END_TEST

/*
 * A piece in a page of another container is unevictable until that one has left the page. Then it
 * is its own container's as any other: that owns the chunk, and can lose it.
 */
START_TEST(a_piece_is_adopted_when_its_page_has_no_payer)
{
	ck_assert_int_eq(give_piece(a, 2, 3), 0);
	ck_assert_int_eq(give_piece(a, 2, 3), 0);
	for (u32 i = 0; i < 2; i++) {
		ck_assert_int_eq(gvm_charge_reserve_bytes(b, GVM_PIECE_BYTES), 0);
		gvm_charge_bind_unevictable(b, GVM_PIECE_BYTES);
	}
	gvm_uncharge_piece(device, 2, 3);
	ck_assert_int_eq(gvm_charge_adopt_piece(b, 2, 3), -EEXIST);
	ck_assert_uint_eq(b->unevictable_bytes, 2 * GVM_PIECE_BYTES);
	world_check();
	gvm_uncharge_piece(device, 2, 3);
	ck_assert_uint_eq(state_of(2), GVM_CHUNK_FREE);
	ck_assert_int_eq(gvm_charge_adopt_piece(b, 2, 3), 0);
	ck_assert_ptr_eq(device->chunks[2].owner, b);
	ck_assert_uint_eq(b->unevictable_bytes, GVM_PIECE_BYTES);
	ck_assert_uint_eq(device->unevictable_bytes, GVM_PIECE_BYTES);
	ck_assert_uint_eq(b->reserved_bytes, 0);
	ck_assert_uint_eq(gvm_charged_bytes(b), 2 * GVM_PIECE_BYTES);
	world_check();
	/* It is picked, and nothing is bound to a chunk that leaves. */
	ck_assert_uint_eq(world_pick_own(b, 2), 2);
	ck_assert_int_eq(gvm_charge_adopt_piece(b, 2, 3), -EBUSY);
	ck_assert_uint_eq(b->unevictable_bytes, GVM_PIECE_BYTES);
	gvm_clock_putback(device, 2);
	ck_assert_int_eq(gvm_charge_adopt_piece(b, 2, 3), 0);
	ck_assert_uint_eq(b->unevictable_bytes, 0);
	ck_assert_uint_eq(device->chunks[2].bytes, 2 * GVM_PIECE_BYTES);
	world_check();
	gvm_uncharge(device, 2);
	ck_assert_uint_eq(gvm_charged_bytes(b), 0);
}
END_TEST

static u64 random_state = 12;

static u32 draw(u32 below)
{
	return draw_below(&random_state, below);
}

/* What the books have to say of each page: its payer, counted from 1, and its charged pieces. */
static struct {
	u8 payer;
	u8 pieces;
} plain[WORLD_CHUNKS][PAGES];

/* Bytes of each container beside that. */
static u64 plain_unevictable[4];

static struct gvm_container *container_of_number(u32 number)
{
	return number == 1 ? a : number == 2 ? b : number == 3 ? c : NULL;
}

static void set_plain(u32 chunk, u32 page, u32 number, u32 pieces)
{
	plain[chunk][page].payer = (u8)(pieces ? number : 0);
	plain[chunk][page].pieces = (u8)pieces;
}

static void give_unevictable(u32 number, u64 bytes)
{
	ck_assert_int_eq(gvm_charge_reserve_bytes(container_of_number(number), bytes), 0);
	gvm_charge_bind_unevictable(container_of_number(number), bytes);
	plain_unevictable[number] += bytes;
}

/* Put a picked chunk back, or pick one: this one, or the clock's. Returns whether it did. */
static bool random_pick(u32 number, u32 chunk)
{
	if (state_of(chunk) == GVM_CHUNK_EVICTING && draw(8) == 0) {
		gvm_clock_putback(device, chunk);
		return true;
	}
	if (draw(4))
		return false;
	if (draw(3) == 0)
		chunk = gvm_clock_pick_own(container_of_number(number));
	else if (draw(2))
		chunk = gvm_clock_pick_global(device);
	else if (!gvm_clock_force(device, chunk))
		return false;
	ck_assert(chunk == GVM_NO_CHUNK || state_of(chunk) == GVM_CHUNK_EVICTING);
	return true;
}

/* One piece comes or goes. In a page of another container it comes as unevictable memory. */
static void random_piece(u32 number, u32 chunk, u32 page)
{
	u32 payer = plain[chunk][page].payer, pieces = plain[chunk][page].pieces;
	int expected = 0;

	if (plain_unevictable[number] > GVM_CHUNK_BYTES) {
		gvm_uncharge_unevictable(container_of_number(number), GVM_PIECE_BYTES);
		plain_unevictable[number] -= GVM_PIECE_BYTES;
	}
	if (pieces && draw(2)) {
		gvm_uncharge_piece(device, chunk, page);
		set_plain(chunk, page, payer, pieces - 1);
		return;
	}
	if (state_of(chunk) == GVM_CHUNK_EVICTING)
		expected = -EBUSY;
	else if (payer && payer != number)
		expected = -EEXIST;
	else if (pieces == GVM_PIECES_PER_PAGE)
		return;
	ck_assert_int_eq(give_piece(container_of_number(number), chunk, page), expected);
	if (!expected)
		set_plain(chunk, page, number, pieces + 1);
	else if (expected == -EEXIST)
		give_unevictable(number, GVM_PIECE_BYTES);
}

/* Pages that are free come, or charged ones go, whole or not. Some chunks are not bound yet. */
static void random_pages(u32 number, u32 chunk, u32 first)
{
	bool free = !plain[chunk][first].payer;
	u32 pages = 0;

	if (free && state_of(chunk) == GVM_CHUNK_EVICTING)
		return;
	while (pages < PAGES - first && !plain[chunk][first + pages].payer == free &&
	       draw(free ? 2 : 8))
		pages++;
	if (!pages)
		return;
	if (!free) {
		gvm_uncharge_part(device, chunk, first, pages);
	} else if (draw(4)) {
		give(container_of_number(number), chunk, first, pages);
	} else {
		ck_assert_int_eq(
			gvm_charge_reserve_bytes(container_of_number(number), pages * PAGE), 0);
		gvm_charge_allocated_part(container_of_number(number), chunk, first, pages);
	}
	for (u32 page = first; page < first + pages; page++)
		set_plain(chunk, page, number, free ? GVM_PIECES_PER_PAGE : 0);
}

static void expect_plain(void)
{
	u64 paid[4] = { 0, plain_unevictable[1], plain_unevictable[2], plain_unevictable[3] };

	for (u32 chunk = 0; chunk < WORLD_CHUNKS; chunk++) {
		u64 bytes = 0;

		for (u32 page = 0; page < PAGES; page++) {
			u64 more = plain[chunk][page].pieces * (u64)GVM_PIECE_BYTES;

			bytes += more;
			paid[plain[chunk][page].payer] += more;
		}
		ck_assert_uint_eq(device->chunks[chunk].bytes, bytes);
		ck_assert((state_of(chunk) == GVM_CHUNK_FREE) == !bytes);
	}
	for (u32 number = 1; number <= 3; number++)
		ck_assert_uint_eq(gvm_charged_bytes(container_of_number(number)), paid[number]);
}

/* Random parts and pieces of a few chunks, against one array of pages. */
START_TEST(random_parts_agree_with_a_plain_array)
{
	memset(plain, 0, sizeof(plain));
	memset(plain_unevictable, 0, sizeof(plain_unevictable));
	/* A container that has less than a chunk is always protected. */
	for (u32 number = 1; number <= 3; number++)
		give_unevictable(number, GVM_CHUNK_BYTES);
	for (u32 step = 0; step < 20000; step++) {
		u32 chunk = draw(WORLD_CHUNKS), number = 1 + draw(3);
		/* Mostly the first pages, so that pages fill up and owners leave. */
		u32 page = draw(draw(16) ? 4 : PAGES);

		if (draw(64) == 0)
			gvm_limit_set_low(container_of_number(number),
					  draw(256) * (u64)GVM_PIECE_BYTES);
		if (random_pick(number, chunk))
			continue;
		if (draw(2))
			random_piece(number, chunk, page);
		else
			random_pages(number, chunk, page);
		if (draw(256) == 0 && state_of(chunk) != GVM_CHUNK_FREE) {
			gvm_uncharge(device, chunk);
			memset(plain[chunk], 0, sizeof(plain[chunk]));
		}
		world_check();
		if (step % 16 == 0)
			expect_plain();
	}
	for (u32 chunk = 0; chunk < WORLD_CHUNKS; chunk++) {
		if (state_of(chunk) != GVM_CHUNK_FREE)
			gvm_uncharge(device, chunk);
	}
	for (u32 number = 1; number <= 3; number++)
		gvm_uncharge_unevictable(container_of_number(number),
					 plain_unevictable[number]);
	ck_assert_uint_eq(device->evicting_chunks, 0);
	ck_assert_uint_eq(a->reserved_bytes + b->reserved_bytes + c->reserved_bytes, 0);
}
END_TEST

/* Allocated. */

START_TEST(an_allocated_chunk_is_charged_and_is_no_victim)
{
	ck_assert_int_eq(gvm_charge_reserve(a), 0);
	gvm_charge_allocated_part(a, 4, 0, PAGES);
	ck_assert_uint_eq(state_of(4), GVM_CHUNK_ALLOCATED);
	ck_assert_uint_eq(gvm_charged_bytes(a), GVM_CHUNK_BYTES);
	ck_assert_uint_eq(gvm_clock_pick_own(a), GVM_NO_CHUNK);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	ck_assert(!gvm_clock_take(device, 4));
	world_check();
	gvm_charge_bind(a, 4);
	ck_assert_uint_eq(a->reserved_bytes, 0);
	ck_assert_uint_eq(world_pick_own(a, 1), 4);
}
END_TEST

START_TEST(a_part_of_a_chunk_that_is_being_evicted_is_not_bound)
{
	ck_assert_int_eq(gvm_charge_reserve_bytes(a, 4 * PAGE), 0);
	ck_assert_int_eq(gvm_charge_bind_part(a, 4, 0, 4), 0);
	ck_assert_uint_eq(state_of(4), GVM_CHUNK_BOUND);
	ck_assert_uint_eq(a->reserved_bytes, 0);
	ck_assert_uint_eq(gvm_clock_take_range(device, 4, 1), 1);
	ck_assert_int_eq(gvm_charge_reserve_bytes(b, 2 * PAGE), 0);
	ck_assert_int_eq(gvm_charge_bind_part(b, 4, 8, 2), -EBUSY);
	ck_assert_uint_eq(b->reserved_bytes, 2 * PAGE);
	world_check();
	gvm_clock_putback(device, 4);
	ck_assert_int_eq(gvm_charge_bind_part(b, 4, 8, 2), 0);
	ck_assert_uint_eq(b->reserved_bytes, 0);
	ck_assert_uint_eq(gvm_charged_bytes(b), 2 * PAGE);
	world_check();
}
END_TEST

/* Taken by force. */

/* An eviction that a driver cannot finish takes nothing. */
START_TEST(a_forced_chunk_counts_as_taken_when_it_leaves)
{
	world_charge_chunk(a, 2);
	gvm_limit_set_low(a, GVM_NO_LIMIT);
	gvm_limit_set_hmem(a, 0);
	ck_assert(gvm_clock_force(device, 2));
	ck_assert(!gvm_clock_force(device, 2));
	ck_assert(!gvm_clock_force(device, 3));
	gvm_clock_putback(device, 2);
	gvm_clock_count_taken(device, 2);
	ck_assert_uint_eq(a->events[GVM_EVENT_TAKEN], 0);
	ck_assert(gvm_clock_force(device, 2));
	gvm_clock_count_taken(device, 2);
	gvm_uncharge(device, 2);
	ck_assert_uint_eq(a->events[GVM_EVENT_TAKEN], 1);
	world_check();
}
END_TEST

START_TEST(a_range_is_taken_whatever_the_limits_say)
{
	world_charge_chunk(a, 2);
	world_charge_chunk(a, 3);
	world_charge_chunk(b, 4);
	world_charge_chunk(b, 9);
	gvm_limit_set_low(a, GVM_NO_LIMIT);
	gvm_limit_set_hmem(b, 0);
	ck_assert_uint_eq(gvm_clock_take_range(device, 1, 4), 3);
	ck_assert_uint_eq(a->events[GVM_EVENT_TAKEN], 2);
	ck_assert_uint_eq(b->events[GVM_EVENT_TAKEN], 1);
	ck_assert_uint_eq(state_of(9), GVM_CHUNK_BOUND);
	world_check();
	/* A second request for the same range does not take them again. */
	ck_assert_uint_eq(gvm_clock_take_range(device, 0, WORLD_CHUNKS), 1);
	for (u32 chunk = 2; chunk <= 4; chunk++)
		gvm_uncharge(device, chunk);
	gvm_uncharge(device, 9);
	ck_assert_uint_eq(a->evicted_chunks, 2);
}
END_TEST

START_TEST(a_forced_take_is_a_line_of_gmem_events)
{
	char text[GVM_CONTROL_TEXT_MAX];

	world_charge_chunk(a, 0);
	gvm_control_read(a, "gmem.events", text, sizeof(text));
	ck_assert_str_eq(text, "high 0\nhmem 0\noom 0\n");
	gvm_clock_take_range(device, 0, 1);
	gvm_control_read(a, "gmem.events", text, sizeof(text));
	ck_assert_str_eq(text, "high 0\nhmem 0\noom 0\ntaken 1\n");
}
END_TEST

/* Swap. */

/* D16 */
START_TEST(a_credit_too_many_of_swap_clamps_at_zero)
{
	gvm_limit_set_hmem(a, 4 * GVM_CHUNK_BYTES);
	gvm_swap_charge(a, PAGE);
	gvm_swap_uncharge(a, 2 * PAGE);
	ck_assert_uint_eq(a->swapped_bytes, 0);
	ck_assert(!a->is_swap_full);
	gvm_clean_charge(a, 0, PAGE, 0);
	ck_assert_uint_eq(a->clean_bytes, 0);
	ck_assert(device->credit_warned);
}
END_TEST

static void setup(void)
{
	world_init_with(WORLD_CHUNKS, true);
	a = world_attach(1);
	b = world_attach(2);
	c = world_attach(3);
}

static void teardown(void)
{
	world_check();
	world_detach(a);
	world_detach(b);
	world_detach(c);
	world_destroy();
}

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, each_part_is_paid_by_the_container_that_got_it);
	tcase_add_test(tests, a_limit_counts_parts_to_the_byte);
	tcase_add_test(tests, a_limit_of_bytes_counts_no_chunks);
	tcase_add_test(tests, another_payer_owns_the_chunk_when_the_owner_has_left);
	tcase_add_test(tests, an_eviction_of_a_part_leaves_the_rest_charged);
	tcase_add_test(tests, an_owner_can_leave_while_its_chunk_is_evicted);
	tcase_add_test(tests, pieces_of_a_page_are_charged_to_the_byte);
	tcase_add_test(tests, a_page_leaves_in_pieces_or_pieces_leave_as_a_page);
	tcase_add_test(tests, a_page_of_pieces_has_one_payer);
	tcase_add_test(tests, a_piece_is_adopted_when_its_page_has_no_payer);
	tcase_add_test(tests, random_parts_agree_with_a_plain_array);
	tcase_add_test(tests, an_allocated_chunk_is_charged_and_is_no_victim);
	tcase_add_test(tests, a_part_of_a_chunk_that_is_being_evicted_is_not_bound);
	tcase_add_test(tests, a_range_is_taken_whatever_the_limits_say);
	tcase_add_test(tests, a_forced_chunk_counts_as_taken_when_it_leaves);
	tcase_add_test(tests, a_forced_take_is_a_line_of_gmem_events);
	tcase_add_test(tests, a_credit_too_many_of_swap_clamps_at_zero);
}

int main(void)
{
	Suite *suite = suite_create("policy parts");

	world_add_case(suite, "parts", setup, teardown, add_tests);
	return world_run(suite);
}
