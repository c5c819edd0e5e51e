// SPDX-License-Identifier: MIT OR GPL-2.0
/* The instructions that confine an access, in each mode (docs/guardian.md). */
#include "patcher.h"

/* Does the access keep its offset, so that only its register is fenced? */
static bool keeps_offset(const struct patcher *patcher, const struct access *access)
{
	s64 room = (s64)patcher->options->margin - (1 << PATCH_WIDTH_SHIFT);

	return (patcher->options->mode == PATCH_ONCE || patcher->options->mode == PATCH_4G) &&
	       access->space == ACCESS_GLOBAL && access->offset >= -room &&
	       access->offset < room;
}

/* The width whose low bits the mask clears. */
u32 patcher_mask_shift(const struct patcher *patcher, const struct access *access)
{
	u64 low = (1ull << access->width_shift) - 1;

	return keeps_offset(patcher, access) && ((u64)access->offset & low) ?
		       0 :
		       access->width_shift;
}

/* %gvmf_s: the address before it is fenced. */
static void put_sum(struct patcher *patcher, const struct access *access)
{
	if (access->offset)
		PUT(patcher, "add.s64 %%gvmf_s, %.*s, %lld", WORD(patcher, access->name),
		    access->offset);
	else
		PUT(patcher, "mov.b64 %%gvmf_s, %.*s", WORD(patcher, access->name));
}

/* The instructions of fence, once and count: the paper's Listing 3, into registers of our own. */
static void put_mask(struct patcher *patcher, const struct access *access, bool generic)
{
	bool whole = !keeps_offset(patcher, access);

	/* count compares the address with what becomes of it. */
	if (generic || (whole && access->offset) || patcher->options->mode == PATCH_COUNT) {
		put_sum(patcher, access);
		PUT(patcher, "and.b64 %%gvmf_t, %%gvmf_s, %%gvmf_mask%u",
		    patcher_mask_shift(patcher, access));
	} else {
		PUT(patcher, "and.b64 %%gvmf_t, %.*s, %%gvmf_mask%u",
		    WORD(patcher, access->name), patcher_mask_shift(patcher, access));
	}
	PUT(patcher, "or.b64 %%gvmf_a, %%gvmf_t, %%gvmf_base");
}

static void put_4g(struct patcher *patcher, const struct access *access, bool generic)
{
	if (generic || !keeps_offset(patcher, access)) {
		put_sum(patcher, access);
		PUT(patcher, "mov.b64 {%%gvmf_l, %%gvmf_h}, %%gvmf_s");
	} else {
		PUT(patcher, "mov.b64 {%%gvmf_l, %%gvmf_h}, %.*s", WORD(patcher, access->name));
	}
	PUT(patcher, "and.b32 %%gvmf_h, %%gvmf_h, %%gvmf_mask_high");
	PUT(patcher, "or.b32 %%gvmf_h, %%gvmf_h, %%gvmf_base_high");
	PUT(patcher, "mov.b64 %%gvmf_a, {%%gvmf_l, %%gvmf_h}");
}

/* %gvmf_t: s - base, or what becomes of it, at most size - width; and the base is added. */
static void put_limit(struct patcher *patcher, const struct access *access)
{
	PUT(patcher, "min.u64 %%gvmf_t, %%gvmf_t, %%gvmf_limit%u", access->width_shift);
	PUT(patcher, "add.s64 %%gvmf_a, %%gvmf_t, %%gvmf_base");
}

/*
 * base + (s - base) % size. The quotient is at most one too small: the first min() mends it. The
 * second one changes nothing but a misaligned access at the end, and what has two values at a
 * time (verify_flow.c).
 */
static void put_modulo(struct patcher *patcher, const struct access *access)
{
	put_sum(patcher, access);
	PUT(patcher, "sub.s64 %%gvmf_t, %%gvmf_s, %%gvmf_base");
	PUT(patcher, "mul.hi.u64 %%gvmf_u, %%gvmf_t, %%gvmf_reciprocal");
	PUT(patcher, "mul.lo.u64 %%gvmf_u, %%gvmf_u, %%gvmf_size");
	PUT(patcher, "sub.s64 %%gvmf_t, %%gvmf_t, %%gvmf_u");
	PUT(patcher, "sub.s64 %%gvmf_u, %%gvmf_t, %%gvmf_size");
	PUT(patcher, "min.u64 %%gvmf_t, %%gvmf_t, %%gvmf_u");
	put_limit(patcher, access);
}

/* An address outside is moved to the end of the partition; then it is not the program's. */
static void put_check(struct patcher *patcher, const struct access *access)
{
	put_sum(patcher, access);
	PUT(patcher, "sub.s64 %%gvmf_t, %%gvmf_s, %%gvmf_base");
	put_limit(patcher, access);
}

/*
 * An address in shared or local memory stays as it is. It is moved into the window all the
 * same: isspacep may have been asked of another value (verify_flow.c).
 */
static void put_window(struct patcher *patcher)
{
	PUT(patcher, "isspacep.shared %%gvmf_r, %%gvmf_s");
	PUT(patcher, "isspacep.local %%gvmf_q, %%gvmf_s");
	PUT(patcher, "or.pred %%gvmf_q, %%gvmf_q, %%gvmf_r");
	PUT(patcher, "selp.b64 %%gvmf_u, %%gvmf_shared, %%gvmf_local, %%gvmf_r");
	PUT(patcher, "sub.s64 %%gvmf_t, %%gvmf_s, %%gvmf_u");
	PUT(patcher, "and.b64 %%gvmf_t, %%gvmf_t, 16777215");
	PUT(patcher, "add.s64 %%gvmf_t, %%gvmf_t, %%gvmf_u");
	PUT(patcher, "selp.b64 %%gvmf_a, %%gvmf_t, %%gvmf_a, %%gvmf_q");
}

/*
 * check and count: is the address another one now? A thread whose predicate is off neither stops
 * nor is counted. The variable is the module's own, which no fenced access of the program reaches.
 */
static void put_test(struct patcher *patcher, const struct ptx_statement *statement)
{
	if (statement->guard)
		PUT(patcher, "setp.ne.and.u64 %%gvmf_p, %%gvmf_a, %%gvmf_s, %s%.*s",
		    statement->negated ? "!" : "", WORD(patcher, statement->guard));
	else
		PUT(patcher, "setp.ne.u64 %%gvmf_p, %%gvmf_a, %%gvmf_s");
	if (patcher->options->mode == PATCH_CHECK) {
		PUT(patcher, "@%%gvmf_p trap");
		return;
	}
	PUT(patcher, "@%%gvmf_p red.global.add.u64 [" PATCH_FOUND "], 1");
	PUT(patcher, "@%%gvmf_p st.global.u64 [" PATCH_FOUND "+8], %%gvmf_s");
}

/* The start of an instruction: its predicate, or its opcode. */
static size_t start_of(const struct patcher *patcher, const struct ptx_statement *statement)
{
	return patcher->text->tokens[statement->range.first].start;
}

void patcher_put_access(struct patcher *patcher, const struct ptx_statement *statement,
			const struct access *access)
{
	const struct ptx_token *tokens = patcher->text->tokens;
	bool generic = access->space == ACCESS_GENERIC;
	enum patch_mode mode = patcher->options->mode;

	patcher_copy_to(patcher, start_of(patcher, statement));
	if (mode == PATCH_CHECK)
		put_check(patcher, access);
	else if (mode == PATCH_MODULO)
		put_modulo(patcher, access);
	else if (mode == PATCH_4G)
		put_4g(patcher, access, generic);
	else
		put_mask(patcher, access, generic);
	if (generic)
		put_window(patcher);
	if (mode == PATCH_CHECK || mode == PATCH_COUNT)
		put_test(patcher, statement);
	patcher_copy_to(patcher, tokens[access->range.first].start);
	patcher_put(patcher, "[%%gvmf_a");
	if (access->offset && keeps_offset(patcher, access))
		patcher_put(patcher, "+%lld", access->offset);
	patcher_put(patcher, "]");
	patcher->copied = tokens[access->range.last].start + 1;
}

/* The number of labels of a table ".branchtargets" in the function; 0: not found. */
static u32 table_length(struct patcher *patcher, const struct ptx_statement *jump)
{
	const struct ptx_module *module = patcher->module;
	u32 name = jump->operands[1].first, count = 0;

	for (size_t i = 0; i + 1 < module->statement_count; i++) {
		const struct ptx_statement *label = &module->statements[i], *list = label + 1;

		patcher->steps++;
		if (label->kind != PTX_LABEL || label->function != jump->function ||
		    !ptx_same(patcher->text, label->range.first, name) ||
		    !ptx_is(patcher->text, list->range.first, ".branchtargets"))
			continue;
		count = 1;
		for (size_t at = list->range.first; at < list->range.last; at++) {
			/* "L<4>" stands for four labels. */
			if (ptx_is(patcher->text, at, "<"))
				return 0;
			count += ptx_is(patcher->text, at, ",");
		}
	}
	return count;
}

/*
 * "brx.idx index, table;": the index is clamped. The paper takes the remainder, which costs more
 * instructions and is there by choice.
 */
int patcher_put_table(struct patcher *patcher, const struct ptx_statement *statement)
{
	u32 count = statement->operand_count == 2 ? table_length(patcher, statement) : 0;
	const struct ptx_token *index = &patcher->text->tokens[statement->operands[0].first];

	if (!count)
		return patcher_refuse(patcher, statement->opcode,
				      "its table of labels was not found");
	if (patcher_refuse_endless(patcher, statement->opcode))
		return -SIM_EXIT_USER;
	patcher_copy_to(patcher, start_of(patcher, statement));
	if (patcher->options->index == PATCH_INDEX_MODULO) {
		PUT(patcher, "rem.u32 %%gvmf_i, %.*s, %u",
		    WORD(patcher, statement->operands[0].first), count);
		/* ptxas makes two reads of the index of one remainder: verify_flow.c. */
		PUT(patcher, "min.u32 %%gvmf_i, %%gvmf_i, %u", count - 1);
	} else {
		PUT(patcher, "min.u32 %%gvmf_i, %.*s, %u",
		    WORD(patcher, statement->operands[0].first), count - 1);
	}
	patcher_copy_to(patcher, index->start);
	patcher_put(patcher, "%%gvmf_i");
	patcher->copied = index->start + index->length;
	return 0;
}
