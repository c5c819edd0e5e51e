// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvm_check() finds every kind of corruption, one broken field at a time, and finds none after
 * each of a hundred thousand random operations.
 */
#include "core_world.h"
#include "draw.h"
#include "gvm/pressure.h"

#include <stdio.h>
#include <stdlib.h>

static struct gvm_device *const device = &world.device;

/*
 * The books to break, with everything in them that books can have:
 *
 * 0 1: chunks of b, a protected container; not met by the hand yet, so still on the global ring
 * 2 3: chunks of b, met by the hand, so on the shielded ring
 * 4 5: chunks of a, stashed
 * 6 7: chunks of a
 * 8: a chunk of a, being evicted
 * 9 to 15: free
 */
static struct gvm_container *a, *b;
static struct gvm_tsg tsg;
static struct gvm_listener ear;
static LIST_HEAD(elsewhere);

static void build_books(void)
{
	world_init(WORLD_CHUNKS);
	a = world_attach(1);
	b = world_attach(2);
	world_charge_chunk(a, 8);
	ck_assert_uint_eq(gvm_clock_pick_own(a), 8);
	world_charge_many(b, 4);
	world_charge_many(a, 4);

	/*
	 * The hand passes 8, then shields 0 and 1. Spliced back, they are the last of the
	 * hand's turn.
	 */
	gvm_limit_set_low(b, 100 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 3), 0);
	gvm_limit_set_low(b, 0);
	gvm_limit_set_low(b, 100 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 4), 2);

	gvm_limit_set_low(a, GVM_CHUNK_BYTES);
	ck_assert_int_eq(gvm_charge_reserve(a), 0);
	ck_assert_int_eq(gvm_tsg_attach(a, &tsg, 9), 0);
	INIT_LIST_HEAD(&elsewhere);
	memset(&ear, 0, sizeof(ear)); /* an earlier test may have left it open */
	ck_assert_int_eq(gvm_listener_open(&ear, a), 0);
	world_check();
}

static struct gvm_chunk *chunk(u32 index)
{
	return &device->chunks[index];
}

/* A chunk drops out of its ring into a ring of its own. All links agree. */
static void drop_out(enum gvm_order order, u32 index)
{
	u32 next = chunk(index)->next[order], prev = chunk(index)->prev[order];

	chunk(prev)->next[order] = next;
	chunk(next)->prev[order] = prev;
	chunk(index)->next[order] = index;
	chunk(index)->prev[order] = index;
}

#define CORRUPTION(name, statement)      \
	static void corrupt_##name(void) \
	{                                \
		statement;               \
	}

CORRUPTION(state, chunk(4)->state = 7)
CORRUPTION(state_of_free_chunk, chunk(12)->state = GVM_CHUNK_BOUND)
CORRUPTION(state_of_charged_chunk, chunk(4)->state = GVM_CHUNK_FREE)
CORRUPTION(owner_of_free_chunk, chunk(12)->owner = a)
CORRUPTION(owner_missing, chunk(4)->owner = NULL)
CORRUPTION(owner_wrong, chunk(4)->owner = b)
CORRUPTION(free_chunk_linked, chunk(12)->next[GVM_ORDER_OWN] = 4)
CORRUPTION(free_chunk_stashed, chunk(12)->stashed = 1)
CORRUPTION(next_out_of_range, chunk(4)->next[GVM_ORDER_OWN] = WORLD_CHUNKS)
CORRUPTION(next_none, chunk(4)->next[GVM_ORDER_GLOBAL] = GVM_NO_CHUNK)
CORRUPTION(prev_none, chunk(4)->prev[GVM_ORDER_GLOBAL] = GVM_NO_CHUNK)
CORRUPTION(next_free, chunk(4)->next[GVM_ORDER_GLOBAL] = 12)
CORRUPTION(prev_free, chunk(4)->prev[GVM_ORDER_OWN] = 12)
CORRUPTION(next_elsewhere, chunk(4)->next[GVM_ORDER_GLOBAL] = 4)
CORRUPTION(prev_elsewhere, chunk(4)->prev[GVM_ORDER_OWN] = 4)
CORRUPTION(off_own_ring, drop_out(GVM_ORDER_OWN, 6))
CORRUPTION(off_global_ring, drop_out(GVM_ORDER_GLOBAL, 6))
CORRUPTION(off_shielded_ring, drop_out(GVM_ORDER_GLOBAL, 3))
CORRUPTION(reference_bit, device->referenced[4] = 4)
CORRUPTION(global_hand_free, device->global.hand = 12)
CORRUPTION(global_hand_out_of_range, device->global.hand = WORLD_CHUNKS)
CORRUPTION(global_hand_lost, device->global.hand = GVM_NO_CHUNK)
CORRUPTION(global_hand_on_shielded_ring, device->global.hand = 2)
CORRUPTION(own_hand_free, a->own.hand = 12)
CORRUPTION(own_hand_lost, a->own.hand = GVM_NO_CHUNK)
CORRUPTION(own_hand_foreign, a->own.hand = 0)
CORRUPTION(shielded_hand_lost, b->shielded.hand = GVM_NO_CHUNK)
CORRUPTION(shielded_hand_on_global_ring, b->shielded.hand = 0)
CORRUPTION(shielded_hand_free, b->shielded.hand = 12)
CORRUPTION(shielded_of_unprotected, a->shielded.hand = 4)
CORRUPTION(device_count, device->bound_chunks++)
CORRUPTION(container_usage, a->charged_bytes -= GVM_CHUNK_BYTES)
CORRUPTION(container_reserved, a->reserved_bytes = 0)
CORRUPTION(container_reserved_wraps, a->reserved_bytes -= 2 * GVM_CHUNK_BYTES)
CORRUPTION(peak, a->peak_bytes = 5 * GVM_CHUNK_BYTES)
CORRUPTION(protected_above_low, a->is_protected = true)
CORRUPTION(unprotected_under_low, b->is_protected = false)
CORRUPTION(low_changed_silently, b->gmem_low_bytes = GVM_CHUNK_BYTES)
CORRUPTION(full_without_a_limit, a->is_swap_full = true)
CORRUPTION(hmem_changed_silently, a->hmem_limit_bytes = GVM_CHUNK_BYTES - 1)
CORRUPTION(swap_changed_silently, b->hmem_limit_bytes = 0)
CORRUPTION(evicting_of_container, a->evicting_bytes++)
CORRUPTION(evicting_of_device, device->evicting_chunks++)
CORRUPTION(stuck, device->stuck_chunks++)
CORRUPTION(exposed, device->exposed_chunks--)
CORRUPTION(pinned_of_container, a->unevictable_bytes++)
CORRUPTION(pinned_of_device, device->unevictable_bytes++)
CORRUPTION(listener_container, ear.container = b)
CORRUPTION(listener_list, ear.watcher.node.next = &ear.watcher.node)
CORRUPTION(listener_count, a->listener_count++)
CORRUPTION(listening_without, list_del_init(&a->listening))
CORRUPTION(listening_elsewhere, list_move_tail(&a->listening, &elsewhere))
CORRUPTION(listening_list, device->listening.next = &elsewhere)
CORRUPTION(owner_unlisted, list_del_init(&a->owner_node))
CORRUPTION(owner_elsewhere, list_move_tail(&a->owner_node, &elsewhere))
CORRUPTION(owner_list, device->owners.next = &elsewhere)
CORRUPTION(shielded_owner_list, device->shielded_owners.next = &elsewhere)
CORRUPTION(refs_none, a->refs = 0)
CORRUPTION(refs_too_few, a->processes = 5)
CORRUPTION(attached_without_process, a->processes = 0)
CORRUPTION(detached_with_process, a->attached = false)
CORRUPTION(tgid_twice, b->tgid = 1)
CORRUPTION(foreign_device, a->device = NULL)
CORRUPTION(container_count, device->container_count++)
CORRUPTION(container_list_next, a->node.next = &a->node)
CORRUPTION(container_list_prev, a->node.prev = &a->node)
CORRUPTION(container_list_null, a->node.next = NULL)
CORRUPTION(container_unlisted, list_del_init(&b->node); device->container_count--)
CORRUPTION(stash_count, device->stash_count--)
CORRUPTION(stash_overfull, device->stash_count = GVM_STASH_SIZE + 1)
CORRUPTION(stash_free_chunk, device->stash[0] = 12)
CORRUPTION(stash_out_of_range, device->stash[0] = WORLD_CHUNKS)
CORRUPTION(stash_twice, device->stash[0] = device->stash[1])
CORRUPTION(stash_flag_missing, chunk(4)->stashed = 0)
CORRUPTION(stash_flag_extra, chunk(7)->stashed = 1)
CORRUPTION(stash_flag_value, chunk(4)->stashed = 2)
CORRUPTION(tsg_owner, tsg.container = b)
CORRUPTION(tsg_preempted_on_runlist, tsg.preempted = true)
CORRUPTION(tsg_list, tsg.node.next = &tsg.node)
CORRUPTION(front_of_global, device->global.lead = 1; device->global.front = 12)
CORRUPTION(front_of_own, a->own.lead = 1; a->own.front = b->own.hand)
CORRUPTION(front_without_hand, a->shielded.lead = 1)
CORRUPTION(priority, a->priority = GVM_PRIORITY_MAX + 1)

#define ENTRY(name)                   \
	{                             \
#name, corrupt_##name \
	}
static const struct {
	const char *name;
	void (*corrupt)(void);
} corruptions[] = {
	ENTRY(state),
	ENTRY(state_of_free_chunk),
	ENTRY(state_of_charged_chunk),
	ENTRY(owner_of_free_chunk),
	ENTRY(owner_missing),
	ENTRY(owner_wrong),
	ENTRY(free_chunk_linked),
	ENTRY(free_chunk_stashed),
	ENTRY(next_out_of_range),
	ENTRY(next_none),
	ENTRY(prev_none),
	ENTRY(next_free),
	ENTRY(prev_free),
	ENTRY(next_elsewhere),
	ENTRY(prev_elsewhere),
	ENTRY(off_own_ring),
	ENTRY(off_global_ring),
	ENTRY(off_shielded_ring),
	ENTRY(reference_bit),
	ENTRY(global_hand_free),
	ENTRY(global_hand_out_of_range),
	ENTRY(global_hand_lost),
	ENTRY(global_hand_on_shielded_ring),
	ENTRY(own_hand_free),
	ENTRY(own_hand_lost),
	ENTRY(own_hand_foreign),
	ENTRY(shielded_hand_lost),
	ENTRY(shielded_hand_on_global_ring),
	ENTRY(shielded_hand_free),
	ENTRY(shielded_of_unprotected),
	ENTRY(device_count),
	ENTRY(container_usage),
	ENTRY(container_reserved),
	ENTRY(container_reserved_wraps),
	ENTRY(peak),
	ENTRY(protected_above_low),
	ENTRY(unprotected_under_low),
	ENTRY(low_changed_silently),
	ENTRY(full_without_a_limit),
	ENTRY(hmem_changed_silently),
	ENTRY(swap_changed_silently),
	ENTRY(evicting_of_container),
	ENTRY(evicting_of_device),
	ENTRY(stuck),
	ENTRY(exposed),
	ENTRY(pinned_of_container),
	ENTRY(pinned_of_device),
	ENTRY(listener_container),
	ENTRY(listener_list),
	ENTRY(listener_count),
	ENTRY(listening_without),
	ENTRY(listening_elsewhere),
	ENTRY(listening_list),
	ENTRY(owner_unlisted),
	ENTRY(owner_elsewhere),
	ENTRY(owner_list),
	ENTRY(shielded_owner_list),
	ENTRY(refs_none),
	ENTRY(refs_too_few),
	ENTRY(attached_without_process),
	ENTRY(detached_with_process),
	ENTRY(tgid_twice),
	ENTRY(foreign_device),
	ENTRY(container_count),
	ENTRY(container_list_next),
	ENTRY(container_list_prev),
	ENTRY(container_list_null),
	ENTRY(container_unlisted),
	ENTRY(stash_count),
	ENTRY(stash_overfull),
	ENTRY(stash_free_chunk),
	ENTRY(stash_out_of_range),
	ENTRY(stash_twice),
	ENTRY(stash_flag_missing),
	ENTRY(stash_flag_extra),
	ENTRY(stash_flag_value),
	ENTRY(tsg_owner),
	ENTRY(tsg_preempted_on_runlist),
	ENTRY(tsg_list),
	ENTRY(front_of_global),
	ENTRY(front_of_own),
	ENTRY(front_without_hand),
	ENTRY(priority),
};

START_TEST(check_finds_each_kind_of_corruption)
{
	build_books();
	corruptions[_i].corrupt();
	ck_assert_msg(gvm_check(device) == -EUCLEAN, "%s was not found", corruptions[_i].name);
}
END_TEST

/* Where chunks have parts: the bytes agree with the payer, but no one has allocated the chunk. */
START_TEST(check_finds_a_payer_of_a_free_chunk)
{
	world_init_with(WORLD_CHUNKS, true);
	a = world_attach(1);
	world_check();
	device->payers[(size_t)12 * GVM_PAGES_PER_BLOCK] = a;
	chunk(12)->bytes = GVM_PAGE_BYTES;
	ck_assert_int_eq(gvm_check(device), -EUCLEAN);
}
END_TEST

/* A page with a payer has pieces, as many as a page has at most, and no other page has. */
START_TEST(check_finds_pieces_that_do_not_fit_their_page)
{
	size_t page = (size_t)12 * GVM_PAGES_PER_BLOCK;

	world_init_with(WORLD_CHUNKS, true);
	a = world_attach(1);
	ck_assert_int_eq(gvm_charge_reserve_bytes(a, GVM_PAGE_BYTES), 0);
	ck_assert_int_eq(gvm_charge_bind_part(a, 12, 0, 1), 0);
	world_check();
	/* The sums agree, so only the page tells. */
	device->payers[page + 1] = a;
	ck_assert_int_eq(gvm_check(device), -EUCLEAN);
	device->payers[page + 1] = NULL;
	device->pieces[page]--;
	device->pieces[page + 1] = 1;
	a->charged_bytes -= GVM_PIECE_BYTES;
	ck_assert_int_eq(gvm_check(device), -EUCLEAN);
	device->pieces[page] += 2;
	device->pieces[page + 1] = 0;
	chunk(12)->bytes += GVM_PIECE_BYTES;
	a->charged_bytes += 2 * GVM_PIECE_BYTES;
	a->peak_bytes += GVM_PIECE_BYTES;
	ck_assert_int_eq(gvm_check(device), -EUCLEAN);
}
END_TEST

START_TEST(check_is_content_with_the_books_before_they_are_broken)
{
	build_books();
	ck_assert_uint_eq(chunk(8)->state, GVM_CHUNK_EVICTING);
	ck_assert_uint_eq(b->shielded.hand, 2);
	ck_assert_uint_eq(device->global.hand, 6);
	ck_assert_uint_eq(device->stash_count, 2);
	ck_assert(chunk(4)->stashed && chunk(5)->stashed);
	ck_assert(b->is_protected && !a->is_protected);
	gvm_charge_cancel(a);
	gvm_tsg_detach(&tsg);
	gvm_listener_close(&ear);
	world_detach(a);
	world_detach(b);
	world_destroy();
}
END_TEST

/* Random operations, and a model of the books that is a few counters. */

#define RANDOM_OPERATIONS 100000u
#define RANDOM_CONTAINERS 4u

static struct {
	u64 state;
	struct gvm_container *container[RANDOM_CONTAINERS];
	u32 reserved[RANDOM_CONTAINERS];
	u32 bound[RANDOM_CONTAINERS];
	u32 owner[WORLD_CHUNKS]; /* RANDOM_CONTAINERS: free */
	bool evicting[WORLD_CHUNKS];
} model;

static u32 draw(u32 below)
{
	return draw_below(&model.state, below);
}

static void expect(bool condition, const char *what)
{
	if (!condition)
		ck_abort_msg("%s", what);
}

static void do_reserve(u32 who, u32 index)
{
	struct gvm_container *container = model.container[who];
	u64 limit = container->gmem_high_bytes / GVM_CHUNK_BYTES;
	bool fits = model.reserved[who] + model.bound[who] < limit;

	(void)index;
	expect((gvm_charge_reserve(container) == 0) == fits, "limit is floor(bytes / chunk)");
	model.reserved[who] += fits;
}

static void do_cancel(u32 who, u32 index)
{
	(void)index;
	if (!model.reserved[who])
		return;
	gvm_charge_cancel(model.container[who]);
	model.reserved[who]--;
}

static void do_bind(u32 who, u32 index)
{
	if (!model.reserved[who] || model.owner[index] < RANDOM_CONTAINERS)
		return;
	gvm_charge_bind(model.container[who], index);
	model.reserved[who]--;
	model.bound[who]++;
	model.owner[index] = who;
}

static void do_uncharge(u32 who, u32 index)
{
	who = model.owner[index];
	if (who == RANDOM_CONTAINERS)
		return;
	gvm_uncharge(device, index);
	model.bound[who]--;
	model.owner[index] = RANDOM_CONTAINERS;
	model.evicting[index] = false;
}

static void expect_victim(u32 victim)
{
	expect(victim < WORLD_CHUNKS && model.owner[victim] < RANDOM_CONTAINERS,
	       "a victim is a charged chunk");
	expect(!model.evicting[victim], "a victim is picked once");
	expect(!world.pinned[victim], "a pinned chunk is no victim");
	model.evicting[victim] = true;
}

static bool could_be_victim(u32 index)
{
	return model.owner[index] < RANDOM_CONTAINERS && !model.evicting[index] &&
	       !world.pinned[index];
}

static void do_pick_own(u32 who, u32 index)
{
	u32 victim = gvm_clock_pick_own(model.container[who]);

	(void)index;
	if (victim != GVM_NO_CHUNK) {
		expect_victim(victim);
		expect(model.owner[victim] == who, "an own pick stays at home");
		return;
	}
	for (u32 i = 0; i < WORLD_CHUNKS; i++)
		expect(!could_be_victim(i) || model.owner[i] != who,
		       "in two turns of a short ring a victim is found");
}

static void do_pick_global(u32 who, u32 index)
{
	bool is_protected[RANDOM_CONTAINERS];
	u32 victim;

	for (u32 i = 0; i < RANDOM_CONTAINERS; i++)
		is_protected[i] = model.container[i]->is_protected;
	victim = gvm_clock_pick_global(device);

	(void)who;
	(void)index;
	if (victim != GVM_NO_CHUNK) {
		expect_victim(victim);
		expect(!is_protected[model.owner[victim]],
		       "a global pick spares the protected");
		return;
	}
	for (u32 i = 0; i < WORLD_CHUNKS; i++)
		expect(!could_be_victim(i) || model.container[model.owner[i]]->is_protected,
		       "in two turns of a short ring a victim is found");
}

static void do_putback(u32 who, u32 index)
{
	(void)who;
	if (!model.evicting[index])
		return;
	gvm_clock_putback(device, index);
	model.evicting[index] = false;
}

static void do_touch(u32 who, u32 index)
{
	(void)who;
	gvm_clock_touch(device, index);
}

static void do_pin(u32 who, u32 index)
{
	(void)who;
	world.pinned[index] = draw(4) == 0;
}

static void do_refill(u32 who, u32 index)
{
	(void)who;
	expect(gvm_clock_refill_stash(device, index) <= GVM_STASH_SIZE, "the stash holds 16");
}

static void do_set_high(u32 who, u32 index)
{
	gvm_limit_set_high(model.container[who],
			   draw(3) ? draw(8) * GVM_CHUNK_BYTES + index : GVM_NO_LIMIT);
}

static void do_set_low(u32 who, u32 index)
{
	gvm_limit_set_low(model.container[who],
			  draw(2) ? draw(6) * GVM_CHUNK_BYTES + index : 0);
}

/* A container without charges ends, and a new one with its tgid begins. */
static void do_replace(u32 who, u32 index)
{
	(void)index;
	if (model.reserved[who] || model.bound[who])
		return;
	gvm_container_detach(model.container[who]);
	model.container[who] = world_attach(who);
}

static void expect_books(void)
{
	for (u32 who = 0; who < RANDOM_CONTAINERS; who++)
		expect(gvm_charged_bytes(model.container[who]) ==
			       (model.reserved[who] + model.bound[who]) * GVM_CHUNK_BYTES,
		       "usage is what was reserved and bound");
	expect(gvm_check(device) == 0, "gvm_check() is content");
}

static void model_init(u64 seed)
{
	world_init(WORLD_CHUNKS);
	memset(&model, 0, sizeof(model));
	model.state = seed;
	for (u32 who = 0; who < RANDOM_CONTAINERS; who++)
		model.container[who] = world_attach(who);
	for (u32 i = 0; i < WORLD_CHUNKS; i++)
		model.owner[i] = RANDOM_CONTAINERS;
}

static void model_destroy(void)
{
	for (u32 who = 0; who < RANDOM_CONTAINERS; who++) {
		while (model.reserved[who])
			do_cancel(who, 0);
		world_detach(model.container[who]);
	}
	world_destroy();
}

/* The seed is fixed, so that a failure repeats. CORE_SEED tries others. */
START_TEST(books_balance_after_every_one_of_100000_random_operations)
{
	static void (*const operations[])(u32 who, u32 index) = {
		do_reserve,  do_reserve,     do_bind,	     do_bind,	 do_bind,
		do_cancel,   do_uncharge,    do_touch,	     do_touch,	 do_touch,
		do_pick_own, do_pick_global, do_pick_global, do_putback, do_pin,
		do_refill,   do_set_high,    do_set_low,     do_replace,
	};
	const char *text = getenv("CORE_SEED");
	u64 seed = text ? strtoull(text, NULL, 0) : 20251121;

	printf("CORE_SEED=%llu\n", seed);
	model_init(seed);
	for (u32 i = 0; i < RANDOM_OPERATIONS; i++) {
		u32 what = draw(ARRAY_SIZE(operations));

		operations[what](draw(RANDOM_CONTAINERS), draw(WORLD_CHUNKS));
		expect_books();
	}
	model_destroy();
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, check_is_content_with_the_books_before_they_are_broken);
	tcase_add_loop_test(tests, check_finds_each_kind_of_corruption, 0,
			    ARRAY_SIZE(corruptions));
	tcase_add_test(tests, check_finds_a_payer_of_a_free_chunk);
	tcase_add_test(tests, check_finds_pieces_that_do_not_fit_their_page);
	tcase_add_test(tests, books_balance_after_every_one_of_100000_random_operations);
}

int main(void)
{
	Suite *suite = suite_create("policy check");

	world_add_case(suite, "check", NULL, NULL, add_tests);
	return world_run(suite);
}
