/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Instructions that have one address. */
#ifndef KERNEL_PORT_GUARDIAN_VERIFY_ACCESS_H
#define KERNEL_PORT_GUARDIAN_VERIFY_ACCESS_H

#include "verify_names.h"

/*
 * Verify an instruction whose operand @operand is its address: fenced, inside of a variable, or
 * in memory that the hardware confines. Returns 0 or -SIM_EXIT_USER.
 */
int verify_access(struct verifier *verifier, const struct flow_instruction *instruction,
		  u32 operand);

#endif
