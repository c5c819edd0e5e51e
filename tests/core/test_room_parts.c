// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Room where containers have parts of chunks: by a memory manager that evicts half a chunk at a
 * time, and beside parts of others.
 */
#include "core_world.h"
#include "give.h"
#include "gvm/evict.h"

#define PAGE  GVM_PAGE_BYTES
#define PAGES GVM_PAGES_PER_BLOCK

static struct gvm_device *const device = &world.device;
static struct gvm_container *a, *b, *c;

static u8 state_of(u32 chunk)
{
	return device->chunks[chunk].state;
}

#define HALF	   (PAGES / 2)
#define HALF_BYTES (HALF * PAGE)

/* The world's memory manager, but an eviction of a whole chunk frees only its first half. */
static struct gvm_memory_ops halving_ops;
static u32 half_evictions, whole_evictions;

static int evict_half(void *memory, u32 chunk, struct gvm_eviction *eviction)
{
	(void)memory;
	if (device->chunks[chunk].bytes == GVM_CHUNK_BYTES) {
		half_evictions++;
		gvm_uncharge_part(device, chunk, 0, HALF);
		gvm_clock_putback(device, chunk);
		eviction->left_bytes = HALF_BYTES;
	} else {
		whole_evictions++;
		gvm_uncharge(device, chunk);
		eviction->left_bytes = 0;
	}
	world_check();
	return 0;
}

static void evict_by_halves(void)
{
	halving_ops = *device->memory_ops;
	halving_ops.evict = evict_half;
	device->memory_ops = &halving_ops;
	half_evictions = 0;
	whole_evictions = 0;
}

/*
 * Eight chunks with a page each, and a limit of bytes. One of two chunks costs nothing, and one of
 * three pages takes five chunks, though the bytes above it are less than one chunk.
 */
START_TEST(a_lowered_limit_of_bytes_takes_as_many_chunks_as_it_has_to)
{
	device->byte_limits = true;
	evict_by_halves();
	for (u32 chunk = 0; chunk < 8; chunk++)
		give(a, chunk, 0, 1);
	gvm_limit_set_high(a, 2 * GVM_CHUNK_BYTES);
	ck_assert_int_eq(gvm_reclaim(a), 0);
	ck_assert_uint_eq(whole_evictions, 0);
	gvm_limit_set_high(a, 3 * PAGE);
	ck_assert_int_eq(gvm_reclaim(a), 0);
	ck_assert_uint_eq(whole_evictions, 5);
	ck_assert_uint_eq(gvm_charged_bytes(a), 3 * PAGE);
}
END_TEST

/*
 * A limit is one of bytes and of chunks. Four halves bring the charge two chunks down, but the
 * container still occupies four chunks: the write goes on until two of them have left.
 */
START_TEST(a_limit_written_once_is_reached_by_parts)
{
	evict_by_halves();
	world_charge_many(a, 4);
	world_charge_many(b, 4);
	gvm_limit_set_high(a, 2 * GVM_CHUNK_BYTES);
	ck_assert_int_eq(gvm_reclaim(a), 0);
	ck_assert_uint_eq(gvm_charge_excess(a), 0);
	ck_assert_uint_eq(half_evictions, 4);
	ck_assert_uint_eq(whole_evictions, 2);
	ck_assert_uint_eq(gvm_charged_bytes(a), 2 * HALF_BYTES);
	ck_assert_uint_eq(gvm_charged_bytes(b), 4 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(a->bound_chunks, 2);
	ck_assert_uint_eq(a->evicted_chunks, 2);
	ck_assert_uint_eq(device->evicting_chunks, 0);
}
END_TEST

/* A caller that keeps the chunk gets it only when no part is left. */
START_TEST(a_chunk_of_which_a_part_stays_is_not_handed_over)
{
	struct gvm_eviction eviction = { .keep = true };

	evict_by_halves();
	world_charge_chunk(a, 5);
	ck_assert_int_eq(gvm_evict_for(a, GVM_NEED_CHARGE, &eviction), 0);
	ck_assert_uint_eq(eviction.left_bytes, HALF_BYTES);
	ck_assert_uint_eq(eviction.chunk, GVM_NO_CHUNK);
	ck_assert_uint_eq(state_of(5), GVM_CHUNK_BOUND);
	ck_assert_int_eq(gvm_evict_for(a, GVM_NEED_CHARGE, &eviction), 0);
	ck_assert_uint_eq(eviction.left_bytes, 0);
	ck_assert_uint_eq(eviction.chunk, 5);
	ck_assert_uint_eq(state_of(5), GVM_CHUNK_FREE);
}
END_TEST

/* A call succeeds only with a free chunk. After parts alone it returns -EAGAIN. */
static void expect_a_free_chunk(void)
{
	struct gvm_eviction eviction = { .keep = true };
	u32 calls = 0;
	int status;

	do {
		status = gvm_evict_for(c, GVM_NEED_MEMORY, &eviction);
		ck_assert(status == 0 || status == -EAGAIN);
		ck_assert_uint_eq(whole_evictions, status == 0);
		ck_assert_uint_lt(calls++, WORLD_CHUNKS);
	} while (status);
	ck_assert_uint_gt(half_evictions, 0);
	ck_assert_uint_lt(eviction.chunk, WORLD_CHUNKS);
	ck_assert_uint_eq(eviction.left_bytes, 0);
	ck_assert_uint_eq(state_of(eviction.chunk), GVM_CHUNK_FREE);
	ck_assert_uint_eq(device->bound_chunks, WORLD_CHUNKS - 1);
}

START_TEST(a_part_is_no_room_on_a_full_device)
{
	evict_by_halves();
	world_charge_many(a, WORLD_CHUNKS / 2);
	world_charge_many(b, WORLD_CHUNKS / 2);
	expect_a_free_chunk();
}
END_TEST

/* A chunk has gone, and 3 pages above low are less than a chunk: the rest is protected. */
START_TEST(parts_above_low_do_not_cost_a_chunk_below_it)
{
	gvm_limit_set_low(a, GVM_CHUNK_BYTES + PAGE);
	world_charge_chunk(a, 0);
	world_charge_chunk(a, 1);
	give(a, 2, 0, 4);
	ck_assert(!a->is_protected);
	gvm_uncharge(device, 0);
	ck_assert_uint_eq(gvm_charged_bytes(a), GVM_CHUNK_BYTES + 4 * PAGE);
	ck_assert(a->is_protected);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	world_check();
	gvm_uncharge(device, 1);
	gvm_uncharge(device, 2);
}
END_TEST

START_TEST(a_part_is_no_room_where_all_are_protected)
{
	evict_by_halves();
	gvm_limit_set_low(a, GVM_NO_LIMIT);
	gvm_limit_set_low(c, GVM_NO_LIMIT);
	world_charge_many(a, WORLD_CHUNKS);
	expect_a_free_chunk();
	ck_assert_uint_eq(a->evicted_chunks, 1);
}
END_TEST

/* All that the container pays for lies in another one's chunks: none of its own can leave. */
START_TEST(a_container_without_a_chunk_of_its_own_has_no_victim)
{
	struct gvm_eviction eviction = { 0 };

	for (u32 chunk = 0; chunk < 2; chunk++) {
		give(a, chunk, 0, HALF);
		give(b, chunk, HALF, HALF);
	}
	gvm_limit_set_high(b, GVM_CHUNK_BYTES);
	ck_assert_uint_eq(gvm_charged_bytes(b), GVM_CHUNK_BYTES);
	ck_assert_uint_eq(b->bound_chunks, 0);
	ck_assert_int_eq(gvm_charge_reserve_bytes(b, PAGE), -EDQUOT);
	ck_assert_int_eq(gvm_evict_for(b, GVM_NEED_CHARGE, &eviction), -ENOENT);
	/* A chunk that it is about to get may be evicted later. */
	gvm_limit_set_high(b, GVM_CHUNK_BYTES + PAGE);
	ck_assert_int_eq(gvm_charge_reserve_bytes(b, PAGE), 0);
	ck_assert_int_eq(gvm_evict_for(b, GVM_NEED_CHARGE, &eviction), -EAGAIN);
	gvm_charge_cancel_bytes(b, PAGE);
	/* With room for a chunk there is nothing to wait for. */
	gvm_limit_set_high(b, 2 * GVM_CHUNK_BYTES);
	ck_assert_int_eq(gvm_evict_for(b, GVM_NEED_CHARGE, &eviction), 0);
	gvm_uncharge(device, 0);
	gvm_uncharge(device, 1);
}
END_TEST

/* What a search for room within the limit says of a charge of @bytes; 0: of a chunk. */
static int room_for(struct gvm_container *container, u64 bytes)
{
	struct gvm_eviction eviction = { .bytes = bytes };

	return gvm_evict_for(container, GVM_NEED_CHARGE, &eviction);
}

/*
 * A charge is refused, and then another thread frees a page. There is no victim. The charge fits
 * now if it is of a page, and not if it is of more.
 */
START_TEST(a_small_charge_that_fits_by_now_is_not_refused)
{
	for (u32 chunk = 0; chunk < 2; chunk++) {
		give(a, chunk, 0, HALF);
		give(b, chunk, HALF, HALF);
	}
	gvm_limit_set_high(b, GVM_CHUNK_BYTES);
	ck_assert_int_eq(gvm_charge_reserve_bytes(b, GVM_PIECE_BYTES), -EDQUOT);
	ck_assert_int_eq(room_for(b, GVM_PIECE_BYTES), -ENOENT);
	gvm_uncharge_part(device, 0, HALF, 1);
	ck_assert_int_eq(room_for(b, GVM_PIECE_BYTES), 0);
	ck_assert_int_eq(room_for(b, PAGE), 0);
	ck_assert_int_eq(room_for(b, PAGE + GVM_PIECE_BYTES), -ENOENT);
	ck_assert_int_eq(room_for(b, 0), -ENOENT);
	/* A charge is on its way in. One that does not fit beside it waits for that, another one not. */
	ck_assert_int_eq(gvm_charge_reserve_bytes(b, GVM_PIECE_BYTES), 0);
	ck_assert_int_eq(room_for(b, PAGE), -EAGAIN);
	ck_assert_int_eq(room_for(b, PAGE - GVM_PIECE_BYTES), 0);
	gvm_charge_cancel_bytes(b, GVM_PIECE_BYTES);
	gvm_uncharge(device, 0);
	gvm_uncharge(device, 1);
}
END_TEST

/* The same where all of the container's memory is unevictable. */
START_TEST(a_small_charge_fits_beside_unevictable_memory)
{
	ck_assert_int_eq(gvm_charge_reserve_bytes(a, GVM_CHUNK_BYTES), 0);
	gvm_charge_bind_unevictable(a, GVM_CHUNK_BYTES);
	gvm_limit_set_high(a, GVM_CHUNK_BYTES);
	ck_assert_int_eq(gvm_charge_reserve_bytes(a, GVM_PIECE_BYTES), -EDQUOT);
	gvm_uncharge_unevictable(a, GVM_PIECE_BYTES);
	ck_assert_int_eq(room_for(a, GVM_PIECE_BYTES), 0);
	ck_assert_int_eq(room_for(a, PAGE), -ENOENT);
	gvm_uncharge_unevictable(a, GVM_CHUNK_BYTES - GVM_PIECE_BYTES);
}
END_TEST

/* Each chunk of the container's may hold one piece of its own: ports bound their tries by that. */
START_TEST(room_may_take_an_eviction_for_each_piece)
{
	struct gvm_eviction eviction = { 0 };
	u32 evictions = 0;

	evict_by_halves();
	for (u32 chunk = 0; chunk < GVM_PIECES_PER_PAGE; chunk++) {
		ck_assert_int_eq(give_piece(a, chunk, 0), 0);
		give(b, chunk, 1, PAGES - 1);
	}
	gvm_limit_set_high(a, PAGE);
	while (gvm_charge_reserve_bytes(a, PAGE)) {
		ck_assert_int_eq(gvm_evict_for(a, GVM_NEED_CHARGE, &eviction), 0);
		ck_assert_uint_lt(evictions++, GVM_PIECES_PER_PAGE);
	}
	ck_assert_uint_eq(evictions, GVM_PIECES_PER_PAGE);
	gvm_charge_cancel_bytes(a, PAGE);
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
	tcase_add_test(tests, a_lowered_limit_of_bytes_takes_as_many_chunks_as_it_has_to);
	tcase_add_test(tests, a_limit_written_once_is_reached_by_parts);
	tcase_add_test(tests, a_chunk_of_which_a_part_stays_is_not_handed_over);
	tcase_add_test(tests, a_part_is_no_room_on_a_full_device);
	tcase_add_test(tests, parts_above_low_do_not_cost_a_chunk_below_it);
	tcase_add_test(tests, a_part_is_no_room_where_all_are_protected);
	tcase_add_test(tests, a_container_without_a_chunk_of_its_own_has_no_victim);
	tcase_add_test(tests, a_small_charge_that_fits_by_now_is_not_refused);
	tcase_add_test(tests, a_small_charge_fits_beside_unevictable_memory);
	tcase_add_test(tests, room_may_take_an_eviction_for_each_piece);
}

int main(void)
{
	Suite *suite = suite_create("room of parts");

	world_add_case(suite, "room", setup, teardown, add_tests);
	return world_run(suite);
}
