// SPDX-License-Identifier: MIT OR GPL-2.0
#include "verify.h"

#include <stdlib.h>
#include <string.h>

#include "verify_flow.h"

enum name_kind { NAME_GLOBAL, NAME_LOCAL, NAME_FUNCTION, NAME_PARAMETER };

struct name {
	enum name_kind kind;
	size_t token;
	u64 bytes; /* of a variable; 0: unknown */
};

struct verifier {
	const struct ptx_text *text;
	struct sim_error *err;
	struct verify_report *report;
	struct flow flow;
	struct name *names;
	size_t name_count, name_room;
	bool has_calls, has_format, has_bounds;
	u32 headers;   /* .version, .target, .address_size: bits */
	bool prologue; /* only loads of bounds so far, in this function */
	u32 depth;
	size_t body; /* behind the brace that opens this function */
	size_t at;
};

/* The verifier's own list of opcodes. A name stands for all that begins with it and a dot. */
static const char *const opcodes_plain[] = {
	"abs",
	"activemask",
	"add",
	"addc",
	"and",
	"bar",
	"barrier",
	"bfe",
	"bfi",
	"bfind",
	"bmsk",
	"bra",
	"brev",
	"brkpt",
	"clusterlaunchcontrol.query_cancel",
	"clz",
	"cnot",
	"copysign",
	"cos",
	"cp.async.bulk.commit_group",
	"cp.async.bulk.wait_group",
	"cp.async.commit_group",
	"cp.async.wait_all",
	"cp.async.wait_group",
	"createpolicy.cvt",
	"createpolicy.fractional",
	"cvt",
	"cvta",
	"div",
	"dp2a",
	"dp4a",
	"elect",
	"ex2",
	"exit",
	"fence",
	"fma",
	"fns",
	"getctarank",
	"griddepcontrol",
	"isspacep",
	"lg2",
	"lop3",
	"mad",
	"mad24",
	"madc",
	"mapa.shared",
	"mapa.shared::cluster",
	"match",
	"max",
	"mbarrier.pending_count",
	"membar",
	"min",
	"mma",
	"mov",
	"movmatrix",
	"mul",
	"mul24",
	"nanosleep",
	"neg",
	"not",
	"or",
	"pmevent",
	"popc",
	"prmt",
	"rcp",
	"redux",
	"rem",
	"ret",
	"rsqrt",
	"sad",
	"selp",
	"set",
	"setmaxnreg",
	"setp",
	"shf",
	"shfl",
	"shl",
	"shr",
	"sin",
	"slct",
	"sqrt",
	"sub",
	"subc",
	"szext",
	"tanh",
	"testp",
	"trap",
	"vabsdiff",
	"vabsdiff2",
	"vabsdiff4",
	"vadd",
	"vadd2",
	"vadd4",
	"vavrg2",
	"vavrg4",
	"vmad",
	"vmax",
	"vmax2",
	"vmax4",
	"vmin",
	"vmin2",
	"vmin4",
	"vote",
	"vset",
	"vset2",
	"vset4",
	"vshl",
	"vshr",
	"vsub",
	"vsub2",
	"vsub4",
	"wgmma",
	"wmma.mma",
	"xor",
	NULL,
};
/* These touch shared memory alone, if they say so. */
static const char *const opcodes_shared[] = {
	"clusterlaunchcontrol.try_cancel",
	"cp.async.mbarrier",
	"ldmatrix",
	"mbarrier",
	"red.async",
	"st.async",
	"st.bulk",
	"stmatrix",
	NULL,
};
/* These have one address that is proven. */
static const char *const opcodes_first[] = { "applypriority", "prefetch", "prefetchu",
					     "red",	      "st",	  NULL };
static const char *const opcodes_second[] = { "atom", "cp.async", "ld", "ldu", NULL };
/* Never, though a shorter name is in a list above. */
static const char *const opcodes_never[] = {
	"cp.async.bulk",  "cvta.const",		"cvta.param", "prefetch.const",
	"prefetch.param", "prefetch.tensormap", NULL,
};

static int refuse(const struct verifier *verifier, size_t at, const char *why)
{
	return ptx_error(verifier->text, at, verifier->err, "%s", why);
}

/* The length of the longest name of a list that the opcode begins with; 0: none. */
static size_t in_list(const struct ptx_text *text, size_t at, const char *const *list)
{
	size_t best = 0;

	for (; *list; list++) {
		size_t length = strlen(*list);

		if (length > best && ptx_begins(text, at, *list) &&
		    (text->tokens[at].length == length ||
		     text->bytes[text->tokens[at].start + length] == '.'))
			best = length;
	}
	return best;
}

enum opcode_class {
	CLASS_UNKNOWN,
	CLASS_PLAIN,
	CLASS_SHARED,
	CLASS_FIRST,
	CLASS_SECOND,
	CLASS_CALL,
	CLASS_TABLE
};

static enum opcode_class classify(const struct ptx_text *text, size_t at)
{
	static const struct {
		const char *const *list;
		enum opcode_class class;
	} lists[] = {
		{ opcodes_plain, CLASS_PLAIN },	  { opcodes_shared, CLASS_SHARED },
		{ opcodes_first, CLASS_FIRST },	  { opcodes_second, CLASS_SECOND },
		{ opcodes_never, CLASS_UNKNOWN },
	};
	enum opcode_class class = CLASS_UNKNOWN;
	size_t best = 0;

	if (ptx_is(text, at, "call") || ptx_is(text, at, "call.uni"))
		return CLASS_CALL;
	if (ptx_is(text, at, "brx.idx") || ptx_is(text, at, "brx.idx.uni"))
		return CLASS_TABLE;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		size_t length = in_list(text, at, lists[i].list);

		if (length > best) {
			best = length;
			class = lists[i].class;
		}
	}
	return class;
}

bool verify_knows(const struct ptx_text *text, size_t at)
{
	return classify(text, at) != CLASS_UNKNOWN;
}

static bool is(const struct verifier *verifier, const char *word)
{
	return ptx_is(verifier->text, verifier->at, word);
}

static bool at_end(const struct verifier *verifier)
{
	return verifier->text->tokens[verifier->at].kind == PTX_END;
}

static void step(struct verifier *verifier)
{
	verifier->at = ptx_next(verifier->text, verifier->at);
}

static const struct name *find_name(const struct verifier *verifier, enum name_kind kind,
				    size_t at)
{
	for (size_t i = 0; i < verifier->name_count; i++)
		if (verifier->names[i].kind == kind &&
		    ptx_same(verifier->text, verifier->names[i].token, at))
			return &verifier->names[i];
	return NULL;
}

/* Scopes are not told apart. So a name that is declared again has the smaller length. */
static int add_name(struct verifier *verifier, enum name_kind kind, size_t token, u64 bytes)
{
	for (size_t i = 0; i < verifier->name_count; i++) {
		struct name *name = &verifier->names[i];

		if (name->kind == kind && ptx_same(verifier->text, name->token, token)) {
			name->bytes = bytes < name->bytes ? bytes : name->bytes;
			return 0;
		}
	}
	if (verifier->name_count == verifier->name_room) {
		struct name *more;

		verifier->name_room = verifier->name_room ? 2 * verifier->name_room : 32;
		more = realloc(verifier->names, verifier->name_room * sizeof(*more));
		if (!more)
			return sim_runtime_error(verifier->err, "%s: out of memory",
						 verifier->text->file);
		verifier->names = more;
	}
	verifier->names[verifier->name_count++] = (struct name){ kind, token, bytes };
	return 0;
}

/* The bytes of one element of a variable: ".v2 .u32"; 0: unknown. */
static u64 element_bytes(const struct ptx_text *text, size_t at)
{
	static const struct {
		const char *word;
		u64 bytes;
	} words[] = { { ".b8", 1 },  { ".u8", 1 },  { ".s8", 1 },  { ".b16", 2 },
		      { ".u16", 2 }, { ".s16", 2 }, { ".f16", 2 }, { ".b32", 4 },
		      { ".u32", 4 }, { ".s32", 4 }, { ".f32", 4 }, { ".b64", 8 },
		      { ".u64", 8 }, { ".s64", 8 }, { ".f64", 8 }, { ".b128", 16 } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (ptx_is(text, at, words[i].word))
			return words[i].bytes;
	return 0;
}

/* Does an access lie inside of a variable? */
static bool is_inside(const struct name *variable, s64 offset, int shift)
{
	return offset >= 0 && (u64)offset + (1ull << shift) <= variable->bytes;
}

/* Does a modifier of the opcode begin with @modifier: ".shared", ".shared::cta"? */
static bool has(const struct ptx_text *text, size_t opcode, const char *modifier)
{
	const char *word = text->bytes + text->tokens[opcode].start;
	size_t length = text->tokens[opcode].length, wanted = strlen(modifier);

	for (size_t i = 0; i + wanted <= length; i++)
		if (!memcmp(word + i, modifier, wanted) &&
		    (i + wanted == length || word[i + wanted] == '.' ||
		     word[i + wanted] == ':'))
			return true;
	return false;
}

/* log2 of the bytes that an access has; -1: unknown. The address has that alignment, too. */
static int access_shift(const struct ptx_text *text, const struct flow_instruction *instruction)
{
	static const struct {
		const char *name;
		int shift;
	} types[] = {
		{ ".b8", 0 },  { ".u8", 0 },  { ".s8", 0 },    { ".b16", 1 },	 { ".u16", 1 },
		{ ".s16", 1 }, { ".f16", 1 }, { ".bf16", 1 },  { ".b32", 2 },	 { ".u32", 2 },
		{ ".s32", 2 }, { ".f32", 2 }, { ".f16x2", 2 }, { ".bf16x2", 2 }, { ".b64", 3 },
		{ ".u64", 3 }, { ".s64", 3 }, { ".f64", 3 },   { ".b128", 4 },
	};
	int shift = -1, count = 0;
	u64 bytes;

	if (ptx_begins(text, instruction->opcode, "prefetch"))
		return 0;
	if (ptx_begins(text, instruction->opcode, "applypriority"))
		return instruction->operand_count == 2 &&
				       ptx_is(text, instruction->operands[1].first, "128") ?
			       7 :
			       -1;
	if (ptx_begins(text, instruction->opcode, "cp.async")) {
		if (instruction->operand_count < 3 ||
		    instruction->operands[2].first != instruction->operands[2].last ||
		    !ptx_number(text, instruction->operands[2].first, &bytes))
			return -1;
		return bytes == 4 ? 2 : bytes == 8 ? 3 : bytes == 16 ? 4 : -1;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (has(text, instruction->opcode, types[i].name)) {
			shift = types[i].shift;
			count++;
		}
	if (count != 1)
		return -1;
	return shift + (has(text, instruction->opcode, ".v2") ? 1 :
			has(text, instruction->opcode, ".v4") ? 2 :
			has(text, instruction->opcode, ".v8") ? 3 :
								0);
}

/* "[NAME]" or "[NAME+4]" or "[NAME+-4]" or "[NAME-4]". */
static bool read_address(const struct ptx_text *text, size_t first, size_t last,
			 size_t *ret_name, s64 *ret_offset)
{
	size_t at = ptx_next(text, first);
	u64 number;

	*ret_name = at;
	*ret_offset = 0;
	if (!ptx_is(text, first, "[") || text->tokens[at].kind != PTX_WORD ||
	    ptx_number(text, at, &number))
		return false;
	at = ptx_next(text, at);
	if (at != last) {
		bool minus = ptx_is(text, at, "-");

		if (!minus && !ptx_is(text, at, "+"))
			return false;
		at = ptx_next(text, at);
		if (!minus && ptx_is(text, at, "-")) {
			minus = true;
			at = ptx_next(text, at);
		}
		if (!ptx_number(text, at, &number) || number > 1ull << 40)
			return false;
		*ret_offset = minus ? -(s64)number : (s64)number;
		at = ptx_next(text, at);
	}
	return at == last && ptx_is(text, last, "]");
}

/*
 * Does a store lie inside of the parameter @name that is in scope there? Parameters of a call lie on
 * the stack, beside return addresses. The nearest declaration in front is the one that counts; blocks
 * that are closed are skipped.
 */
static bool is_inside_parameter(const struct ptx_text *text, size_t name, s64 offset, int shift)
{
	u32 depth = 0;

	for (size_t at = name; at; at--) {
		struct name parameter = { NAME_PARAMETER, at, 0 };
		u64 elements = 1;
		size_t type;

		depth += ptx_is(text, at, "}");
		depth -= ptx_is(text, at, "{") && depth;
		if (ptx_is(text, at, ".func") || ptx_is(text, at, ".entry"))
			return false;
		if (depth || !ptx_is(text, at, ".param"))
			continue;
		type = ptx_next(text, at);
		if (ptx_is(text, type, ".align"))
			type = ptx_next(text, ptx_next(text, type));
		parameter.token = ptx_next(text, type);
		if (!ptx_same(text, parameter.token, name))
			continue;
		if (ptx_is(text, ptx_next(text, parameter.token), "[") &&
		    (!ptx_number(text, ptx_next(text, ptx_next(text, parameter.token)),
				 &elements) ||
		     elements > 1u << 20))
			return false;
		parameter.bytes = elements * element_bytes(text, type);
		return is_inside(&parameter, offset, shift);
	}
	return false;
}

/* An instruction that has one address. */
static int verify_access(struct verifier *verifier, const struct flow_instruction *instruction,
			 u32 operand)
{
	static const char *const spaces[] = { ".global", ".shared", ".local", ".const",
					      ".param" };
	const struct ptx_text *text = verifier->text;
	bool writes = !ptx_begins(text, instruction->opcode, "ld") &&
		      !ptx_begins(text, instruction->opcode, "cp");
	bool copy = ptx_begins(text, instruction->opcode, "cp");
	bool in[5], any = false, generic;
	int shift = access_shift(text, instruction), count = 0;
	const struct name *variable;
	size_t name;
	s64 offset;

	/* No register of a fence is written, or read into memory, by an access. */
	for (size_t at = instruction->guard ? instruction->guard : instruction->opcode;
	     at < instruction->end; at = ptx_next(text, at))
		if (flow_is_reserved(text, at) && (instruction->operand_count <= operand ||
						   at < instruction->operands[operand].first ||
						   at > instruction->operands[operand].last))
			return refuse(verifier, at, "a register of a fence is no operand");
	for (u32 i = 0; i < 5; i++) {
		in[i] = has(text, instruction->opcode, spaces[i]);
		count += in[i];
		any |= in[i];
	}
	generic = !any;
	if (copy ? !in[0] || !in[1] || count != 2 : count > 1)
		return refuse(verifier, instruction->opcode, "its state spaces are not known");
	if (instruction->operand_count <= operand ||
	    !read_address(text, instruction->operands[operand].first,
			  instruction->operands[operand].last, &name, &offset))
		return refuse(verifier, instruction->opcode, "its address is not understood");
	if (shift < 0 || shift > (int)PATCH_WIDTH_SHIFT)
		return refuse(verifier, instruction->opcode, "its width is not known");
	variable = in[2] ? find_name(verifier, NAME_LOCAL, name) : NULL;
	if (verifier->has_calls && writes && (generic || (in[2] && !variable)))
		return refuse(verifier, instruction->opcode,
			      "it could change a return address, since the module has calls");
	verifier->report->local_stores +=
		writes &&
		(generic || (in[2] && (!variable || !is_inside(variable, offset, shift))));
	if (verifier->has_calls && writes && variable && !is_inside(variable, offset, shift))
		return refuse(verifier, instruction->opcode, "it reaches beyond its variable");
	if (in[4] && writes && !is_inside_parameter(text, name, offset, shift))
		return refuse(verifier, instruction->opcode, "it reaches beyond its parameter");
	if (!generic && !in[0]) {
		if (flow_is_reserved(text, name) || verifier->flow.step != FLOW_IDLE)
			return refuse(verifier, instruction->opcode, "a fence is left open");
		verifier->report->confined++;
		return 0;
	}
	variable = find_name(verifier, NAME_GLOBAL, name);
	if (variable && verifier->flow.step == FLOW_IDLE) {
		verifier->report->direct++;
		return is_inside(variable, offset, shift) ?
			       0 :
			       refuse(verifier, instruction->opcode,
				      "it reaches beyond its variable");
	}
	if (!flow_access(&verifier->flow, instruction, generic, name, offset, (u32)shift,
			 verifier->report->margin))
		return refuse(verifier, instruction->opcode, "its address is not fenced");
	verifier->report->accesses++;
	return 0;
}

/*
 * How many labels the table has that the name at @name stands for; 0: it is not in this function,
 * or more than once, since scopes are not told apart.
 */
static u64 count_labels(const struct verifier *verifier, size_t name)
{
	const struct ptx_text *text = verifier->text;
	u64 count = 0;

	for (size_t at = verifier->body, depth = 1; depth && text->tokens[at].kind != PTX_END;
	     at = ptx_next(text, at)) {
		size_t list = ptx_next(text, ptx_next(text, at));

		depth += ptx_is(text, at, "{");
		depth -= ptx_is(text, at, "}");
		if (text->tokens[at].kind != PTX_WORD || !ptx_same(text, at, name) ||
		    !ptx_is(text, list, ".branchtargets"))
			continue;
		if (count)
			return 0;
		for (count = 1; !ptx_is(text, list, ";"); list = ptx_next(text, list)) {
			if (text->tokens[list].kind == PTX_END)
				return 0;
			count += ptx_is(text, list, ",");
		}
	}
	return count;
}

static int verify_table(struct verifier *verifier, const struct flow_instruction *instruction)
{
	u64 labels;

	if (verifier->flow.step != FLOW_INDEX || instruction->operand_count != 2 ||
	    !ptx_is(verifier->text, instruction->operands[0].first, "%gvmf_i") ||
	    instruction->operands[0].first != instruction->operands[0].last)
		return refuse(verifier, instruction->opcode, "its index is not clamped");
	labels = count_labels(verifier, instruction->operands[1].first);
	verifier->flow.step = FLOW_IDLE;
	if (!labels || verifier->flow.limit != labels - 1)
		return refuse(verifier, instruction->opcode,
			      "its table is shorter, or not found");
	verifier->report->tables++;
	return 0;
}

static int verify_call(const struct verifier *verifier,
		       const struct flow_instruction *instruction)
{
	for (u32 i = 0; i < instruction->operand_count; i++) {
		size_t target = instruction->operands[i].first;

		if (ptx_is(verifier->text, target, "("))
			continue;
		return find_name(verifier, NAME_FUNCTION, target) ?
			       0 :
			       refuse(verifier, target, "a call to code that is not here");
	}
	return refuse(verifier, instruction->opcode, "a call without a target");
}

static int verify_instruction(struct verifier *verifier,
			      const struct flow_instruction *instruction)
{
	const struct ptx_text *text = verifier->text;
	enum opcode_class class = classify(text, instruction->opcode);
	bool reserved = false, brackets = false;

	for (size_t at = instruction->guard ? instruction->guard : instruction->opcode;
	     at < instruction->end; at = ptx_next(text, at)) {
		reserved |= flow_is_reserved(text, at);
		brackets |= ptx_is(text, at, "[");
	}
	if (verifier->prologue && reserved && verifier->depth == 1 &&
	    flow_load(&verifier->flow, instruction))
		return 0;
	verifier->prologue = false;
	if (class == CLASS_FIRST || class == CLASS_SECOND)
		return verify_access(verifier, instruction, class == CLASS_SECOND);
	if (class == CLASS_TABLE)
		return verify_table(verifier, instruction);
	if (reserved)
		return flow_step(&verifier->flow, instruction) ?
			       0 :
			       refuse(verifier, instruction->opcode,
				      "no step of a fence that fits here");
	if (verifier->flow.step != FLOW_IDLE)
		return refuse(verifier, instruction->opcode, "it stands inside of a fence");
	if (class == CLASS_CALL)
		return verify_call(verifier, instruction);
	if (class == CLASS_SHARED)
		return has(text, instruction->opcode, ".shared") &&
				       !has(text, instruction->opcode, ".global") ?
			       0 :
			       refuse(verifier, instruction->opcode,
				      "its address is not in shared memory");
	if (class != CLASS_PLAIN)
		return refuse(verifier, instruction->opcode, "this opcode is not accepted");
	return brackets ? refuse(verifier, instruction->opcode, "an address is not expected") :
			  0;
}

/* Cut an instruction; the verifier stands behind it afterwards. */
static int read_instruction(struct verifier *verifier, struct flow_instruction *ret_instruction)
{
	const struct ptx_text *text = verifier->text;
	size_t first = 0, last = 0;
	u32 depth = 0;

	memset(ret_instruction, 0, sizeof(*ret_instruction));
	if (is(verifier, "@")) {
		step(verifier);
		ret_instruction->negated = is(verifier, "!");
		if (ret_instruction->negated)
			step(verifier);
		ret_instruction->guard = verifier->at;
		if (text->tokens[verifier->at].kind != PTX_WORD)
			return refuse(verifier, verifier->at, "no predicate");
		step(verifier);
	}
	ret_instruction->opcode = verifier->at;
	if (text->tokens[verifier->at].kind != PTX_WORD)
		return refuse(verifier, verifier->at, "no instruction");
	for (step(verifier);; step(verifier)) {
		bool ends = !depth && is(verifier, ";");

		if (at_end(verifier) || (depth && is(verifier, ";")) || is(verifier, ":"))
			return refuse(verifier, verifier->at, "an instruction has no end");
		if (!first && !depth && ptx_begins(text, verifier->at, ".") && !ends)
			return refuse(verifier, verifier->at, "a modifier stands apart");
		if (ends || (!depth && is(verifier, ","))) {
			if (ret_instruction->operand_count == FLOW_OPERANDS_MAX)
				return refuse(verifier, verifier->at, "too many operands");
			if (first) {
				ret_instruction->operands[ret_instruction->operand_count]
					.first = first;
				ret_instruction->operands[ret_instruction->operand_count++]
					.last = last;
			}
			first = 0;
			if (!ends)
				continue;
			ret_instruction->end = verifier->at;
			step(verifier);
			return 0;
		}
		if (is(verifier, "[") || is(verifier, "{") || is(verifier, "("))
			depth++;
		else if (is(verifier, "]") || is(verifier, "}") || is(verifier, ")")) {
			if (!depth--)
				return refuse(verifier, verifier->at, "a bracket too many");
		}
		first = first ? first : verifier->at;
		last = verifier->at;
	}
}

/* "x<9>" declares x0 to x8: none of them may be a name that is known, or one of a fence. */
static int refuse_numbered(const struct verifier *verifier, size_t at)
{
	const struct ptx_text *text = verifier->text;
	const struct ptx_token *prefix = &text->tokens[at];

	if (!ptx_is(text, ptx_next(text, at), "<"))
		return 0;
	if (flow_is_reserved(text, at))
		return refuse(verifier, at, "a name of a fence is declared");
	for (size_t i = 0; i < verifier->name_count; i++) {
		const struct ptx_token *name = &text->tokens[verifier->names[i].token];
		const char *word = text->bytes + name->start;
		u32 digits = prefix->length;

		if (name->length <= prefix->length ||
		    memcmp(word, text->bytes + prefix->start, prefix->length))
			continue;
		while (digits < name->length && word[digits] >= '0' && word[digits] <= '9')
			digits++;
		if (digits == name->length)
			return refuse(verifier, at,
				      "one of its numbers hides a variable or a function");
	}
	return 0;
}

/* Variables and functions are known by their names, so nothing else may have those. */
static int refuse_hiding(const struct verifier *verifier, size_t at, bool local)
{
	if (find_name(verifier, NAME_GLOBAL, at))
		return refuse(verifier, at, "it hides a variable of the module");
	if (!local && find_name(verifier, NAME_LOCAL, at))
		return refuse(verifier, at, "it hides a local variable");
	if (find_name(verifier, NAME_FUNCTION, at))
		return refuse(verifier, at, "it hides a function");
	return refuse_numbered(verifier, at);
}

/* ".param .align 8 .b8 q[16];": the form that is_inside_parameter() finds. */
static bool is_one_parameter(const struct ptx_text *text, size_t at)
{
	u64 number;

	at = ptx_next(text, at);
	if (ptx_is(text, at, ".align"))
		at = ptx_next(text, ptx_next(text, at));
	if (!element_bytes(text, at))
		return false;
	at = ptx_next(text, at);
	if (text->tokens[at].kind != PTX_WORD || ptx_begins(text, at, "."))
		return false;
	at = ptx_next(text, at);
	if (ptx_is(text, at, "[")) {
		at = ptx_next(text, at);
		if (!ptx_number(text, at, &number) || !ptx_is(text, ptx_next(text, at), "]"))
			return false;
		at = ptx_next(text, ptx_next(text, at));
	}
	return ptx_is(text, at, ";");
}

/* ".reg .b64 %rd<9>, x;" and other declarations in a body, up to the semicolon. */
static int verify_declaration(struct verifier *verifier)
{
	static const char *const spaces[] = { ".reg",	".local",  ".shared", ".param",
					      ".const", ".global", ".extern" };
	const struct ptx_text *text = verifier->text;
	bool reg = is(verifier, ".reg"), local = is(verifier, ".local"), known = false;
	size_t type = ptx_next(text, verifier->at);
	int status;

	/* ptxas ends some directives without a semicolon: behind ".target sm_90" it reads on. */
	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
		known |= is(verifier, spaces[i]);
	if (!known)
		return refuse(verifier, verifier->at,
			      "this directive is not accepted in a function");
	if (is(verifier, ".param") && !is_one_parameter(text, verifier->at))
		return refuse(verifier, verifier->at,
			      "more than one parameter, or another form");
	for (; !is(verifier, ";"); step(verifier)) {
		if (at_end(verifier))
			return refuse(verifier, verifier->at, "a declaration has no end");
		if (text->tokens[verifier->at].kind != PTX_WORD)
			continue;
		status = refuse_hiding(verifier, verifier->at, local);
		if (status)
			return status;
		if (reg && find_name(verifier, NAME_PARAMETER, verifier->at))
			return refuse(verifier, verifier->at, "it hides a parameter");
		if (!flow_is_reserved(text, verifier->at))
			continue;
		if (!reg || verifier->depth != 1 || !verifier->prologue ||
		    !flow_declare(&verifier->flow, type, verifier->at))
			return refuse(verifier, verifier->at, "a name of a fence is declared");
	}
	step(verifier);
	return 0;
}

static bool step_numbers(struct verifier *verifier, u32 count)
{
	u64 number;

	for (; count && ptx_number(verifier->text, verifier->at, &number); count--)
		step(verifier);
	return !count;
}

/* What stands behind the first word of ".loc 1 2 3, function_name NAME+4, inlined_at 1 2 3". */
static bool step_loc(struct verifier *verifier)
{
	if (!step_numbers(verifier, 3))
		return false;
	while (is(verifier, ",")) {
		step(verifier);
		if (is(verifier, "function_name")) {
			step(verifier);
			step(verifier);
			if (!is(verifier, "+"))
				continue;
			step(verifier);
			if (!step_numbers(verifier, 1))
				return false;
		} else if (is(verifier, "inlined_at")) {
			step(verifier);
			if (!step_numbers(verifier, 3))
				return false;
		} else {
			return false;
		}
	}
	return true;
}

/* What stands behind the first word of a header: ".file 1 "x.cu", 2, 3", ".target sm_90, debug". */
static bool step_header(struct verifier *verifier, bool file)
{
	if (file && (!step_numbers(verifier, 1) ||
		     verifier->text->tokens[verifier->at].kind != PTX_STRING))
		return false;
	step(verifier);
	while (is(verifier, ",")) {
		step(verifier);
		if (file && !step_numbers(verifier, 1))
			return false;
		if (!file)
			step(verifier);
	}
	return true;
}

/*
 * A directive without a semicolon: .loc and the headers. Nothing else stands on its line, and nothing
 * of it on another one, so it ends at the same place for a reader of lines and for a reader of words.
 */
static int skip_line(struct verifier *verifier)
{
	const struct ptx_text *text = verifier->text;
	u32 line = text->tokens[verifier->at].line;
	bool loc = is(verifier, ".loc"), file = is(verifier, ".file");
	size_t last = verifier->at;
	bool good;

	step(verifier);
	good = loc ? step_loc(verifier) : step_header(verifier, file);
	while (ptx_next(text, last) < verifier->at)
		last = ptx_next(text, last);
	if (!good || text->tokens[last].line != line ||
	    (!at_end(verifier) && text->tokens[verifier->at].line == line))
		return refuse(verifier, verifier->at, "more than a directive on its line");
	return 0;
}

static int verify_statement(struct verifier *verifier)
{
	static const char *const notes[] = { ".pragma", ".branchtargets", ".calltargets",
					     ".callprototype" };
	const struct ptx_text *text = verifier->text;
	struct flow_instruction instruction;
	size_t next = ptx_next(text, verifier->at);
	bool prototype;
	u64 number;
	int status;

	if (ptx_is(text, next, ":") && text->tokens[verifier->at].kind == PTX_WORD) {
		if (verifier->flow.step != FLOW_IDLE)
			return refuse(verifier, verifier->at, "a label inside of a fence");
		if (flow_is_reserved(text, verifier->at))
			return refuse(verifier, verifier->at, "a name of a fence is declared");
		/* A table of labels is no place to jump to. */
		if (!ptx_is(text, ptx_next(text, next), ".branchtargets"))
			verifier->prologue = false;
		step(verifier);
		step(verifier);
		return 0;
	}
	if (is(verifier, ".loc"))
		return skip_line(verifier);
	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
		if (!is(verifier, notes[i]))
			continue;
		prototype = is(verifier, ".callprototype");
		for (; !is(verifier, ";"); step(verifier)) {
			if (at_end(verifier) || flow_is_reserved(text, verifier->at))
				return refuse(verifier, verifier->at, "a directive has no end");
			/* A name would look as if it declared a parameter of a call. */
			if (prototype && text->tokens[verifier->at].kind == PTX_WORD &&
			    !is(verifier, "_") && !ptx_begins(text, verifier->at, ".") &&
			    !ptx_number(text, verifier->at, &number))
				return refuse(verifier, verifier->at, "a prototype has a name");
		}
		step(verifier);
		return 0;
	}
	if (ptx_begins(text, verifier->at, "."))
		return verify_declaration(verifier);
	status = read_instruction(verifier, &instruction);
	return status ? status : verify_instruction(verifier, &instruction);
}

/* From behind the brace that opens a body to behind the one that closes it. */
static int verify_body(struct verifier *verifier)
{
	int status = 0;

	flow_begin(&verifier->flow);
	verifier->body = verifier->at;
	verifier->prologue = true;
	for (verifier->depth = 1; !status && verifier->depth;) {
		bool brace = is(verifier, "{") || is(verifier, "}");

		if (at_end(verifier))
			return refuse(verifier, verifier->at, "a function has no end");
		if (brace && verifier->flow.step != FLOW_IDLE)
			return refuse(verifier, verifier->at, "a brace inside of a fence");
		if (!brace) {
			status = verify_statement(verifier);
			continue;
		}
		verifier->depth += is(verifier, "{") ? 1u : -1u;
		step(verifier);
	}
	return status;
}

/* The head of a function, from its first word to its brace or semicolon. */
static int verify_head(struct verifier *verifier, size_t first, bool entry)
{
	static const char *const names[PATCH_MODES] = { "gvmf_mask", "gvmf_mask", "gvmf_mask",
							"gvmf_size", "gvmf_size" };
	const struct ptx_text *text = verifier->text;
	const char *wanted[3] = { "gvmf_base", names[verifier->report->mode],
				  "gvmf_reciprocal" };
	u32 have = 0, want = verifier->report->mode == PATCH_MODULO ? 3 : 2;
	bool params = verifier->report->pass == PATCH_PARAMS && entry && is(verifier, "{");
	size_t type = first, space = first;
	u32 depth = 0;

	for (size_t at = first; at < verifier->at; at = ptx_next(text, at)) {
		int status;

		depth += ptx_is(text, at, "(");
		depth -= ptx_is(text, at, ")") && depth;
		/* The function's own name stands outside of the parameters. */
		status = depth ? refuse_hiding(verifier, at, false) : 0;
		if (status)
			return status;
		if (flow_is_reserved(text, at)) {
			if (!params || have == want || !ptx_is(text, at, wanted[have]) ||
			    !ptx_is(text, type, ".u64") || !ptx_is(text, space, ".param"))
				return refuse(verifier, at, "a name of a fence is declared");
			have++;
		} else if (have == want && depth) {
			return refuse(verifier, at, "bounds are not the last parameters");
		} else if (have && !ptx_is(text, at, ",") && !ptx_is(text, at, ")") &&
			   have < want && !ptx_begins(text, at, ".")) {
			return refuse(verifier, at, "bounds are not the last parameters");
		}
		space = type;
		type = at;
	}
	return params && have != want ? refuse(verifier, first, "a kernel without bounds") : 0;
}

/* ".const .align 8 .b64 gvmf_format[3] = {0, 0, 0};" and the bounds: as words. */
static int verify_reserved(struct verifier *verifier, size_t first)
{
	static const char *const format[] = { ".const", ".align", "8", ".b64", "gvmf_format",
					      "[",	"3",	  "]", "=",    "{",
					      "#",	",",	  "#", ",",    "#",
					      "}",	";" };
	static const char *const bounds[] = { ".visible",   ".const", ".align", "8", ".b64",
					      PATCH_BOUNDS, "[",      "16",	"]", ";" };
	bool second = ptx_is(verifier->text, first, ".visible");
	const char *const *words = second ? bounds : format;
	size_t count =
		second ? sizeof(bounds) / sizeof(*bounds) : sizeof(format) / sizeof(*format);
	u64 numbers[3] = { 0 };
	u32 number = 0;
	size_t at = first;

	for (size_t i = 0; i < count; i++, at = ptx_next(verifier->text, at))
		if (words[i][0] == '#' ? !ptx_number(verifier->text, at, &numbers[number++]) :
					 !ptx_is(verifier->text, at, words[i]))
			return refuse(verifier, at, "a name of a fence is declared");
	if (second ? verifier->has_bounds : verifier->has_format)
		return refuse(verifier, first, "bounds or format are declared twice");
	verifier->has_bounds |= second;
	if (second)
		return 0;
	verifier->has_format = true;
	if (numbers[0] >= PATCH_MODES || numbers[1] > 1 || numbers[2] > 1ull << 30)
		return refuse(verifier, first, "a format that is not known");
	verifier->report->mode = verifier->flow.mode = (enum patch_mode)numbers[0];
	verifier->report->pass = verifier->flow.pass = (enum patch_pass)numbers[1];
	verifier->report->margin = numbers[2];
	return 0;
}

/* Find the end of a statement of the module: its semicolon, or the brace of a body. */
static int find_end(struct verifier *verifier, bool *ret_function, bool *ret_entry)
{
	u32 depth = 0;
	bool value = false;

	*ret_function = *ret_entry = false;
	for (; !at_end(verifier); step(verifier)) {
		if (!depth && (is(verifier, ";") || (is(verifier, "{") && !value)))
			return 0;
		*ret_entry |= is(verifier, ".entry");
		*ret_function |= is(verifier, ".entry") || is(verifier, ".func");
		value |= is(verifier, "=");
		if (is(verifier, "(") || is(verifier, "{") || is(verifier, "["))
			depth++;
		else if ((is(verifier, ")") || is(verifier, "}") || is(verifier, "]")) &&
			 !depth--)
			break;
	}
	return refuse(verifier, verifier->at, "a statement has no end");
}

static int skip_section(struct verifier *verifier)
{
	u32 depth = 0;

	for (; !at_end(verifier); step(verifier)) {
		if (is(verifier, "{"))
			depth++;
		if (is(verifier, ";"))
			break;
		if (is(verifier, "}") && (!depth || !--depth)) {
			step(verifier);
			return 0;
		}
	}
	return refuse(verifier, verifier->at, "a section has no end");
}

static int verify_header(struct verifier *verifier, bool *ret_header)
{
	static const char *const headers[] = { ".version", ".target", ".address_size",
					       ".file" };
	const struct ptx_text *text = verifier->text;
	size_t value = ptx_next(text, verifier->at);

	*ret_header = true;
	if (is(verifier, ".section"))
		return skip_section(verifier);
	for (u32 i = 0; i < 4; i++) {
		const char *bytes = text->bytes + text->tokens[value].start;

		if (!is(verifier, headers[i]))
			continue;
		if (i < 3 && verifier->headers >> i & 1)
			return refuse(verifier, verifier->at, "a second time");
		verifier->headers |= 1u << i;
		if (i == 0 && (text->tokens[value].length != 3 || bytes[1] != '.' ||
			       10 * (bytes[0] - '0') + bytes[2] - '0' >
				       (int)(10 * PTX_ISA_MAJOR + PTX_ISA_MINOR)))
			return refuse(verifier, value, "a version of PTX that is not known");
		if (i == 2 && !ptx_is(text, value, "64"))
			return refuse(verifier, value, "addresses have to have 64 bits");
		return skip_line(verifier);
	}
	*ret_header = false;
	return 0;
}

/* One statement of the module, with the body of a function. */
static int verify_module_statement(struct verifier *verifier)
{
	const struct ptx_text *text = verifier->text;
	size_t first = verifier->at;
	bool header, function, entry, reserved = false, body;
	int status = verify_header(verifier, &header);

	if (status || header)
		return status;
	status = find_end(verifier, &function, &entry);
	if (status)
		return status;
	body = is(verifier, "{");
	if (!function && body)
		return refuse(verifier, first, "a brace that belongs to no function");
	if (function) {
		if (!verifier->has_format)
			return refuse(verifier, first, "the module is not patched");
		status = verify_head(verifier, first, entry);
		step(verifier);
		return status || !body ? status : verify_body(verifier);
	}
	for (size_t at = first; at < verifier->at; at = ptx_next(text, at))
		reserved |= flow_is_reserved(text, at);
	step(verifier);
	return reserved ? verify_reserved(verifier, first) : 0;
}

/* The variables of one declaration. One of unknown length gets 0 bytes: nothing of it may be touched. */
static int collect_variables(struct verifier *verifier, size_t first, size_t end,
			     enum name_kind kind)
{
	const struct ptx_text *text = verifier->text;
	u64 element = 0, vector = 1;
	bool external = false;
	int status = 0;

	for (size_t at = first; at < end && !status; at = ptx_next(text, at)) {
		u64 bytes, length;
		size_t name = at;

		external |= ptx_is(text, at, ".extern");
		vector = ptx_is(text, at, ".v2") ? 2 : ptx_is(text, at, ".v4") ? 4 : vector;
		element = element_bytes(text, at) ? element_bytes(text, at) : element;
		if (text->tokens[at].kind != PTX_WORD || ptx_begins(text, at, ".") || !element)
			continue;
		bytes = external ? 0 : element * vector;
		while (ptx_is(text, ptx_next(text, at), "[")) {
			at = ptx_next(text, ptx_next(text, at));
			if (!ptx_number(text, at, &length) || length > 1ull << 34 ||
			    (length && bytes > (1ull << 40) / length))
				length = 0;
			bytes *= length;
			at = ptx_is(text, at, "]") ? at : ptx_next(text, at);
			if (!ptx_is(text, at, "]"))
				return refuse(verifier, at, "a length that is not understood");
		}
		status = add_name(verifier, kind, name, bytes);
		/* Over an initial value, to the comma behind it. */
		for (u32 depth = 0; at < end; at = ptx_next(text, at)) {
			if (ptx_is(text, at, "{") || ptx_is(text, at, "("))
				depth++;
			else if (ptx_is(text, at, "}") || ptx_is(text, at, ")"))
				depth--;
			else if (!depth && ptx_is(text, at, ","))
				break;
		}
	}
	return status;
}

/* Is the word at @at a quality of a pointer parameter, ".param .u64 .ptr .global NAME"? */
static bool is_of_pointer(const struct ptx_text *text, size_t at)
{
	while (at && (text->tokens[at - 1].kind == PTX_SPACE ||
		      text->tokens[at - 1].kind == PTX_COMMENT))
		at--;
	return at && ptx_is(text, at - 1, ".ptr");
}

/*
 * Directives that change what verified code does. A .pragma may have registers spilled to shared memory,
 * where any store reaches them. A function that is said not to return may do so, to any code behind
 * the call.
 */
static int refuse_directives(const struct verifier *verifier)
{
	static const char *const harmless[] = { "\"nounroll\"", "\"used_bytes_mask ",
						"\"frequency " };
	const struct ptx_text *text = verifier->text;

	for (size_t at = 0; at < text->count; at++) {
		size_t value = ptx_next(text, at);
		bool known = false;

		if (ptx_is(text, at, ".alias"))
			return refuse(verifier, at, "aliases are not followed");
		if (ptx_is(text, at, ".noreturn"))
			return refuse(verifier, at, "it may return all the same");
		if (!ptx_is(text, at, ".pragma"))
			continue;
		for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
			known |= ptx_begins(text, value, harmless[i]);
		if (!known || !ptx_is(text, ptx_next(text, value), ";"))
			return refuse(verifier, value, "a pragma that is not known");
	}
	return 0;
}

/* First pass: names of variables in device and local memory, functions with a body, calls. */
static int collect(struct verifier *verifier)
{
	const struct ptx_text *text = verifier->text;
	u32 depth = 0;
	int status = 0;
	u64 number;

	for (size_t at = 0; at < text->count && !status; at++) {
		size_t end = at;

		depth += ptx_is(text, at, "{");
		depth -= ptx_is(text, at, "}") && depth;
		verifier->has_calls |= ptx_begins(text, at, "call");
		if ((ptx_is(text, at, ".global") || ptx_is(text, at, ".local")) &&
		    !is_of_pointer(text, at)) {
			bool global = ptx_is(text, at, ".global");
			size_t before = at;

			/* ".extern" stands in front. */
			while (before && !ptx_is(text, before - 1, ";") &&
			       !ptx_is(text, before - 1, "}") && at - before < 8)
				before--;
			while (!ptx_is(text, end, ";") && text->tokens[end].kind != PTX_END)
				end++;
			status = collect_variables(verifier, global && !depth ? before : at,
						   end, global ? NAME_GLOBAL : NAME_LOCAL);
			at = end;
		} else if (ptx_is(text, at, ".param")) {
			size_t name = ptx_next(text, at);

			/* The first word that is no quality and no number. */
			while (ptx_begins(text, name, ".") ||
			       (text->tokens[name].length && ptx_number(text, name, &number)))
				name = ptx_next(text, name);
			if (text->tokens[name].kind == PTX_WORD)
				status = add_name(verifier, NAME_PARAMETER, name, 0);
		} else if (ptx_is(text, at, ".func")) {
			size_t name = ptx_next(text, at);

			while (ptx_is(text, name, "(")) {
				while (!ptx_is(text, name, ")") &&
				       text->tokens[name].kind != PTX_END)
					name = ptx_next(text, name);
				name = ptx_next(text, name);
			}
			for (end = name; !ptx_is(text, end, ";") && !ptx_is(text, end, "{") &&
					 text->tokens[end].kind != PTX_END;)
				end = ptx_next(text, end);
			if (ptx_is(text, end, "{"))
				status = add_name(verifier, NAME_FUNCTION, name, 0);
		}
	}
	return status;
}

int verify_text(const struct ptx_text *text, struct verify_report *ret_report,
		struct sim_error *err)
{
	struct verifier verifier = { .text = text, .err = err, .report = ret_report };
	int status;

	memset(ret_report, 0, sizeof(*ret_report));
	verifier.flow.text = text;
	status = refuse_directives(&verifier);
	if (!status)
		status = collect(&verifier);
	if (text->tokens[0].kind == PTX_SPACE || text->tokens[0].kind == PTX_COMMENT)
		step(&verifier);
	while (!status && !at_end(&verifier))
		status = verify_module_statement(&verifier);
	if (!status && ((verifier.headers & 7) != 7 || !verifier.has_format))
		status = sim_user_error(err, "%s: the module is not patched", text->file);
	if (!status && ret_report->pass == PATCH_CONST && !verifier.has_bounds)
		status = sim_user_error(err, "%s: the module has no bounds", text->file);
	free(verifier.names);
	return status;
}
