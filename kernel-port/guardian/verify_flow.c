// SPDX-License-Identifier: MIT OR GPL-2.0
#include "verify_flow.h"

#include <string.h>

/*
 * Registers of a fence. Masks and limits have a number after the name. @bound: it is loaded at the
 * start of the function, and never written again.
 */
static const struct {
	const char *name, *type;
	bool bound;
} registers[] = {
	{ "%gvmf_base", ".b64", true },	      { "%gvmf_s", ".b64", false },
	{ "%gvmf_t", ".b64", false },	      { "%gvmf_a", ".b64", false },
	{ "%gvmf_u", ".b64", false },	      { "%gvmf_size", ".b64", true },
	{ "%gvmf_reciprocal", ".b64", true }, { "%gvmf_mask", ".b64", true },
	{ "%gvmf_p", ".pred", false },	      { "%gvmf_q", ".pred", false },
	{ "%gvmf_r", ".pred", false },	      { "%gvmf_l", ".b32", false },
	{ "%gvmf_h", ".b32", false },	      { "%gvmf_mask_high", ".b32", true },
	{ "%gvmf_base_high", ".b32", true },  { "%gvmf_i", ".b32", false },
	{ "%gvmf_here", ".b64", true },	      { "%gvmf_there", ".b64", true },
	{ "%gvmf_low", ".b64", true },	      { "%gvmf_shared", ".b64", true },
	{ "%gvmf_local", ".b64", true },
};

#define M(mode) (1u << (mode))
#define M_MASK	(M(PATCH_FENCE) | M(PATCH_ONCE))
/* count has the masks of these, and always begins with a sum. */
#define M_MASKS	 (M_MASK | M(PATCH_COUNT))
#define M_ALL	 (M_MASKS | M(PATCH_4G) | M(PATCH_CHECK) | M(PATCH_MODULO))
#define M_TESTS	 (M(PATCH_CHECK) | M(PATCH_COUNT))
#define M_LIMITS (M(PATCH_CHECK) | M(PATCH_MODULO))

/*
 * In patterns "?" is a register of the program, "?p" the guard of the access to come and "!?p"
 * the same with a "!" in front, "#" a number, "-#" one with a sign, and "*" at
 * the end of a name its width.
 *
 * A register that nothing has written has no value of its own: ptxas may read a different physical
 * register at each use. The same holds for a value that is computed from such a register. So no step
 * trusts a test that an earlier step made. The last steps before an access confine any value: "& mask | base", min() with a limit and a base added, and for shared and local
 * memory "& 16777215" and a window's start added.
 */
static const struct {
	u32 modes;
	enum flow_step from, to;
	const char *pattern;
} steps[] = {
	{ M_ALL, FLOW_IDLE, FLOW_SUM, "mov.b64 %gvmf_s , ? ;" },
	{ M_ALL, FLOW_IDLE, FLOW_SUM, "add.s64 %gvmf_s , ? , -# ;" },
	{ M_MASK, FLOW_IDLE, FLOW_MASKED, "and.b64 %gvmf_t , ? , %gvmf_mask* ;" },
	{ M_MASKS, FLOW_SUM, FLOW_MASKED, "and.b64 %gvmf_t , %gvmf_s , %gvmf_mask* ;" },
	{ M_MASKS, FLOW_MASKED, FLOW_ADDRESS, "or.b64 %gvmf_a , %gvmf_t , %gvmf_base ;" },
	{ M(PATCH_4G), FLOW_IDLE, FLOW_SPLIT, "mov.b64 { %gvmf_l , %gvmf_h } , ? ;" },
	{ M(PATCH_4G), FLOW_SUM, FLOW_SPLIT, "mov.b64 { %gvmf_l , %gvmf_h } , %gvmf_s ;" },
	{ M(PATCH_4G), FLOW_SPLIT, FLOW_HIGH, "and.b32 %gvmf_h , %gvmf_h , %gvmf_mask_high ;" },
	{ M(PATCH_4G), FLOW_HIGH, FLOW_BASED, "or.b32 %gvmf_h , %gvmf_h , %gvmf_base_high ;" },
	{ M(PATCH_4G), FLOW_BASED, FLOW_ADDRESS, "mov.b64 %gvmf_a , { %gvmf_l , %gvmf_h } ;" },
	{ M_LIMITS, FLOW_SUM, FLOW_OFFSET, "sub.s64 %gvmf_t , %gvmf_s , %gvmf_base ;" },
	{ M(PATCH_MODULO), FLOW_OFFSET, FLOW_QUOTIENT,
	  "mul.hi.u64 %gvmf_u , %gvmf_t , %gvmf_reciprocal ;" },
	{ M(PATCH_MODULO), FLOW_QUOTIENT, FLOW_PRODUCT,
	  "mul.lo.u64 %gvmf_u , %gvmf_u , %gvmf_size ;" },
	{ M(PATCH_MODULO), FLOW_PRODUCT, FLOW_NEAR, "sub.s64 %gvmf_t , %gvmf_t , %gvmf_u ;" },
	{ M(PATCH_MODULO), FLOW_NEAR, FLOW_LESS, "sub.s64 %gvmf_u , %gvmf_t , %gvmf_size ;" },
	{ M(PATCH_MODULO), FLOW_LESS, FLOW_REST, "min.u64 %gvmf_t , %gvmf_t , %gvmf_u ;" },
	{ M(PATCH_MODULO), FLOW_REST, FLOW_LIMITED,
	  "min.u64 %gvmf_t , %gvmf_t , %gvmf_limit* ;" },
	{ M(PATCH_CHECK), FLOW_OFFSET, FLOW_LIMITED,
	  "min.u64 %gvmf_t , %gvmf_t , %gvmf_limit* ;" },
	{ M_LIMITS, FLOW_LIMITED, FLOW_ADDRESS, "add.s64 %gvmf_a , %gvmf_t , %gvmf_base ;" },
	{ M_ALL, FLOW_ADDRESS, FLOW_SHARED, "isspacep.shared %gvmf_r , %gvmf_s ;" },
	{ M_ALL, FLOW_SHARED, FLOW_LOCAL, "isspacep.local %gvmf_q , %gvmf_s ;" },
	{ M_ALL, FLOW_LOCAL, FLOW_EITHER, "or.pred %gvmf_q , %gvmf_q , %gvmf_r ;" },
	{ M_ALL, FLOW_EITHER, FLOW_WINDOW,
	  "selp.b64 %gvmf_u , %gvmf_shared , %gvmf_local , %gvmf_r ;" },
	{ M_ALL, FLOW_WINDOW, FLOW_DISTANCE, "sub.s64 %gvmf_t , %gvmf_s , %gvmf_u ;" },
	{ M_ALL, FLOW_DISTANCE, FLOW_PLACE, "and.b64 %gvmf_t , %gvmf_t , 16777215 ;" },
	{ M_ALL, FLOW_PLACE, FLOW_INSIDE, "add.s64 %gvmf_t , %gvmf_t , %gvmf_u ;" },
	{ M_ALL, FLOW_INSIDE, FLOW_CHOSEN, "selp.b64 %gvmf_a , %gvmf_t , %gvmf_a , %gvmf_q ;" },
	{ M_TESTS, FLOW_ADDRESS, FLOW_DIFFERS, "setp.ne.u64 %gvmf_p , %gvmf_a , %gvmf_s ;" },
	{ M_TESTS, FLOW_ADDRESS, FLOW_DIFFERS,
	  "setp.ne.and.u64 %gvmf_p , %gvmf_a , %gvmf_s , ?p ;" },
	{ M_TESTS, FLOW_ADDRESS, FLOW_DIFFERS,
	  "setp.ne.and.u64 %gvmf_p , %gvmf_a , %gvmf_s , !?p ;" },
	{ M_TESTS, FLOW_CHOSEN, FLOW_DIFFERS2, "setp.ne.u64 %gvmf_p , %gvmf_a , %gvmf_s ;" },
	{ M_TESTS, FLOW_CHOSEN, FLOW_DIFFERS2,
	  "setp.ne.and.u64 %gvmf_p , %gvmf_a , %gvmf_s , ?p ;" },
	{ M_TESTS, FLOW_CHOSEN, FLOW_DIFFERS2,
	  "setp.ne.and.u64 %gvmf_p , %gvmf_a , %gvmf_s , !?p ;" },
	{ M(PATCH_CHECK), FLOW_DIFFERS, FLOW_TOLD, "trap ;" },
	{ M(PATCH_CHECK), FLOW_DIFFERS2, FLOW_TOLD2, "trap ;" },
	{ M(PATCH_COUNT), FLOW_DIFFERS, FLOW_COUNTED,
	  "red.global.add.u64 [ gvmf_found ] , 1 ;" },
	{ M(PATCH_COUNT), FLOW_DIFFERS2, FLOW_COUNTED2,
	  "red.global.add.u64 [ gvmf_found ] , 1 ;" },
	{ M(PATCH_COUNT), FLOW_COUNTED, FLOW_TOLD,
	  "st.global.u64 [ gvmf_found + 8 ] , %gvmf_s ;" },
	{ M(PATCH_COUNT), FLOW_COUNTED2, FLOW_TOLD2,
	  "st.global.u64 [ gvmf_found + 8 ] , %gvmf_s ;" },
	{ M_ALL, FLOW_IDLE, FLOW_INDEX, "min.u32 %gvmf_i , ? , # ;" },
	{ M_ALL, FLOW_IDLE, FLOW_REST_INDEX, "rem.u32 %gvmf_i , ? , # ;" },
	{ M_ALL, FLOW_REST_INDEX, FLOW_INDEX, "min.u32 %gvmf_i , %gvmf_i , # ;" },
};

/* What loads the bounds; the number is the place, the divisor of a mask, or a limit's width. */
enum load_number { LOAD_PLACE, LOAD_MASK_PLACE, LOAD_WIDTH };

static const struct {
	u32 modes;
	enum patch_pass pass;
	enum load_number number;
	u64 place;
	const char *pattern;
} loads[] = {
	{ M_ALL, PATCH_CONST, LOAD_PLACE, 0,
	  "ld.const.b64 %gvmf_base , [ gvmf_bounds + # ] ;" },
	{ M_ALL, PATCH_CONST, LOAD_PLACE, 8,
	  "ld.const.b64 %gvmf_size , [ gvmf_bounds + # ] ;" },
	{ M_ALL, PATCH_CONST, LOAD_PLACE, 16,
	  "ld.const.b64 %gvmf_reciprocal , [ gvmf_bounds + # ] ;" },
	{ M_MASKS, PATCH_CONST, LOAD_MASK_PLACE, 0,
	  "ld.const.b64 %gvmf_mask* , [ gvmf_bounds + # ] ;" },
	{ M(PATCH_4G), PATCH_CONST, LOAD_PLACE, 4,
	  "ld.const.b32 %gvmf_base_high , [ gvmf_bounds + # ] ;" },
	{ M(PATCH_4G), PATCH_CONST, LOAD_PLACE, 68,
	  "ld.const.b32 %gvmf_mask_high , [ gvmf_bounds + # ] ;" },
	{ M_ALL, PATCH_PARAMS, LOAD_PLACE, 0, "ld.param.b64 %gvmf_base , [ gvmf_base + # ] ;" },
	{ M_ALL, PATCH_PARAMS, LOAD_PLACE, 0, "ld.param.b64 %gvmf_size , [ gvmf_size + # ] ;" },
	{ M_ALL, PATCH_PARAMS, LOAD_PLACE, 0,
	  "ld.param.b64 %gvmf_reciprocal , [ gvmf_reciprocal + # ] ;" },
	{ M_MASKS, PATCH_PARAMS, LOAD_PLACE, 0,
	  "ld.param.b64 %gvmf_mask , [ gvmf_mask + # ] ;" },
	{ M_MASKS, PATCH_PARAMS, LOAD_WIDTH, 0, "and.b64 %gvmf_mask* , %gvmf_mask , - # ;" },
	{ M(PATCH_4G), PATCH_PARAMS, LOAD_PLACE, 4,
	  "ld.param.b32 %gvmf_base_high , [ gvmf_base + # ] ;" },
	{ M(PATCH_4G), PATCH_PARAMS, LOAD_PLACE, 4,
	  "ld.param.b32 %gvmf_mask_high , [ gvmf_mask + # ] ;" },
	{ M_LIMITS, PATCH_CONST, LOAD_WIDTH, 0, "sub.s64 %gvmf_limit* , %gvmf_size , # ;" },
	{ M_LIMITS, PATCH_PARAMS, LOAD_WIDTH, 0, "sub.s64 %gvmf_limit* , %gvmf_size , # ;" },
};

/* Where the windows of shared memory and of local memory begin: the same with each @pass. */
static const char *const windows[] = {
	"mov.u64 %gvmf_here , gvmf_here ;",
	"cvta.shared.u64 %gvmf_there , %gvmf_here ;",
	"and.b64 %gvmf_low , %gvmf_here , 16777215 ;",
	"sub.s64 %gvmf_shared , %gvmf_there , %gvmf_low ;",
	"cvta.local.u64 %gvmf_local , 0 ;",
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

void flow_begin(struct flow *flow)
{
	flow->step = FLOW_IDLE;
	flow->declared = flow->loaded = flow->declared_widths = flow->loaded_widths = 0;
}

bool flow_is_reserved(const struct ptx_text *text, size_t at)
{
	return ptx_begins(text, at, "%gvmf_") || ptx_begins(text, at, "gvmf_");
}

/* "%gvmf_mask3": the 3; -1: no width. */
static int width_of(const struct ptx_text *text, size_t at)
{
	const char *word = text->bytes + text->tokens[at].start;
	u32 length = text->tokens[at].length;
	bool named = (length == 11 && ptx_begins(text, at, "%gvmf_mask")) ||
		     (length == 12 && ptx_begins(text, at, "%gvmf_limit"));

	if (!named || word[length - 1] < '0' || word[length - 1] > '0' + (int)PATCH_WIDTH_SHIFT)
		return -1;
	return word[length - 1] - '0';
}

/* The number of a register in the table; -1: none. */
static int register_of(const struct ptx_text *text, size_t at)
{
	for (size_t i = 0; i < COUNT(registers); i++)
		if (ptx_is(text, at, registers[i].name))
			return (int)i;
	return -1;
}

bool flow_declare(struct flow *flow, size_t type, size_t name)
{
	int number = register_of(flow->text, name), width = width_of(flow->text, name);
	u32 *declared = width >= 0 ? &flow->declared_widths : &flow->declared;
	u32 bit = 1u << (width >= 0 ? width : number < 0 ? 0 : number);
	const char *wanted = width >= 0 || number < 0 ? ".b64" : registers[number].type;

	if ((width < 0 && number < 0) || *declared & bit || !ptx_is(flow->text, type, wanted))
		return false;
	*declared |= bit;
	return true;
}

/* What a pattern has found. */
struct found {
	int width;
	u64 number;
	size_t guard; /* token; 0: none */
	bool negated;
};

/* A register of the program: no name of ours, no number. */
static bool is_program_register(const struct ptx_text *text, size_t at)
{
	const char *word = text->bytes + text->tokens[at].start;

	return text->tokens[at].kind == PTX_WORD && !flow_is_reserved(text, at) &&
	       (word[0] < '0' || word[0] > '9') && word[0] != '.';
}

/* Compare an instruction, without its guard, with a pattern. */
static bool matches(const struct ptx_text *text, const struct flow_instruction *instruction,
		    const char *pattern, struct found *ret_found)
{
	size_t at = instruction->opcode;

	*ret_found = (struct found){ .width = -1 };
	while (*pattern) {
		size_t length = strcspn(pattern, " ");
		const char *word = text->bytes + text->tokens[at].start;
		bool fits;

		if (length == 2 && !memcmp(pattern, "-#", 2)) {
			if (ptx_is(text, at, "-"))
				at = ptx_next(text, at);
			fits = ptx_number(text, at, &ret_found->number);
		} else if (length == 1 && *pattern == '#') {
			fits = ptx_number(text, at, &ret_found->number);
		} else if (length >= 2 && !memcmp(pattern + length - 2, "?p", 2)) {
			ret_found->negated = length == 3;
			if (ret_found->negated && !ptx_is(text, at, "!"))
				return false;
			if (ret_found->negated)
				at = ptx_next(text, at);
			ret_found->guard = at;
			fits = is_program_register(text, at);
		} else if (length == 1 && *pattern == '?') {
			fits = is_program_register(text, at);
		} else if (length > 1 && pattern[length - 1] == '*') {
			ret_found->width = width_of(text, at);
			fits = ret_found->width >= 0 && text->tokens[at].length == length &&
			       !memcmp(word, pattern, length - 1);
		} else {
			fits = text->tokens[at].length == length &&
			       !memcmp(word, pattern, length);
		}
		if (!fits)
			return false;
		pattern += length + strspn(pattern + length, " ");
		if (*pattern)
			at = ptx_next(text, at);
	}
	return at == instruction->end;
}

/*
 * Are all registers of a fence that it names declared, and those with bounds
 * loaded? @skip is written.
 */
static bool are_ready(const struct flow *flow, const struct flow_instruction *instruction,
		      size_t skip)
{
	for (size_t at = instruction->opcode; at < instruction->end;
	     at = ptx_next(flow->text, at)) {
		int number = register_of(flow->text, at), width = width_of(flow->text, at);

		if (width >= 0 && !(flow->declared_widths >> width & 1))
			return false;
		if (width >= 0 && at != skip && !(flow->loaded_widths >> width & 1))
			return false;
		if (number >= 0 && !(flow->declared >> number & 1))
			return false;
		if (number >= 0 && at != skip && registers[number].bound &&
		    !(flow->loaded >> number & 1))
			return false;
	}
	return true;
}

/* The register @number is loaded now. False: it has been before. */
static bool set_loaded(struct flow *flow, int number)
{
	if (number < 0 || flow->loaded >> number & 1)
		return false;
	flow->loaded |= 1u << number;
	return true;
}

bool flow_load(struct flow *flow, const struct flow_instruction *instruction)
{
	size_t target = ptx_next(flow->text, instruction->opcode);
	int number = register_of(flow->text, target);
	struct found found;
	u64 wanted;

	if (instruction->guard)
		return false;
	for (size_t i = 0; i < COUNT(windows); i++)
		if (matches(flow->text, instruction, windows[i], &found))
			return are_ready(flow, instruction, target) && set_loaded(flow, number);
	for (size_t i = 0; i < COUNT(loads); i++) {
		if (!(loads[i].modes >> flow->mode & 1) || loads[i].pass != flow->pass ||
		    !matches(flow->text, instruction, loads[i].pattern, &found))
			continue;
		wanted = loads[i].number == LOAD_PLACE ? loads[i].place :
			 loads[i].number == LOAD_WIDTH ? 1ull << found.width :
							 64 + 8 * (u64)found.width;
		if (found.number != wanted || !are_ready(flow, instruction, target))
			return false;
		if (found.width < 0)
			return set_loaded(flow, number);
		if (flow->loaded_widths >> found.width & 1)
			return false;
		flow->loaded_widths |= 1u << found.width;
		return true;
	}
	return false;
}

bool flow_step(struct flow *flow, const struct flow_instruction *instruction)
{
	struct found found;

	/*
	 * Only what is done to threads whose address has changed has a guard in a sequence: p.
	 */
	if (flow_counts(flow) ? !instruction->guard || instruction->negated ||
					!ptx_is(flow->text, instruction->guard, "%gvmf_p") :
				instruction->guard != 0)
		return false;
	for (size_t i = 0; i < COUNT(steps); i++) {
		if (steps[i].from != flow->step || !(steps[i].modes >> flow->mode & 1) ||
		    !matches(flow->text, instruction, steps[i].pattern, &found))
			continue;
		if (!are_ready(flow, instruction, 0) ||
		    (steps[i].to == FLOW_SHARED && !flow->sum))
			return false;
		if (flow->step == FLOW_IDLE) {
			flow->sum = steps[i].to == FLOW_SUM;
			flow->shift = 0;
			flow->guard = 0;
		}
		if (steps[i].to == FLOW_INDEX)
			flow->limit = found.number;
		if (found.width >= 0)
			flow->shift = (u32)found.width;
		if (found.guard) {
			flow->guard = found.guard;
			flow->negated = found.negated;
		}
		flow->step = steps[i].to;
		return true;
	}
	return false;
}

bool flow_counts(const struct flow *flow)
{
	return flow->step == FLOW_DIFFERS || flow->step == FLOW_DIFFERS2 ||
	       flow->step == FLOW_COUNTED || flow->step == FLOW_COUNTED2;
}

/* The step after which an access may stand. */
static enum flow_step last_step(enum patch_mode mode, bool generic)
{
	if (M_TESTS >> mode & 1)
		return generic ? FLOW_TOLD2 : FLOW_TOLD;
	return generic ? FLOW_CHOSEN : FLOW_ADDRESS;
}

bool flow_access(struct flow *flow, const struct flow_instruction *instruction,
		 const struct flow_address *address, u64 margin)
{
	bool keeps = (flow->mode == PATCH_ONCE || flow->mode == PATCH_4G) && !flow->sum;
	bool tests = M_TESTS >> flow->mode & 1;
	s64 room = (s64)margin - (1 << PATCH_WIDTH_SHIFT);
	u32 wanted_shift = address->shift;
	bool good = flow->step == last_step(flow->mode, address->generic);

	flow->step = FLOW_IDLE;
	good = good && ptx_is(flow->text, address->name, "%gvmf_a");
	if (keeps && (u64)address->offset & ((1ull << address->shift) - 1))
		wanted_shift = 0;
	if (flow->mode != PATCH_4G && flow->shift != wanted_shift)
		return false;
	if (keeps ? address->offset < -room || address->offset >= room : address->offset != 0)
		return false;
	/*
	 * The test of check and count has the guard of the access: neither more nor
	 * fewer threads are tested.
	 */
	if (tests &&
	    (flow->guard ? !instruction->guard || instruction->negated != flow->negated ||
				   !ptx_same(flow->text, instruction->guard, flow->guard) :
			   instruction->guard != 0))
		return false;
	return good;
}
