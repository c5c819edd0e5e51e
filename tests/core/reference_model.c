// SPDX-License-Identifier: MIT OR GPL-2.0
#include "reference_parts.h"

#define CHUNK_BYTES (2ull * 1024 * 1024)
#define ACTIVITIES  4u

struct model model;

void model_init(u32 chunk_count)
{
	u32 i;

	memset(&model, 0, sizeof(model));
	model.chunk_count = chunk_count;
	for (i = 0; i < MODEL_CHUNKS; i++)
		model.chunk[i].owner = MODEL_NONE;
}

/* Containers. */

static u32 slot_of_tgid(u64 tgid)
{
	u32 i;

	for (i = 0; i < MODEL_CONTAINERS; i++) {
		if (model.container[i].processes > 0 && model.container[i].tgid == tgid)
			return i;
	}
	return MODEL_NONE;
}

static u32 free_slot(void)
{
	u32 i;

	for (i = 0; i < MODEL_CONTAINERS; i++) {
		if (!model.container[i].live)
			return i;
	}
	return MODEL_NONE;
}

u32 model_attach(const struct model_op *op)
{
	u32 slot = slot_of_tgid(op->value);

	if (slot == MODEL_NONE) {
		slot = free_slot();
		memset(&model.container[slot], 0, sizeof(model.container[slot]));
		model.container[slot].live = true;
		model.container[slot].tgid = (u32)op->value;
		model.container[slot].high_bytes = U64_MAX;
		model.container[slot].hmem_bytes = U64_MAX;
		model.containers++;
	}
	model.container[slot].processes++;
	model.container[slot].refs++;
	return slot;
}

u32 model_get(const struct model_op *op)
{
	return ++named(op)->refs;
}

u32 model_put(const struct model_op *op)
{
	if (--named(op)->refs == 0) {
		named(op)->live = false;
		model.containers--;
	}
	return named(op)->refs;
}

u32 model_detach(const struct model_op *op)
{
	named(op)->processes--;
	return model_put(op);
}

/* The caller of the core drops the reference that comes with the answer. */
u32 model_find(const struct model_op *op)
{
	return slot_of_tgid(op->value);
}

u32 model_oom(const struct model_op *op)
{
	named(op)->oom_events++;
	return 0;
}

/* Limits and charges. */

static u32 charged(const struct model_container *container)
{
	return container->own.count + container->reserved + container->pinned;
}

u64 model_charged_bytes(const struct model_container *container)
{
	return charged(container) * CHUNK_BYTES;
}

/* Bytes of chunks that are being evicted. */
static u64 leaving_bytes(const struct model_container *container)
{
	u64 bytes = 0;

	for (u32 i = 0; i < container->own.count; i++) {
		if (model.chunk[container->own.entry[i]].evicting)
			bytes += CHUNK_BYTES;
	}
	return bytes;
}

/* A chunk that is being evicted counts as gone. One chunk less would be below the limit. */
bool model_is_protected(const struct model_container *container)
{
	u64 staying = model_charged_bytes(container) - leaving_bytes(container);

	return container->low_bytes > 0 &&
	       (staying < CHUNK_BYTES || staying - CHUNK_BYTES < container->low_bytes);
}

/* A chunk that is being evicted counts as swapped before it is on the host. */
u64 model_host_bytes(const struct model_container *container)
{
	return container->swapped_bytes + leaving_bytes(container);
}

bool model_is_full(const struct model_container *container)
{
	return model_host_bytes(container) + CHUNK_BYTES > container->hmem_bytes;
}

bool model_is_shielded(const struct model_container *container)
{
	return model_is_protected(container) || model_is_full(container);
}

/*
 * Usage or limits changed: if the container is no longer shielded, its shielded chunks return
 * to the global order. It takes turns with the others that are shielded, or that are not.
 */
void model_settle(struct model_container *container)
{
	u32 slot = (u32)(container - model.container);
	bool shielded = model_is_shielded(container);
	struct model_queue *turns = shielded ? &model.shielded_turns : &model.turns;

	while (!shielded && container->shielded.count)
		queue_append(&model.global, queue_take_first(&container->shielded));
	if (container->own.count == 0 || queue_has(turns, slot))
		return;
	queue_remove(shielded ? &model.turns : &model.shielded_turns, slot);
	queue_append(turns, slot);
}

/* Reserve a chunk whatever the limit says. */
u32 model_force(const struct model_op *op)
{
	struct model_container *container = named(op);

	container->reserved++;
	if (charged(container) > container->peak)
		container->peak = charged(container);
	model_settle(container);
	return 0;
}

u32 model_reserve(const struct model_op *op)
{
	struct model_container *container = named(op);

	if (model_charged_bytes(container) + CHUNK_BYTES > container->high_bytes) {
		container->high_events++;
		return (u32)-EDQUOT;
	}
	return model_force(op);
}

/*
 * How many chunks must go until the rest fits the limit. Part of a chunk above it counts as
 * one.
 */
u32 model_excess(const struct model_op *op)
{
	u64 used = model_charged_bytes(named(op)), high = named(op)->high_bytes;
	u32 chunks = 0;

	for (; used > high; used -= CHUNK_BYTES)
		chunks++;
	return chunks;
}

u32 model_cancel(const struct model_op *op)
{
	named(op)->reserved--;
	model_settle(named(op));
	return 0;
}

u32 model_bind(const struct model_op *op)
{
	struct model_container *container = named(op);
	bool pinned = model.chunk[op->chunk].pinned;

	model.chunk[op->chunk] =
		(struct model_chunk){ .owner = op->container, .pinned = pinned };
	container->reserved--;
	queue_append(&container->own, op->chunk);
	model_settle(container);
	queue_append(model_is_shielded(container) ? &container->shielded : &model.global,
		     op->chunk);
	return 0;
}

/*
 * When a chunk leaves the stash, the stash is pruned first, by the state before the uncharge.
 */
static void uncharge(u32 chunk)
{
	struct model_container *owner = &model.container[model.chunk[chunk].owner];

	if (queue_has(&model.stash, chunk)) {
		queue_remove(&model.stash, chunk);
		model_prune_stash();
	}
	queue_remove(&model.global, chunk);
	queue_remove(&owner->shielded, chunk);
	queue_remove(&owner->own, chunk);
	if (owner->own.count == 0) {
		queue_remove(&model.turns, model.chunk[chunk].owner);
		queue_remove(&model.shielded_turns, model.chunk[chunk].owner);
	}
	owner->evicted += model.chunk[chunk].evicting;
	model.chunk[chunk].evicting = false;
	model.chunk[chunk].owner = MODEL_NONE;
	model_settle(owner);
}

u32 model_uncharge(const struct model_op *op)
{
	uncharge(op->chunk);
	return 0;
}

u32 model_empty(const struct model_op *op)
{
	u32 i;

	for (i = 0; i < model.chunk_count; i++) {
		if (model.chunk[i].owner == op->container)
			uncharge(i);
	}
	while (named(op)->reserved > 0)
		model_cancel(op);
	while (named(op)->pinned > 0)
		model_charge_unpin(op);
	return 0;
}

u32 model_high(const struct model_op *op)
{
	named(op)->high_bytes = op->value;
	return 0;
}

u32 model_low(const struct model_op *op)
{
	named(op)->low_bytes = op->value;
	model_settle(named(op));
	return 0;
}

u32 model_hmem(const struct model_op *op)
{
	named(op)->hmem_bytes = op->value;
	model_settle(named(op));
	return 0;
}

u32 model_charge_pin(const struct model_op *op)
{
	named(op)->reserved--;
	named(op)->pinned++;
	return 0;
}

u32 model_charge_unpin(const struct model_op *op)
{
	named(op)->pinned--;
	model_settle(named(op));
	return 0;
}

u32 model_swap_out(const struct model_op *op)
{
	named(op)->swapped_bytes += op->value;
	model_settle(named(op));
	return 0;
}

u32 model_swap_in(const struct model_op *op)
{
	named(op)->swapped_bytes -= op->value;
	model_settle(named(op));
	return 0;
}

u32 model_bound(void)
{
	u32 bound = 0, i;

	for (i = 0; i < model.chunk_count; i++)
		bound += model.chunk[i].owner != MODEL_NONE;
	return bound;
}

/* The device's life. No other thread runs, so nothing has to be waited for. */

u32 model_quiesce(const struct model_op *op)
{
	bool was_quiesced = model.quiesced;

	(void)op;
	if (model.lost)
		return (u32)-ENODEV;
	model.quiesced = true;
	return was_quiesced ? (u32)-EBUSY : 0;
}

u32 model_resume(const struct model_op *op)
{
	bool was_quiesced = model.quiesced;

	(void)op;
	if (model.lost)
		return (u32)-ENODEV;
	model.quiesced = false;
	return was_quiesced ? 0 : (u32)-EINVAL;
}

u32 model_lose(const struct model_op *op)
{
	(void)op;
	model.lost = true;
	return 0;
}

u32 model_activity(const struct model_op *op)
{
	(void)op;
	return !model.quiesced && !model.lost;
}

/* What is allowed. */

/* The last reference may go only when nothing is charged, on the device or on the host. */
static bool may_put(const struct model_container *container)
{
	return container->live &&
	       (container->refs > 1 || (charged(container) == 0 && !container->swapped_bytes));
}

static bool allows_chunk(const struct model_op *op)
{
	const struct model_chunk *chunk = &model.chunk[op->chunk];

	if (op->chunk >= model.chunk_count)
		return false;
	switch (op->kind) {
	case MODEL_BIND:
		return named(op)->live && named(op)->reserved > 0 && chunk->owner == MODEL_NONE;
	case MODEL_UNCHARGE:
		return chunk->owner != MODEL_NONE;
	case MODEL_PUTBACK:
		return chunk->evicting;
	case MODEL_TAKE_RANGE:
		return op->value <= model.chunk_count - op->chunk;
	default: /* TAKE and IS_PICKED ask; TOUCH is lockless, and may be late */
		return true;
	}
}

static bool allows_container(const struct model_op *op)
{
	const struct model_container *container = named(op);

	switch (op->kind) {
	case MODEL_DETACH:
		return may_put(container) && container->processes > 0;
	case MODEL_PUT:
		return may_put(container) &&
		       container->refs > container->processes + container->mapped;
	case MODEL_CHARGE_UNPIN:
		return container->live && container->pinned > 0;
	case MODEL_CHARGE_PIN:
	case MODEL_CANCEL:
		return container->live && container->reserved > 0;
	case MODEL_SWAP_IN:
		return container->live &&
		       container->swapped_bytes - model_range_bytes(container) >= op->value;
	default:
		return container->live;
	}
}

bool model_allows(const struct model_op *op)
{
	switch (op->kind) {
	case MODEL_ATTACH:
		return slot_of_tgid(op->value) != MODEL_NONE || free_slot() != MODEL_NONE;
	case MODEL_FIND:
	case MODEL_PICK_GLOBAL:
	case MODEL_PICK_PROTECTED:
	case MODEL_REFILL:
	case MODEL_QUIESCE:
	case MODEL_RESUME:
	case MODEL_LOSE:
		return true;
	case MODEL_ACTIVITY:
		return op->value < ACTIVITIES;
	case MODEL_MAP:
	case MODEL_UNMAP:
	case MODEL_ACCESS:
	case MODEL_RETURN:
	case MODEL_STUCK:
	case MODEL_REMOTE:
	case MODEL_END_REMOTE:
		return model_allows_remote(op);
	case MODEL_BIND:
	case MODEL_UNCHARGE:
	case MODEL_TOUCH:
	case MODEL_TAKE:
	case MODEL_TAKE_RANGE:
	case MODEL_IS_PICKED:
	case MODEL_PUTBACK:
	case MODEL_PIN:
	case MODEL_UNPIN:
		return allows_chunk(op);
	default:
		return allows_container(op);
	}
}
