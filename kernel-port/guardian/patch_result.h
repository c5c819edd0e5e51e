/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the patcher is asked for, and what it gives. */
#ifndef KERNEL_PORT_GUARDIAN_PATCH_RESULT_H
#define KERNEL_PORT_GUARDIAN_PATCH_RESULT_H

#include "access.h"
#include "bounds.h"

#define PATCH_MARGIN_DEFAULT (8ull << 20)
#define PATCH_MARGIN_MAX     (1ull << 30)

struct patch_options {
	enum patch_mode mode;
	enum patch_pass pass;
	enum patch_full full; /* with PATCH_CONST */
	enum patch_index index;
	u64 margin;  /* once and 4g: offsets up to this stay in the access; at least 256 */
	u32 target;  /* 90: a newer .target becomes sm_90 (retarget.h); 0: it stays */
	u32 version; /* 84: a newer .version becomes 8.4; 0: it stays */
};

/* What a kernel or function has, and what it has got. */
struct patch_counts {
	u32 accesses[ACCESS_SPACES][ACCESS_KINDS];
	u32 direct; /* of the global and generic ones: variables with a constant offset */
	u32 fenced;
	u32 instructions; /* inserted before accesses */
	u32 tables;	  /* clamped jumps through tables */
};

/* A construct that cannot be confined. */
struct patch_refusal {
	u32 function; /* index; PTX_NO_FUNCTION: of the module */
	u32 line;
	char *why; /* "discard.global.L2: reason" */
};

/* Owned by the caller: patch_module() or patch_count(), then patch_result_destroy(). */
struct patch_result {
	char *bytes; /* the patched module, with a zero after it */
	size_t size;
	struct patch_counts *functions; /* of each function, in the module's order */
	size_t function_count;
	/* of patch_count() alone; patch_module() stops at one */
	struct patch_refusal *refusals;
	size_t refusal_count;
};

#endif
