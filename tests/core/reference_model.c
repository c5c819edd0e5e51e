// SPDX-License-Identifier: MIT OR GPL-2.0
#include "reference_model.h"

#define CHUNK_BYTES   (2ull * 1024 * 1024)
#define LOOKS	      64u /* of any pick */
#define RESERVE_LOOKS 16u /* looks of a global pick kept for asking container by container */
#define STASH_SIZE    16u
#define ACTIVITIES    4u

struct model model;

/* The result of a hand's look at a chunk. */
enum look { LOOK_VICTIM, LOOK_USED, LOOK_OBSTACLE };

static u32 queue_position(const struct model_queue *queue, u32 entry)
{
	u32 i = 0;

	while (i < queue->count && queue->entry[i] != entry)
		i++;
	return i;
}

static bool queue_has(const struct model_queue *queue, u32 entry)
{
	return queue_position(queue, entry) < queue->count;
}

static void queue_append(struct model_queue *queue, u32 entry)
{
	queue->entry[queue->count++] = entry;
}

static void queue_remove(struct model_queue *queue, u32 entry)
{
	u32 i = queue_position(queue, entry);

	if (i == queue->count)
		return;
	queue->count--;
	for (; i < queue->count; i++)
		queue->entry[i] = queue->entry[i + 1];
}

static u32 queue_take_first(struct model_queue *queue)
{
	u32 entry = queue->entry[0];

	queue_remove(queue, entry);
	return entry;
}

/* The hand moves on: the first entry becomes the last. Returns that entry. */
static u32 queue_rotate(struct model_queue *queue)
{
	u32 entry = queue_take_first(queue);

	queue_append(queue, entry);
	return entry;
}

void model_init(u32 chunk_count)
{
	u32 i;

	memset(&model, 0, sizeof(model));
	model.chunk_count = chunk_count;
	for (i = 0; i < MODEL_CHUNKS; i++)
		model.chunk[i].owner = MODEL_NONE;
}

/* Containers. */

static struct model_container *named(const struct model_op *op)
{
	return &model.container[op->container];
}

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

static bool is_shielded(const struct model_container *container)
{
	return model_is_protected(container) || model_is_full(container);
}

/*
 * Usage or limits changed: if the container is no longer shielded, its shielded chunks return
 * to the global order.
 */
static void settle(struct model_container *container)
{
	while (!is_shielded(container) && container->shielded.count)
		queue_append(&model.global, queue_take_first(&container->shielded));
}

/* Reserve a chunk whatever the limit says. */
u32 model_force(const struct model_op *op)
{
	struct model_container *container = named(op);

	container->reserved++;
	if (charged(container) > container->peak)
		container->peak = charged(container);
	settle(container);
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
	settle(named(op));
	return 0;
}

u32 model_bind(const struct model_op *op)
{
	struct model_container *container = named(op);
	bool pinned = model.chunk[op->chunk].pinned;

	model.chunk[op->chunk] =
		(struct model_chunk){ .owner = op->container, .pinned = pinned };
	container->reserved--;
	if (container->own.count == 0)
		queue_append(&model.turns, op->container);
	queue_append(&container->own, op->chunk);
	queue_append(is_shielded(container) ? &container->shielded : &model.global, op->chunk);
	return 0;
}

/* Is a stashed chunk still a victim: not being evicted, not used, not shielded? */
static bool is_good(u32 chunk)
{
	const struct model_chunk *entry = &model.chunk[chunk];

	return !entry->evicting && !entry->used_global &&
	       !is_shielded(&model.container[entry->owner]);
}

static void prune_stash(void)
{
	u32 count = model.stash.count;

	while (count--) {
		u32 chunk = queue_take_first(&model.stash);

		if (is_good(chunk))
			queue_append(&model.stash, chunk);
	}
}

/*
 * When a chunk leaves the stash, the stash is pruned first, by the state before the uncharge.
 */
static void uncharge(u32 chunk)
{
	struct model_container *owner = &model.container[model.chunk[chunk].owner];

	if (queue_has(&model.stash, chunk)) {
		queue_remove(&model.stash, chunk);
		prune_stash();
	}
	queue_remove(&model.global, chunk);
	queue_remove(&owner->shielded, chunk);
	queue_remove(&owner->own, chunk);
	if (owner->own.count == 0)
		queue_remove(&model.turns, model.chunk[chunk].owner);
	owner->evicted += model.chunk[chunk].evicting;
	model.chunk[chunk].evicting = false;
	model.chunk[chunk].owner = MODEL_NONE;
	settle(owner);
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
	settle(named(op));
	return 0;
}

u32 model_hmem(const struct model_op *op)
{
	named(op)->hmem_bytes = op->value;
	settle(named(op));
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
	settle(named(op));
	return 0;
}

u32 model_swap_out(const struct model_op *op)
{
	named(op)->swapped_bytes += op->value;
	settle(named(op));
	return 0;
}

u32 model_swap_in(const struct model_op *op)
{
	named(op)->swapped_bytes -= op->value;
	settle(named(op));
	return 0;
}

u32 model_bound(void)
{
	u32 bound = 0, i;

	for (i = 0; i < model.chunk_count; i++)
		bound += model.chunk[i].owner != MODEL_NONE;
	return bound;
}

/* The two hands. */

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
	if (is_shielded(owner)) {
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

	prune_stash();
	for (; looks > 0 && model.stash.count < STASH_SIZE && model.global.count > 0; looks--) {
		if (look_global(&chunk) == LOOK_VICTIM)
			queue_append(&model.stash, chunk);
	}
	return model.stash.count;
}

static u32 take(u32 chunk)
{
	model.chunk[chunk].evicting = true;
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
static u32 oldest_of_all(u32 looks, bool also_protected)
{
	u32 chunk = MODEL_NONE;

	while (looks > 0 && chunk == MODEL_NONE && model.turns.count > 0) {
		struct model_container *container =
			&model.container[queue_rotate(&model.turns)];

		looks--;
		if (!model_is_full(container) &&
		    (also_protected || !model_is_protected(container)))
			chunk = oldest_of(container, &looks);
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
	chunk = obstructed ? oldest_of_all(RESERVE_LOOKS, false) : MODEL_NONE;
	return chunk == MODEL_NONE ? MODEL_NONE : take(chunk);
}

u32 model_pick_protected(const struct model_op *op)
{
	u32 chunk = oldest_of_all(LOOKS, true);

	(void)op;
	return chunk == MODEL_NONE ? MODEL_NONE : take(chunk);
}

/* The driver takes this chunk. Pins do not count: the driver knows its own. */
u32 model_take(const struct model_op *op)
{
	struct model_chunk *chunk = &model.chunk[op->chunk];

	if (chunk->owner == MODEL_NONE || chunk->evicting ||
	    model_is_full(&model.container[chunk->owner]))
		return false;
	chunk->evicting = true;
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
		chunk->evicting = true;
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
	settle(&model.container[model.chunk[op->chunk].owner]);
	return model_touch(op);
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
