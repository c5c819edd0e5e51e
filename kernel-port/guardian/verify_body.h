/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The bodies of kernels and functions. */
#ifndef KERNEL_PORT_GUARDIAN_VERIFY_BODY_H
#define KERNEL_PORT_GUARDIAN_VERIFY_BODY_H

#include "verify_names.h"

/*
 * From after the brace that opens a body to after the one that closes it.
 * 0 or -SIM_EXIT_USER.
 */
int verify_body(struct verifier *verifier);

/* Step over a header or a .loc, which have a line of their own. 0 or -SIM_EXIT_USER. */
int verify_skip_line(struct verifier *verifier);

#endif
