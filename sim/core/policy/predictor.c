// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Prefetch before the turn: what the next owner of the GPU will touch comes in while
 * the present one still runs.
 *
 * Layer: policy. Never waits; takes only the device's leaf lock. The thread is in
 * service/prefetcher.c, the copies are in block/prefetch.c.
 *
 *
 * The idea
 *
 * The contexts on a GPU take turns. If their memory does not fit, each turn begins with faults:
 * the kernels wait until their blocks are copied in, and others' blocks out. During the faults
 * the SMs stand still, since a context with faults cannot be switched out. While a kernel
 * computes, the link is idle.
 *
 * The driver knows whose turn comes next. So it can do the copies of that
 * turn before it begins:
 *
 *     without   GPU   |wait| A runs |wait| B runs |wait| A runs |
 *               link  |copy|        |copy|        |copy|
 *
 *     with      GPU   | A runs | B runs | A runs |
 *               link  | B's    | A's    | B's    |       both directions at once
 *
 *
 * What is predicted
 *
 * Models run in loops: a container touches its blocks in the order of the last time. So each
 * block that faults has a link to the one that faulted after it. A table has the links, and
 * whether the block was evicted since. From the block that the container used last, the links
 * lead to the blocks that it needs next. Those that were evicted are prefetched.
 *
 *          last                        cursor
 *           |      expected, on GPU      |
 *           b -> b -> e -> e -> e -> p -> b -> x -> x ...     x evicted: comes next
 *
 * A block that was prefetched does not fault, so nothing tells whether it is used. One block of
 * 16 is a probe: it comes in, but is not mapped. Its first use costs a fault without a copy.
 * This fault tells that the container has come this far, that the blocks between were used, and
 * that more can be prefetched. Linux does the same with the page PG_readahead. A probe that the
 * container passed without a fault tells that its blocks were not used.
 *
 *
 * The bounds
 *
 *   1. Not more than fits: a block takes link time in both directions, as measured with
 *      the last ones. Not more are expected at once than can be copied in the timeslice
 *      of the present owner. If that is less than one, nothing is prefetched, and the
 *      driver looks again later.
 *   2. Not more than is needed: not more come before a turn than the last turn missed. Without
 *      this bound, a loop that fits was pushed out by blocks that were needed much later. The
 *      eviction order is near FIFO, so all of the loop missed: diffusion copied in 2.5 TB in
 *      place of 1.
 *   3. Only if predictions are right: a right one saves a copy in and one out. A wrong one
 *      costs them, and evicts a block that may have to come back, which costs them again. So at
 *      least two of three have to be right, of the last 256.
 *   4. Limits hold: a block is charged before it comes. At gmem.limit.high the container gives
 *      a chunk of its own. On a full device the coldest chunk of any container goes that is not
 *      protected by gmem.limit.low. If there is none, nothing comes.
 *
 * Each call follows PREDICTOR_STEPS links at most. The table has four slots for each chunk of the
 * device, eight in a bucket. A slot has one block, and a newer block may take it. Then a link
 * leads to a wrong block. That costs a wrong prediction, nothing else.
 *
 *
 * When it cannot help
 *
 *   - A slice shorter than the copy of one block: 0.26 ms at 16 GB/s for both directions.
 *   - A container that is alone: its own faults cannot be hidden behind others' turns. Its next
 *     blocks come while it computes, as far as it computes.
 *   - A link that is busy with faults already. In memory-contention, with slices of 2 ms, a
 *     turn needs 60 MB, and the copies of faults take most of it. Prefetched blocks wait in the
 *     same queue, and the blocks that leave for them are missed by the other container.
 *   - Two working sets in one FIFO: a block that comes early for one evicts a block of
 *     the other. The more important container loses by that. policy/lirs.c has an order
 *     that keeps them apart.
 *
 * docs/ideas.md has what the simulator says of whole scenarios.
 *
 *
 * Where it comes from
 *
 *   1. MSched (arXiv 2512.24637) predicts the memory of the next kernels from their launch
 *      arguments and from templates of past launches, and gives each task a slice of its own.
 *      Here the driver sees no launches. It has only faults, so it knows the order of blocks,
 *      and not which kernel needs them.
 *   2. GVT-g chooses the next owner one workload before the switch. Here NVIDIA's runlist
 *      switches by itself. The driver sees only who is on the GPU and who has work, and takes
 *      the next container with work in the order in which they came.
 *   3. MSched evicts by the predicted date of the next use. Here the victims are the clock's.
 */
#include "gvm/predictor.h"

/* Places of a block: it is in one of these slots of its bucket. */
#define PREDICTOR_WAYS 8u

/* Links that one call follows at most. */
#define PREDICTOR_STEPS GVM_PREFETCH_MOST

/* Predictions that are counted before they are halved, and before they are trusted. */
#define PREDICTOR_SCORE_MOST  256u
#define PREDICTOR_SCORE_LEAST 16u

/* CONTEXT: process. */
int gvm_predictor_init(struct gvm_device *device)
{
	u64 slots = gvm_block_table_slots(device);
	struct gvm_predictor *predictor;

	if (!gvm_has_feature(device, GVM_OWNER_PREFETCH))
		return 0;
	predictor = gvm_alloc(sizeof(*predictor) + slots * sizeof(*predictor->slots));
	if (!predictor)
		return -ENOMEM;
	predictor->slots = (struct gvm_predictor_slot *)(predictor + 1);
	predictor->mask = (u32)(slots / PREDICTOR_WAYS - 1);
	device->predictor = predictor;
	return 0;
}

/* CONTEXT: process. */
void gvm_predictor_destroy(struct gvm_device *device)
{
	gvm_free(device->predictor);
	device->predictor = NULL;
}

/* The slot of a block, or GVM_NO_SLOT. *ret_spare: where it may go. */
static u32 predictor_find(const struct gvm_predictor *predictor,
			  const struct gvm_container *container, const void *space, u64 va,
			  u32 *ret_spare)
{
	u64 hash = gvm_block_hash(container, va);
	u32 first = ((u32)(hash >> 8) & predictor->mask) * PREDICTOR_WAYS;

	*ret_spare = first + (u32)(hash >> 40) % PREDICTOR_WAYS;
	for (u32 i = first; i < first + PREDICTOR_WAYS; i++) {
		const struct gvm_predictor_slot *slot = &predictor->slots[i];

		if (!slot->container)
			*ret_spare = i;
		else if (slot->va == va && slot->space == space && slot->container == container)
			return i;
	}
	return GVM_NO_SLOT;
}

static void predictor_score(struct gvm_turn *turn, u32 right, u32 wrong)
{
	turn->right += right;
	turn->wrong += wrong;
	while (turn->right + turn->wrong > PREDICTOR_SCORE_MOST) {
		turn->right /= 2;
		turn->wrong /= 2;
	}
}

/* How many links lead from the block that the container used last to @to; 0: too many. */
static u32 predictor_distance(const struct gvm_container *container, u32 to)
{
	const struct gvm_predictor *predictor = container->device->predictor;
	u32 at = container->turn.last;

	for (u32 steps = 1; steps <= PREDICTOR_STEPS; steps++) {
		at = predictor->slots[at].next;
		if (at == GVM_NO_SLOT || predictor->slots[at].container != container)
			return 0;
		if (at == to)
			return steps;
	}
	return 0;
}

/*
 * The container is past a prefetched block. Only a probe tells whether it was used: it has
 * faulted, or it has not. It speaks for the blocks before it, too.
 */
static void predictor_pass_locked(struct gvm_predictor *predictor, struct gvm_turn *turn,
				  struct gvm_predictor_slot *slot, bool faulted)
{
	u32 blocks;

	if (!slot->expected)
		return;
	slot->expected = false;
	turn->expected -= min(turn->expected, 1u);
	turn->missed++;
	turn->unproved++;
	if (!slot->probe)
		return;
	slot->probe = false;
	blocks = turn->unproved;
	turn->unproved = 0;
	if (faulted) {
		predictor->used += blocks;
		predictor_score(turn, blocks, 0);
	} else {
		predictor->wasted += blocks;
		predictor_score(turn, 0, blocks);
	}
}

/* Go on to the next block of the container's links. */
static struct gvm_predictor_slot *predictor_follow_link(struct gvm_predictor *predictor,
							struct gvm_turn *turn)
{
	turn->last = predictor->slots[turn->last].next;
	return &predictor->slots[turn->last];
}

/*
 * The container has used a block @steps links after the last one. The blocks between them were
 * used as well, if they were on the device: a fault would have told of one that was away, so the
 * order was wrong there.
 */
static void predictor_advance_locked(struct gvm_container *container, u32 steps)
{
	struct gvm_predictor *predictor = container->device->predictor;
	struct gvm_turn *turn = &container->turn;
	u32 between = steps - 1, wrong = 0;

	for (u32 i = 0; i < between; i++) {
		struct gvm_predictor_slot *passed = predictor_follow_link(predictor, turn);

		wrong += passed->away;
		predictor_pass_locked(predictor, turn, passed, false);
	}
	predictor_pass_locked(predictor, turn, predictor_follow_link(predictor, turn), true);
	turn->ahead -= min(turn->ahead, steps);
	if (!turn->ahead) {
		turn->cursor = turn->last;
		turn->expected = 0;
	}
	predictor_score(turn, 1, wrong);
}

/* The container has used a block that was not predicted. */
static void predictor_jump_locked(struct gvm_container *container, u32 slot)
{
	struct gvm_predictor *predictor = container->device->predictor;
	struct gvm_turn *turn = &container->turn;

	/*
	 * What was prefetched may have been used or not: the order is learnt without it only.
	 */
	if (turn->known && !turn->expected)
		predictor->slots[turn->last].next = slot;
	turn->expected = 0;
	turn->ahead = 0;
	turn->last = slot;
	turn->cursor = slot;
	turn->known = true;
	turn->unproved = 0;
	predictor_pass_locked(predictor, turn, &predictor->slots[slot], true);
}

/* CONTEXT: atomic. */
void gvm_predictor_used(struct gvm_container *container, void *space, u64 va)
{
	struct gvm_device *device = container->device;
	struct gvm_predictor *predictor = device->predictor;
	struct gvm_turn *turn = &container->turn;
	u32 slot, spare, steps = 0;

	if (!predictor)
		return;
	gvm_spin_lock(&device->lock);
	slot = predictor_find(predictor, container, space, va, &spare);
	if (slot == GVM_NO_SLOT) {
		slot = spare;
		predictor->slots[slot] = (struct gvm_predictor_slot){
			.container = container,
			.space = space,
			.va = va,
			.next = GVM_NO_SLOT,
		};
		/* A new block says nothing about the others. */
		if (!turn->expected)
			predictor_jump_locked(container, slot);
	} else if (!turn->known || turn->last != slot) {
		if (turn->known)
			steps = predictor_distance(container, slot);
		if (steps) {
			predictor_advance_locked(container, steps);
		} else {
			predictor_score(turn, 0, 1 + turn->expected);
			predictor_jump_locked(container, slot);
		}
	}
	turn->missed += predictor->slots[slot].away;
	predictor->slots[slot].away = false;
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: atomic. */
void gvm_predictor_end_turn(struct gvm_container *container)
{
	struct gvm_turn *turn = &container->turn;

	gvm_spin_lock(&container->device->lock);
	turn->budget = turn->missed;
	turn->missed = 0;
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: atomic. */
void gvm_predictor_evicted(struct gvm_container *container, void *space, u64 va)
{
	struct gvm_device *device = container->device;
	u32 slot, spare;

	if (!device->predictor)
		return;
	gvm_spin_lock(&device->lock);
	slot = predictor_find(device->predictor, container, space, va, &spare);
	if (slot != GVM_NO_SLOT) {
		struct gvm_predictor_slot *entry = &device->predictor->slots[slot];

		entry->away = true;
		if (entry->expected) {
			device->predictor->wasted++;
			container->turn.expected -= min(container->turn.expected, 1u);
		}
		entry->expected = false;
		entry->probe = false;
	}
	gvm_spin_unlock(&device->lock);
}

/* Are two predictions of three right? Else a prefetch costs more than it brings. */
static bool predictor_is_trusted(const struct gvm_turn *turn)
{
	u32 all = turn->right + turn->wrong;

	return all >= PREDICTOR_SCORE_LEAST && 3 * turn->right >= 2 * all;
}

/* CONTEXT: atomic. */
u32 gvm_predictor_next(struct gvm_container *container, u32 window, struct gvm_prefetch *blocks,
		       u32 max)
{
	struct gvm_device *device = container->device;
	const struct gvm_predictor *predictor = device->predictor;
	struct gvm_turn *turn = &container->turn;
	u32 found = 0;

	if (!predictor)
		return 0;
	gvm_spin_lock(&device->lock);
	if (!turn->known || !predictor_is_trusted(turn))
		max = 0;
	max = min(max, turn->budget);
	for (u32 steps = 0; steps < PREDICTOR_STEPS && found < max &&
			    turn->expected + found < window && turn->ahead < PREDICTOR_STEPS;
	     steps++) {
		u32 next = predictor->slots[turn->cursor].next;
		const struct gvm_predictor_slot *slot;

		if (next == GVM_NO_SLOT || next == turn->last)
			break;
		slot = &predictor->slots[next];
		if (slot->container != container)
			break;
		turn->cursor = next;
		turn->ahead++;
		if (slot->away)
			blocks[found++] =
				(struct gvm_prefetch){ .space = slot->space, .va = slot->va };
	}
	gvm_spin_unlock(&device->lock);
	return found;
}

/* CONTEXT: atomic. */
void gvm_predictor_expect(struct gvm_container *container, const struct gvm_prefetch *blocks,
			  u32 count)
{
	struct gvm_device *device = container->device;
	struct gvm_turn *turn = &container->turn;
	u32 spare;

	if (!device->predictor)
		return;
	gvm_spin_lock(&device->lock);
	for (u32 i = 0; i < count; i++) {
		u32 slot = predictor_find(device->predictor, container, blocks[i].space,
					  blocks[i].va, &spare);
		struct gvm_predictor_slot *entry;

		if (slot == GVM_NO_SLOT)
			continue;
		entry = &device->predictor->slots[slot];
		entry->away = false;
		if (!blocks[i].done)
			continue;
		turn->budget -= min(turn->budget, 1u);
		device->predictor->prefetched++;
		if (blocks[i].late) {
			device->predictor->late++;
			continue;
		}
		entry->expected = true;
		entry->probe = blocks[i].probe;
		turn->expected++;
	}
	gvm_spin_unlock(&device->lock);
}
