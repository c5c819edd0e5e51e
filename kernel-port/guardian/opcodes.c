// SPDX-License-Identifier: MIT OR GPL-2.0
#include "opcodes.h"

#include <string.h>

static const char by_handle[] = "a texture or surface handle can name another tenant's memory";
static const char by_length[] = "the length of a bulk copy is not bounded";
static const char by_tensor[] = "a tensor map holds an address that is not checked";
static const char by_stack[] = "it moves the stack pointer";
static const char by_tmem[] = "tensor memory is not confined";
static const char by_stride[] = "the stride of a matrix is not bounded";
static const char by_multicast[] = "multicast addresses are not confined";

/* clang-format off */
#define SAFE(name) { name, OPCODE_SAFE, 0, NULL }
#define SHARED(name) { name, OPCODE_SHARED, 0, NULL }
#define REFUSE(name, why) { name, OPCODE_REFUSE, 0, why }

const struct opcode opcode_table[] = {
	/* Integers. */
	SAFE("add"), SAFE("sub"), SAFE("mul"), SAFE("mad"), SAFE("mul24"), SAFE("mad24"),
	SAFE("sad"), SAFE("div"), SAFE("rem"), SAFE("abs"), SAFE("neg"), SAFE("min"),
	SAFE("max"), SAFE("popc"), SAFE("clz"), SAFE("bfind"), SAFE("fns"), SAFE("brev"),
	SAFE("bfe"), SAFE("bfi"), SAFE("szext"), SAFE("bmsk"), SAFE("dp4a"), SAFE("dp2a"),
	SAFE("addc"), SAFE("subc"), SAFE("madc"),
	/* Floating point. */
	SAFE("testp"), SAFE("copysign"), SAFE("fma"), SAFE("rcp"), SAFE("sqrt"), SAFE("rsqrt"),
	SAFE("sin"), SAFE("cos"), SAFE("lg2"), SAFE("ex2"), SAFE("tanh"),
	/* Comparison, selection, logic. */
	SAFE("set"), SAFE("setp"), SAFE("selp"), SAFE("slct"), SAFE("and"), SAFE("or"),
	SAFE("xor"), SAFE("not"), SAFE("cnot"), SAFE("lop3"), SAFE("shf"), SAFE("shl"),
	SAFE("shr"),
	/* Moves between registers, and between address spaces. */
	SAFE("mov"), SAFE("shfl"), SAFE("prmt"), SAFE("cvt"), SAFE("isspacep"), SAFE("cvta"),
	REFUSE("cvta.const", "a generic address of constant memory would be fenced"),
	REFUSE("cvta.param", "a generic address of parameters would be fenced"),
	REFUSE("mapa", "a generic address of another block would be fenced"),
	SAFE("mapa.shared"), SAFE("mapa.shared::cluster"), SAFE("getctarank"),
	/* Memory. */
	{ "ld", OPCODE_FENCE, 1, NULL }, { "ldu", OPCODE_FENCE, 1, NULL },
	{ "st", OPCODE_FENCE, 0, NULL }, { "atom", OPCODE_FENCE, 1, NULL },
	{ "red", OPCODE_FENCE, 0, NULL }, { "prefetch", OPCODE_FENCE, 0, NULL },
	{ "prefetchu", OPCODE_FENCE, 0, NULL }, { "applypriority", OPCODE_FENCE, 0, NULL },
	REFUSE("discard", "it can bring back what another tenant has left in memory"),
	REFUSE("prefetch.tensormap", by_tensor), REFUSE("prefetch.param", by_tensor),
	REFUSE("prefetch.const", by_tensor),
	SHARED("st.async"), SHARED("st.bulk"), SHARED("red.async"),
	REFUSE("multimem", by_multicast),
	REFUSE("createpolicy", "a cache policy of an address range is not bounded"),
	SAFE("createpolicy.fractional"), SAFE("createpolicy.cvt"),
	/* Asynchronous copies. */
	REFUSE("cp", "an unknown form of copy"), { "cp.async", OPCODE_FENCE, 1, NULL },
	SAFE("cp.async.commit_group"), SAFE("cp.async.wait_group"), SAFE("cp.async.wait_all"),
	SHARED("cp.async.mbarrier"), REFUSE("cp.async.bulk", by_length),
	SAFE("cp.async.bulk.commit_group"), SAFE("cp.async.bulk.wait_group"),
	REFUSE("cp.async.bulk.tensor", by_tensor), REFUSE("cp.async.bulk.prefetch", by_length),
	REFUSE("cp.async.bulk.prefetch.tensor", by_tensor),
	REFUSE("cp.reduce.async.bulk", by_length),
	REFUSE("cp.reduce.async.bulk.tensor", by_tensor), REFUSE("tensormap", by_tensor),
	/* Textures and surfaces. */
	REFUSE("tex", by_handle), REFUSE("tld4", by_handle), REFUSE("txq", by_handle),
	REFUSE("istypep", by_handle), REFUSE("suld", by_handle), REFUSE("sust", by_handle),
	REFUSE("sured", by_handle), REFUSE("suq", by_handle),
	/* Control flow. */
	SAFE("bra"), SAFE("ret"), SAFE("exit"), { "call", OPCODE_CALL, 0, NULL },
	REFUSE("brx", "an unknown form of jump"), { "brx.idx", OPCODE_TABLE, 0, NULL },
	/* Threads together. */
	SAFE("bar"), SAFE("barrier"), SAFE("membar"), SAFE("fence"), SAFE("vote"), SAFE("match"),
	SAFE("activemask"), SAFE("redux"), SAFE("griddepcontrol"), SAFE("elect"),
	SHARED("mbarrier"), SAFE("mbarrier.pending_count"),
	SHARED("clusterlaunchcontrol.try_cancel"), SAFE("clusterlaunchcontrol.query_cancel"),
	/* Matrices. */
	SAFE("mma"), SAFE("wmma.mma"), REFUSE("wmma", "an unknown form of matrix operation"),
	REFUSE("wmma.load", by_stride), REFUSE("wmma.store", by_stride), SHARED("ldmatrix"),
	SHARED("stmatrix"), SAFE("movmatrix"), SAFE("wgmma"), REFUSE("tcgen05", by_tmem),
	/* The stack. */
	REFUSE("stacksave", by_stack), REFUSE("stackrestore", by_stack), REFUSE("alloca", by_stack),
	/* Video. */
	SAFE("vadd"), SAFE("vsub"), SAFE("vabsdiff"), SAFE("vmin"), SAFE("vmax"), SAFE("vshl"),
	SAFE("vshr"), SAFE("vmad"), SAFE("vset"), SAFE("vadd2"), SAFE("vsub2"), SAFE("vavrg2"),
	SAFE("vabsdiff2"), SAFE("vmin2"), SAFE("vmax2"), SAFE("vset2"), SAFE("vadd4"),
	SAFE("vsub4"), SAFE("vavrg4"), SAFE("vabsdiff4"), SAFE("vmin4"), SAFE("vmax4"),
	SAFE("vset4"),
	/* Others. */
	SAFE("brkpt"), SAFE("nanosleep"), SAFE("pmevent"), SAFE("trap"),
	REFUSE("setmaxnreg", "registers that come back hold anything"),
	{ NULL, OPCODE_REFUSE, 0, NULL },
};
/* clang-format on */

const struct opcode *opcode_find(const struct ptx_text *text, size_t at)
{
	const char *word = text->bytes + text->tokens[at].start;
	size_t length = text->tokens[at].length, best = 0;
	const struct opcode *found = NULL;

	for (const struct opcode *opcode = opcode_table; opcode->name; opcode++) {
		size_t name;

		/* So are nearly all: it saves a length. */
		if (!length || *opcode->name != *word)
			continue;
		name = strlen(opcode->name);
		if (name > best && name <= length && !memcmp(word, opcode->name, name) &&
		    (name == length || word[name] == '.')) {
			found = opcode;
			best = name;
		}
	}
	return found;
}
