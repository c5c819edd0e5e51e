// SPDX-License-Identifier: MIT OR GPL-2.0
/* Cases drawn at random. */
#include "model_case.h"
#include "draw.h"

u64 case_random(u64 *state)
{
	return draw_bits(state);
}

static u32 below(u64 *state, u32 bound)
{
	return (u32)(case_random(state) % bound);
}

/* Bytes near a whole number of chunks, where the edges are; now and then no limit at all. */
static u64 draw_bytes(u64 *state, u32 chunks)
{
	u64 bytes = below(state, chunks + 2) * GVM_CHUNK_BYTES;

	switch (below(state, 8)) {
	case 0:
		return U64_MAX;
	case 1:
		return 0;
	case 2:
		return bytes + GVM_CHUNK_BYTES - 1;
	case 3:
		return bytes + 1;
	default:
		return bytes;
	}
}

static u64 draw_value(u64 *state, u32 kind, u32 chunks, u32 tgids)
{
	switch (kind) {
	case MODEL_ATTACH:
	case MODEL_FIND:
		return below(state, tgids) + 1;
	case MODEL_REFILL:
		return below(state, 4) ? below(state, 20) : below(state, 300);
	case MODEL_TAKE_RANGE:
		return below(state, 6);
	case MODEL_ACTIVITY:
		return below(state, 4);
	case MODEL_ACCESS:
	case MODEL_STUCK:
		return below(state, MODEL_TSGS);
	case MODEL_RETURN:
		return below(state, MODEL_TSGS) | (1 + below(state, 20)) << 8;
	case MODEL_REMOTE:
		/* One in eight fails. */
		return (u32)(case_random(state) & case_random(state)) | (u64)!below(state, 8)
										<< 32;
	case MODEL_SWAP_OUT:
	case MODEL_SWAP_IN:
		return below(state, 64) * GVM_PAGE_BYTES;
	default:
		return draw_bytes(state, chunks);
	}
}

/*
 * How often each operation comes. Each case multiplies the common weight of each kind by 0 to
 * 4; kinds that a case needs have a factor of 2.
 */
static u32 draw_weights(u64 *state, u32 *weights)
{
	static const u8 common[MODEL_OPS] = {
		[MODEL_ATTACH] = 4,	  [MODEL_DETACH] = 1,
		[MODEL_GET] = 1,	  [MODEL_PUT] = 1,
		[MODEL_FIND] = 1,	  [MODEL_EMPTY] = 1,
		[MODEL_RESERVE] = 30,	  [MODEL_CANCEL] = 6,
		[MODEL_BIND] = 30,	  [MODEL_UNCHARGE] = 8,
		[MODEL_TOUCH] = 30,	  [MODEL_PICK_OWN] = 8,
		[MODEL_PUTBACK] = 8,	  [MODEL_REFILL] = 3,
		[MODEL_PICK_GLOBAL] = 12, [MODEL_HIGH] = 2,
		[MODEL_LOW] = 4,	  [MODEL_HMEM] = 4,
		[MODEL_CHARGE_PIN] = 4,	  [MODEL_CHARGE_UNPIN] = 2,
		[MODEL_PIN] = 4,	  [MODEL_UNPIN] = 6,
		[MODEL_SWAP_OUT] = 1,	  [MODEL_SWAP_IN] = 1,
		[MODEL_OOM] = 1,	  [MODEL_FORCE] = 3,
		[MODEL_EXCESS] = 1,	  [MODEL_PICK_PROTECTED] = 4,
		[MODEL_TAKE] = 3,	  [MODEL_IS_PICKED] = 1,
		[MODEL_TAKE_RANGE] = 1,	  [MODEL_QUIESCE] = 1,
		[MODEL_RESUME] = 1,	  [MODEL_ACTIVITY] = 1,
		[MODEL_MAP] = 4,	  [MODEL_UNMAP] = 1,
		[MODEL_ACCESS] = 2,	  [MODEL_RETURN] = 8,
		[MODEL_STUCK] = 8,	  [MODEL_REMOTE] = 6,
		[MODEL_END_REMOTE] = 2,
	};
	u32 total = 0, i;

	for (i = 0; i < MODEL_OPS; i++) {
		bool needed = i == MODEL_ATTACH || i == MODEL_RESERVE || i == MODEL_BIND;

		weights[i] = common[i] * (needed ? 2 : below(state, 5));
		total += weights[i];
	}
	return total;
}

static u8 draw_kind(u64 *state, const u32 *weights, u32 total)
{
	u32 at = below(state, total);
	u8 kind;

	for (kind = 0; at >= weights[kind]; kind++)
		at -= weights[kind];
	return kind;
}

/* The chunks, or blocks, that an operation of a kind can name. */
static u32 draw_chunks(u32 kind)
{
	bool block = kind == MODEL_RETURN || kind == MODEL_STUCK || kind == MODEL_REMOTE;

	return block ? MODEL_BLOCKS : MODEL_CHUNKS;
}

/* Find an allowed operation of a kind, in at most 16 tries. */
static bool draw_op(u64 *state, u8 kind, u32 chunks, u32 tgids, struct model_op *op)
{
	/* One slot more than tgids: a container can outlive its processes. */
	u32 slots = min(tgids + 1, MODEL_CONTAINERS), tries;

	for (tries = 0; tries < 16; tries++) {
		u32 has = case_op_has(kind);

		*op = (struct model_op){ .kind = kind };
		if (has & CASE_HAS_CONTAINER)
			op->container = (u8)below(state, slots);
		if (has & CASE_HAS_CHUNK)
			op->chunk = (u8)below(state, min(chunks, draw_chunks(kind)));
		if (has & CASE_HAS_VALUE)
			op->value = draw_value(state, kind, chunks, tgids);
		if (model_allows(op))
			return true;
	}
	return false;
}

static void append_op(struct model_case *to, const struct model_op *op)
{
	case_op_play(op);
	to->ops[to->count++] = *op;
}

/* Drop all references: random draws hardly ever reach the last one. */
static void append_exit(struct model_case *to, u8 slot)
{
	struct model_op op = { .container = slot };

	while (model.container[slot].live && to->count < CASE_OPS_MAX) {
		op.kind = MODEL_PUT;
		if (!model_allows(&op))
			op.kind = MODEL_DETACH;
		append_op(to, &op);
	}
}

/* The model does each drawn operation at once, so it knows which operation is allowed next. */
void case_draw(struct model_case *ret_case, u64 *state)
{
	u32 weights[MODEL_OPS], total = draw_weights(state, weights);
	u32 chunks = 1 + below(state, MODEL_CHUNKS), tgids = 1 + below(state, MODEL_CONTAINERS);
	u32 wanted = 64 + below(state, CASE_OPS_MAX - 64);
	/* A GPU that is lost stays lost, so only one case in four loses it, anywhere. */
	u32 lost_at = below(state, 4) ? CASE_OPS_MAX : below(state, wanted);

	model_init(chunks);
	ret_case->chunks = chunks;
	ret_case->count = 0;
	while (ret_case->count < wanted) {
		struct model_op op = { .kind = MODEL_LOSE };

		if (ret_case->count != lost_at &&
		    !draw_op(state, draw_kind(state, weights, total), chunks, tgids, &op))
			continue;
		append_op(ret_case, &op);
		if (op.kind == MODEL_EMPTY && below(state, 2))
			append_exit(ret_case, op.container);
	}
}
