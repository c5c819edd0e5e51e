/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the verifier says of a module. */
#ifndef KERNEL_PORT_GUARDIAN_VERIFY_REPORT_H
#define KERNEL_PORT_GUARDIAN_VERIFY_REPORT_H

#include "bounds.h"
#include "ptx_lex.h"

/*
 * A kernel with stores that a register may lead to any place of local memory. ptxas keeps
 * values there that it has no register for, fenced addresses and bounds too: such a kernel may
 * change them, if it has any there (docs/guardian.md).
 */
struct verify_entry {
	size_t name; /* where its name begins in the text, and its length */
	size_t name_length;
	u64 local_stores; /* may be 0 */
	u64 local_bytes;  /* of its .local variables, without what aligns them */
};

/* What a loader has to know of a module that verifies. */
struct verify_report {
	enum patch_mode mode;
	enum patch_pass pass;
	u64 margin;	   /* once and 4g: has to lie empty at both ends of a partition */
	u64 accesses;	   /* fenced ones */
	u64 direct;	   /* to variables of the module */
	u64 direct_writes; /* of these, stores and atomics */
	u64 confined;	   /* to shared, local, constant and parameter memory */
	u64 tables;	   /* clamped jumps */
	u64 local_stores;  /* of all kernels: see struct verify_entry */
	struct verify_entry *entries; /* the kernels */
	size_t entry_count;
};

#endif
