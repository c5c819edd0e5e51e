// SPDX-License-Identifier: MIT OR GPL-2.0
#include "verify_opcodes.h"

#include <string.h>

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

/* The length of the longest name of a list that the opcode begins with; 0: none. */
static size_t in_list(const struct ptx_text *text, size_t at, const char *const *list)
{
	size_t best = 0;

	for (; *list; list++) {
		size_t length;

		if (!ptx_begins(text, at, *list))
			continue;
		length = strlen(*list);
		if (length > best && (text->tokens[at].length == length ||
				      text->bytes[text->tokens[at].start + length] == '.'))
			best = length;
	}
	return best;
}

enum opcode_class verify_classify(const struct ptx_text *text, size_t at)
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
