// SPDX-License-Identifier: MIT OR GPL-2.0
/* The part of the reference model about victims: the two hands, the stash, and picks. */
#include "reference_parts.h"

#define LOOKS	      64u /* of any pick */
#define RESERVE_LOOKS 16u /* looks of a global pick kept for asking container by container */
#define STASH_SIZE    16u

/* The result of a hand's look at a chunk. */
enum look { LOOK_VICTIM, LOOK_USED, LOOK_OBSTACLE };

/* Is a stashed chunk still a victim: not being evicted, not used, not shielded? */
static bool is_good(u32 chunk)
{
	const struct model_chunk *entry = &model.chunk[chunk];

	return !entry->evicting && !entry->used_global &&
	       !model_is_shielded(&model.container[entry->owner]);
}

void model_prune_stash(void)
{
	u32 count = model.stash.count;

	while (count--) {
		u32 chunk = queue_take_first(&model.stash);

		if (is_good(chunk))
			queue_append(&model.stash, chunk);
	}
}

u32 model_touch(const struct model_op *op)
{
	model.chunk[op->chunk].used_own = true;
	model.chunk[op->chunk].used_global = true;
	return 0;
}

u32 model_pin(const struct model_op *op)
{
	model.chunk[op->chunk].pinned = true;
	return 0;
}

u32 model_unpin(const struct model_op *op)
{
	model.chunk[op->chunk].pinned = false;
	return 0;
}

/* The device is asked only about chunks that are not being evicted. */
static bool is_evictable(u32 chunk)
{
	if (model.chunk[chunk].evicting)
		return false;
	model.asks++;
	return !model.chunk[chunk].pinned;
}

static enum look judge(bool *used, u32 chunk)
{
	if (*used) {
		*used = false;
		return LOOK_USED;
	}
	return is_evictable(chunk) ? LOOK_VICTIM : LOOK_OBSTACLE;
}

static enum look look_own(struct model_container *container, u32 *chunk)
{
	*chunk = queue_rotate(&container->own);
	return judge(&model.chunk[*chunk].used_own, *chunk);
}

/* A shielded chunk is put aside. A stashed chunk is passed, and keeps its bit. */
static enum look look_global(u32 *chunk)
{
	struct model_container *owner;

	*chunk = queue_take_first(&model.global);
	owner = &model.container[model.chunk[*chunk].owner];
	if (model_is_shielded(owner)) {
		queue_append(&owner->shielded, *chunk);
		return LOOK_OBSTACLE;
	}
	queue_append(&model.global, *chunk);
	if (queue_has(&model.stash, *chunk))
		return LOOK_OBSTACLE;
	return judge(&model.chunk[*chunk].used_global, *chunk);
}

u32 model_refill(const struct model_op *op)
{
	u64 looks = op->value;
	u32 chunk;

	model_prune_stash();
	for (; looks > 0 && model.stash.count < STASH_SIZE && model.global.count > 0; looks--) {
		if (look_global(&chunk) == LOOK_VICTIM)
			queue_append(&model.stash, chunk);
	}
	return model.stash.count;
}

static u32 take(u32 chunk)
{
	model.chunk[chunk].evicting = true;
	model_settle(&model.container[model.chunk[chunk].owner]);
	return chunk;
}

/* At most two turns: a chunk that is used at the first turn is met unused at the second. */
u32 model_pick_own(const struct model_op *op)
{
	u32 looks = min(LOOKS, 2 * named(op)->own.count);
	u32 chunk;

	while (!model_is_full(named(op)) && looks-- > 0) {
		if (look_own(named(op), &chunk) == LOOK_VICTIM)
			return take(chunk);
	}
	return MODEL_NONE;
}

/* The oldest evictable chunk of a container, used or not; at most one turn. */
static u32 oldest_of(struct model_container *container, u32 *looks)
{
	u32 turn = container->own.count;

	for (; turn > 0 && *looks > 0; turn--) {
		u32 chunk = queue_rotate(&container->own);

		(*looks)--;
		if (is_evictable(chunk))
			return chunk;
	}
	return MODEL_NONE;
}

/*
 * Ask container by container; an asked container moves to the end. Each question costs a look.
 */
static u32 oldest_of_all(struct model_queue *turns, u32 *looks)
{
	u32 chunk = MODEL_NONE;

	while (*looks > 0 && chunk == MODEL_NONE && turns->count > 0) {
		struct model_container *container = &model.container[queue_rotate(turns)];

		(*looks)--;
		if (!model_is_full(container))
			chunk = oldest_of(container, looks);
	}
	return chunk;
}

/* Each chunk that is looked at leaves the stash. */
static u32 from_stash(u32 *looks)
{
	while (model.stash.count > 0) {
		u32 chunk = queue_take_first(&model.stash);

		(*looks)--;
		if (is_good(chunk) && is_evictable(chunk))
			return chunk;
	}
	return MODEL_NONE;
}

u32 model_pick_global(const struct model_op *op)
{
	u32 looks = LOOKS - RESERVE_LOOKS, chunk = from_stash(&looks);
	bool obstructed = false;

	(void)op;
	if (chunk != MODEL_NONE)
		return take(chunk);
	for (looks = min(looks, 2 * model_bound()); looks > 0 && model.global.count; looks--) {
		enum look look = look_global(&chunk);

		if (look == LOOK_VICTIM)
			return take(chunk);
		obstructed |= look == LOOK_OBSTACLE;
	}
	looks = RESERVE_LOOKS;
	chunk = obstructed ? oldest_of_all(&model.turns, &looks) : MODEL_NONE;
	return chunk == MODEL_NONE ? MODEL_NONE : take(chunk);
}

u32 model_pick_protected(const struct model_op *op)
{
	u32 looks = LOOKS, chunk = oldest_of_all(&model.turns, &looks);

	(void)op;
	if (chunk == MODEL_NONE)
		chunk = oldest_of_all(&model.shielded_turns, &looks);
	return chunk == MODEL_NONE ? MODEL_NONE : take(chunk);
}

/* The driver takes this chunk. Pins do not count: the driver knows its own. */
u32 model_take(const struct model_op *op)
{
	struct model_chunk *chunk = &model.chunk[op->chunk];

	if (chunk->owner == MODEL_NONE || chunk->evicting ||
	    model_is_full(&model.container[chunk->owner]))
		return false;
	take(op->chunk);
	return true;
}

/* RM takes chunks by force: neither a limit nor a pin holds them back. */
u32 model_take_range(const struct model_op *op)
{
	u32 taken = 0;

	for (u32 i = op->chunk; i < op->chunk + op->value; i++) {
		struct model_chunk *chunk = &model.chunk[i];

		if (chunk->owner == MODEL_NONE || chunk->evicting)
			continue;
		take(i);
		model.container[chunk->owner].taken_events++;
		taken++;
	}
	return taken;
}

u32 model_is_picked(const struct model_op *op)
{
	return model.chunk[op->chunk].evicting;
}

u32 model_putback(const struct model_op *op)
{
	model.chunk[op->chunk].evicting = false;
	model_settle(&model.container[model.chunk[op->chunk].owner]);
	return model_touch(op);
}
