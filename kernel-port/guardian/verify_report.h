/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the verifier says of a module. */
#ifndef KERNEL_PORT_GUARDIAN_VERIFY_REPORT_H
#define KERNEL_PORT_GUARDIAN_VERIFY_REPORT_H

#include "bounds.h"
#include "ptx_lex.h"

/* What a loader has to know of a module that verifies. */
struct verify_report {
	enum patch_mode mode;
	enum patch_pass pass;
	u64 margin;   /* once and 4g: has to lie empty at both ends of a partition */
	u64 accesses; /* fenced ones */
	u64 direct;   /* to variables of the module */
	u64 confined; /* to shared, local, constant and parameter memory */
	u64 tables;   /* clamped jumps */
	/*
	 * Stores that a register may lead to any place of local memory. ptxas keeps addresses there
	 * that it has no register for, fenced ones too: such a module may change them.
	 */
	u64 local_stores;
};

#endif
