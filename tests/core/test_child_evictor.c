// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The background evictor of a container keeps part of its limit free: of a child's own limit, and
 * of a limit that holds for bytes.
 */
#include "core_world.h"
#include "gvm/child.h"
#include "gvm/evictor.h"
#include "runner.h"
#include "toy_pair.h"

static struct gvm_container *child, *sibling;

static struct gvm_container *child_with(u32 number, u32 blocks)
{
	const struct gvm_window window = { .space = &toy.spaces[number],
					   .va = TOY_VA,
					   .bytes = TOY_BLOCKS_MAX * CHUNK };
	struct gvm_container *made;

	ck_assert_int_eq(gvm_child_open(one, &window, number, &made), 0);
	toy_fill(number, one, blocks);
	return made;
}

static void stop_after_an_eviction(void)
{
	if (child->evicted_chunks || sibling->evicted_chunks)
		eng_stop();
}

/* The evictor wants 2 chunks free of 32, and one is. The sibling has more memory. */
START_TEST(the_evictor_of_a_child_takes_chunks_of_that_child_only)
{
	begin(64);
	child = child_with(1, 31);
	sibling = child_with(2, 33);
	gvm_limit_set_high(child, 32 * CHUNK);
	ck_assert_int_eq(gvm_container_evictor_get(child), 0);
	child->evictor->kicked = true;
	null_on_give_way = stop_after_an_eviction;
	null_body(null_body_data);
	null_on_give_way = NULL;
	ck_assert_uint_eq(child->evicted_chunks, 1);
	ck_assert_uint_eq(sibling->evicted_chunks, 0);
	gvm_container_evictor_put(child);
	toy_unmap_all();
	for (u32 i = 0; i < 2; i++) {
		struct gvm_container *closed = i ? sibling : child;

		gvm_child_close(closed);
		gvm_container_put(closed);
	}
	end();
}
END_TEST

/* Is the container's evictor woken? Its thread does not run by itself. */
static bool is_kicked(struct gvm_container *container)
{
	container->evictor->kicked = false;
	gvm_evictors_kick(container, 0);
	return container->evictor->kicked;
}

/*
 * A limit of 32 chunks, and a page in each of 32 chunks. Where the limit holds for bytes, the
 * container has used 2 MB of it, and no chunk of it has to leave ahead of need. Where it holds
 * for chunks as well, none is free.
 */
START_TEST(a_limit_of_bytes_has_room_beside_pages_in_many_chunks)
{
	struct gvm_container *container;

	world_init_with(64, true);
	container = world_attach(1);
	gvm_limit_set_high(container, 32 * CHUNK);
	ck_assert_int_eq(gvm_container_evictor_get(container), 0);
	for (u32 chunk = 0; chunk < 32; chunk++) {
		ck_assert_int_eq(gvm_charge_reserve_bytes(container, GVM_PAGE_BYTES), 0);
		ck_assert_int_eq(gvm_charge_bind_part(container, chunk, 7, 1), 0);
	}
	ck_assert(is_kicked(container));
	world.device.byte_limits = true;
	ck_assert(!is_kicked(container));
	/* Its watermark is one chunk. */
	ck_assert_int_eq(gvm_charge_reserve_bytes(container, 30 * CHUNK), 0);
	ck_assert(!is_kicked(container));
	ck_assert_int_eq(gvm_charge_reserve_bytes(container, GVM_PIECE_BYTES), 0);
	ck_assert(is_kicked(container));
	gvm_charge_cancel_bytes(container, 30 * CHUNK + GVM_PIECE_BYTES);
	gvm_container_evictor_put(container);
	world_detach(container);
	world_destroy();
}
END_TEST

TEST_MAIN("child_evictor", the_evictor_of_a_child_takes_chunks_of_that_child_only,
	  a_limit_of_bytes_has_room_beside_pages_in_many_chunks)
