// SPDX-License-Identifier: MIT OR GPL-2.0
/* Cases: remove the operations that a failing case does not need. */
#include "model_case.h"

/* Remove the operations from @first to before @end. */
static void cut(struct model_case *from, u32 first, u32 end)
{
	end = min(end, from->count);
	memmove(&from->ops[first], &from->ops[end], (from->count - end) * sizeof(from->ops[0]));
	from->count -= end - first;
}

/* One round: try to remove each run of @length operations. Returns true if one was removed. */
static bool shrink_by(struct model_case *failing, u32 length, case_test passes)
{
	static struct model_case tried;
	struct case_failure failure;
	bool shrunk = false;
	u32 first = 0;

	while (first < failing->count) {
		tried = *failing;
		cut(&tried, first, first + length);
		if (passes(&tried, &failure)) {
			first += length;
			continue;
		}
		*failing = tried;
		shrunk = true;
	}
	return shrunk;
}

/* Number the chunks by their first use, so that a small device suffices. */
static void renumber(struct model_case *failing, case_test passes)
{
	static struct model_case tried;
	struct case_failure failure;
	u32 number[MODEL_CHUNKS], next = 0, i;

	tried = *failing;
	memset(number, 0xff, sizeof(number));
	for (i = 0; i < tried.count; i++) {
		struct model_op *op = &tried.ops[i];

		if (!(case_op_has(op->kind) & CASE_HAS_CHUNK))
			continue;
		if (number[op->chunk] == MODEL_NONE)
			number[op->chunk] = next++;
		op->chunk = (u8)number[op->chunk];
	}
	if (!passes(&tried, &failure))
		*failing = tried;
}

static void shrink_device(struct model_case *failing, case_test passes)
{
	struct case_failure failure;

	while (failing->chunks > 1) {
		failing->chunks--;
		if (!passes(failing, &failure))
			continue;
		failing->chunks++;
		return;
	}
}

void case_shrink(struct model_case *failing, case_test passes)
{
	struct case_failure failure;
	u32 length;

	if (passes(failing, &failure))
		return;
	cut(failing, min(failure.op + 1, failing->count), failing->count);
	for (length = failing->count / 2; length > 1; length /= 2)
		shrink_by(failing, length, passes);
	while (shrink_by(failing, 1, passes))
		;
	renumber(failing, passes);
	shrink_device(failing, passes);
}
