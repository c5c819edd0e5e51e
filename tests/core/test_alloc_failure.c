// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Lack of memory. The tests make every call of the core that allocates, and fail each of its
 * allocations in turn: once only, and with all later ones. The failed call returns an error and
 * has changed nothing.
 *
 * A new call that allocates belongs in the table of entries. tests/tree/alloc_entries.sh finds
 * calls that allocate, and fails until they are in the table.
 */
#include "core_world.h"
#include "find_container.h"
#include "gvm/child.h"
#include "gvm/block.h"
#include "gvm/control.h"
#include "gvm/evictor.h"
#include "gvm/fault.h"
#include "gvm/fence_table.h"
#include "gvm/predictor.h"
#include "gvm/pressure.h"
#include "gvm/sched.h"
#include "gvm/swap.h"

#include <signal.h>
#include <stdlib.h>

/* More allocations than any call makes: a call that still fails here never succeeds. */
#define ALLOCATIONS_MAX 100u

#define CHUNKS		4u
#define VA		0x700000000000ull

static struct gvm_device *const device = &world.device;

/* The arguments of the calls, and the objects that they make. */
static struct gvm_container *container; /* attached in the set-up */
static struct gvm_container *made;
static struct gvm_device second;
static struct gvm_memory memory; /* made in the set-up */
static struct gvm_memory another;
static struct gvm_range range;
static struct gvm_evictor evictor;
static struct gvm_prefetcher prefetcher;
static struct gvm_scheduler scheduler;
static struct gvm_fault_handler handler;
static struct gvm_tsg tsg;
static struct gvm_fence_heap fence_heap;
static struct gvm_fence_buddy fence_buddy;
static struct gvm_fence_table fence_table; /* made in the set-up */
static struct gvm_fence_table other_table;

static const struct gvm_fence_table_config fence_config = {
	.bytes = 1 << 20, .granule = 1 << 16, .tenants = 2, .allocations = 4
};

static int call_device_init(void)
{
	struct gvm_device_config config = {
		.name = "second",
		.chunk_count = 8,
		.features = GVM_LIRS | GVM_OWNER_PREFETCH,
		.sub_chunks = true,
	};

	return gvm_device_init(&second, &config);
}

static void undo_device_init(void)
{
	ck_assert_int_eq(gvm_check(&second), 0);
	gvm_device_destroy(&second);
}

static int call_attach(void)
{
	return gvm_container_attach(device, 2, &made);
}

static int call_create(void)
{
	return gvm_container_create(device, 0, &made);
}

static void undo_attach(void)
{
	gvm_container_detach(made);
}

static int call_child_open(void)
{
	const struct gvm_window window = { .va = VA, .bytes = GVM_CHUNK_BYTES };

	return gvm_child_open(container, &window, 1, &made);
}

static void undo_child_open(void)
{
	gvm_child_close(made);
	gvm_container_put(made);
}

static int call_range_init(void)
{
	struct gvm_range_config config = { .container = container,
					   .va = VA,
					   .bytes = 3 * GVM_CHUNK_BYTES };

	return gvm_range_init(&memory, &range, &config);
}

static void undo_range_init(void)
{
	gvm_range_destroy(&range);
}

static int call_memory_init(void)
{
	return gvm_memory_init(&another, device, NULL, NULL);
}

static void undo_memory_init(void)
{
	gvm_memory_destroy(&another);
}

static int call_evictor_start(void)
{
	return gvm_evictor_start(&evictor, device);
}

static void undo_evictor_start(void)
{
	gvm_evictor_stop(&evictor);
}

/* The manager of this world cannot prefetch, which nothing here does. */
static int call_prefetcher_start(void)
{
	const struct gvm_memory_ops *ops = device->memory_ops;
	int status;

	device->memory_ops = &gvm_block_memory_ops;
	status = gvm_prefetcher_start(&prefetcher, device);
	device->memory_ops = ops;
	return status;
}

static void undo_prefetcher_start(void)
{
	gvm_prefetcher_stop(&prefetcher);
}

/* A failed start still counts a user of the evictor, until this user puts it. */
static int call_evictor_get(void)
{
	int status = gvm_container_evictor_get(container);

	if (status)
		gvm_container_evictor_put(container);
	return status;
}

static void undo_evictor_get(void)
{
	gvm_container_evictor_put(container);
}

/* A user that gets its thread only now. */
static int call_evictor_restart(void)
{
	int status;

	container->evictor_users++;
	status = gvm_container_evictor_restart(container);
	if (status)
		container->evictor_users--;
	return status;
}

static int call_scheduler_start(void)
{
	static const struct gvm_scheduler_config config = { .policy = GVM_SCHED_WEIGHTED,
							    .interval_ns = 1 };

	return gvm_scheduler_start(&scheduler, device, &config);
}

static void undo_scheduler_start(void)
{
	gvm_scheduler_stop(&scheduler);
}

static int call_handler_start(void)
{
	return gvm_fault_handler_start(&handler, device);
}

static void undo_handler_start(void)
{
	gvm_fault_handler_stop(&handler);
}

static int call_fence_heap_init(void)
{
	return gvm_fence_heap_init(&fence_heap, 0, 4096, 256, 3);
}

static void undo_fence_heap_init(void)
{
	gvm_fence_heap_destroy(&fence_heap);
}

static int call_fence_buddy_init(void)
{
	return gvm_fence_buddy_init(&fence_buddy, 0, 4096, 8);
}

static void undo_fence_buddy_init(void)
{
	gvm_fence_buddy_destroy(&fence_buddy);
}

static int call_fence_table_init(void)
{
	return gvm_fence_table_init(&other_table, &fence_config);
}

static void undo_fence_table_init(void)
{
	gvm_fence_table_destroy(&other_table);
}

/* A failed open leaves the whole range free. */
static int call_fence_table_open(void)
{
	struct gvm_fence_partition *partition;
	int status = gvm_fence_table_open(&fence_table, 7, fence_config.bytes, GVM_FENCE_MASK,
					  &partition);

	if (status)
		ck_assert_uint_eq(fence_table.buddy.largest[1], fence_table.buddy.depth + 1);
	return status;
}

static void undo_fence_table_open(void)
{
	ck_assert_int_eq(gvm_fence_table_close(&fence_table, 7), 0);
}

/* The function's name, the call, and the way to undo a successful call. */
static const struct {
	const char *name;
	int (*call)(void);
	void (*undo)(void);
} entries[] = {
	{ "gvm_device_init", call_device_init, undo_device_init },
	{ "gvm_container_attach", call_attach, undo_attach },
	{ "gvm_container_create", call_create, undo_attach },
	{ "gvm_child_open", call_child_open, undo_child_open },
	{ "gvm_memory_init", call_memory_init, undo_memory_init },
	{ "gvm_evictor_start", call_evictor_start, undo_evictor_start },
	{ "gvm_prefetcher_start", call_prefetcher_start, undo_prefetcher_start },
	{ "gvm_container_evictor_get", call_evictor_get, undo_evictor_get },
	{ "gvm_container_evictor_restart", call_evictor_restart, undo_evictor_get },
	{ "gvm_range_init", call_range_init, undo_range_init },
	{ "gvm_scheduler_start", call_scheduler_start, undo_scheduler_start },
	{ "gvm_fault_handler_start", call_handler_start, undo_handler_start },
	{ "gvm_fence_heap_init", call_fence_heap_init, undo_fence_heap_init },
	{ "gvm_fence_buddy_init", call_fence_buddy_init, undo_fence_buddy_init },
	{ "gvm_fence_table_init", call_fence_table_init, undo_fence_table_init },
	{ "gvm_fence_table_open", call_fence_table_open, undo_fence_table_open },
};

/* Copies of all that a failed call could have changed: all of the books, bit by bit. */
struct books {
	struct gvm_device device;
	struct gvm_container container;
	struct gvm_chunk chunks[CHUNKS];
	u8 referenced[CHUNKS];
	u32 live;
};

static void save_books(struct books *books)
{
	memset(books, 0, sizeof(*books));
	memcpy(&books->device, device, sizeof(books->device));
	memcpy(&books->container, container, sizeof(books->container));
	memcpy(books->chunks, device->chunks, sizeof(books->chunks));
	memcpy(books->referenced, device->referenced, sizeof(books->referenced));
	books->live = world.live;
}

static void expect_books(const struct books *before, const char *name)
{
	struct books now;

	save_books(&now);
	world_check();
	ck_assert_msg(now.live == before->live, "%s has leaked", name);
	ck_assert_msg(memcmp(&now, before, sizeof(now)) == 0, "%s has changed the books", name);
}

/* Fail allocation @n of a call. Returns whether the call made that many allocations. */
static bool fail_nth(u32 entry, u32 n, bool from_there)
{
	const char *name = entries[entry].name;
	struct books before;
	bool failed;
	int error;

	save_books(&before);
	world.fail_allocation = world.allocations + n;
	world.fail_from_there = from_there;
	error = entries[entry].call();
	failed = world.allocations > world.fail_allocation;
	world.fail_allocation = U32_MAX;
	ck_assert_msg(error == (failed ? -ENOMEM : 0), "%s: %d at allocation %u", name, error,
		      n);
	if (!error)
		entries[entry].undo();
	expect_books(&before, name);
	return failed;
}

static void fail_everywhere(u32 entry, bool from_there)
{
	u32 n = 0;

	while (fail_nth(entry, n, from_there))
		ck_assert_uint_lt(++n, ALLOCATIONS_MAX);
	ck_assert_msg(n > 0, "%s does not allocate", entries[entry].name);
}

/* F1, F13, D12 */
START_TEST(a_call_that_fails_at_any_allocation_changes_nothing)
{
	fail_everywhere((u32)_i, false);
}
END_TEST

START_TEST(a_call_that_finds_no_memory_from_any_point_on_changes_nothing)
{
	fail_everywhere((u32)_i, true);
}
END_TEST

static void charge_and_pick(void)
{
	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	gvm_charge_cancel(container);
	ck_assert_uint_eq(world_charge(container), 0);
	ck_assert_uint_eq(world_charge(container), 1);
	gvm_clock_touch(device, 0);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 10), 2);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 1);
	gvm_clock_putback(device, 1);
	ck_assert_uint_eq(gvm_clock_pick_own(container), 0);
	gvm_uncharge(device, 0);
	gvm_swap_charge(container, GVM_CHUNK_BYTES);
	gvm_swap_uncharge(container, GVM_CHUNK_BYTES);
	gvm_limit_set_hmem(container, GVM_CHUNK_BYTES);
	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	gvm_charge_bind_unevictable(container, GVM_CHUNK_BYTES);
	gvm_uncharge_unevictable(container, GVM_CHUNK_BYTES);
	gvm_limit_set_low(container, GVM_NO_LIMIT);
	gvm_limit_set_high(container, 0);
	ck_assert_int_eq(gvm_charge_reserve(container), -EDQUOT);
}

static void use_containers_and_tsgs(void)
{
	char text[GVM_CONTROL_TEXT_MAX];

	ck_assert_ptr_eq(find_container(device, 1), container);
	gvm_container_put(container);
	ck_assert_ptr_eq(world_attach(1), container);
	gvm_container_detach(container);
	ck_assert_int_eq(gvm_tsg_attach(container, &tsg, 1), 0);
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert_int_eq(gvm_control_write(container, "compute.priority", "3", 1), 0);
	ck_assert_int_gt(gvm_control_read(container, "gmem.events", text, sizeof(text)), 0);
	gvm_tsg_detach(&tsg);
}

static void listen_and_discard(void)
{
	struct gvm_listener listener = { 0 };
	struct gvm_pressure_event event;
	struct gvm_unevictable pinned;

	ck_assert_int_eq(gvm_listener_open(&listener, container), 0);
	gvm_pressure_post(container, GVM_CHUNK_BYTES);
	gvm_pressure_post_device(device, GVM_CHUNK_BYTES);
	ck_assert_int_gt(gvm_listener_read(&listener, &event, sizeof(event), true), 0);
	gvm_listener_close(&listener);
	ck_assert_uint_eq(gvm_range_discard(&range, 0, U64_MAX), 0);
	gvm_unevictable_init(&pinned, container);
	gvm_unevictable_release(&memory, &pinned);
}

/*
 * D4: code that runs under a lock, handles faults or reads and writes control files never
 * allocates.
 */
START_TEST(what_is_not_in_the_table_needs_no_memory)
{
	u32 allocations;

	ck_assert_int_eq(call_range_init(), 0);
	allocations = world.allocations;
	world.fail_allocation = allocations;
	world.fail_from_there = true;
	listen_and_discard();
	charge_and_pick();
	use_containers_and_tsgs();
	world_check();
	ck_assert_uint_eq(world.allocations, allocations);
	undo_range_init();
}
END_TEST

/* D4 */
START_TEST(to_allocate_under_the_leaf_lock_is_a_broken_invariant)
{
	gvm_spin_lock(&device->lock);
	call_range_init();
}
END_TEST

static void setup(void)
{
	world_init_features(CHUNKS, GVM_OWNER_PREFETCH);
	container = world_attach(1);
	ck_assert_int_eq(gvm_memory_init(&memory, device, NULL, NULL), 0);
	ck_assert_int_eq(gvm_fence_table_init(&fence_table, &fence_config), 0);
}

static void teardown(void)
{
	gvm_fence_table_destroy(&fence_table);
	gvm_memory_destroy(&memory);
	world_detach(container);
	world_destroy();
}

static void add_tests(TCase *tests)
{
	tcase_add_loop_test(tests, a_call_that_fails_at_any_allocation_changes_nothing, 0,
			    ARRAY_SIZE(entries));
	tcase_add_loop_test(tests,
			    a_call_that_finds_no_memory_from_any_point_on_changes_nothing, 0,
			    ARRAY_SIZE(entries));
	tcase_add_test(tests, what_is_not_in_the_table_needs_no_memory);
	tcase_add_test_raise_signal(
		tests, to_allocate_under_the_leaf_lock_is_a_broken_invariant, SIGABRT);
}

int main(void)
{
	Suite *suite = suite_create("allocation failure");

	world_add_case(suite, "failure", setup, teardown, add_tests);
	return world_run(suite);
}
