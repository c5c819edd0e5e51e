/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * From a PTX text to one that may be loaded, in memory: patched, and then verified. For
 * loaders: the shim and gvmfenced.
 */
#ifndef KERNEL_PORT_GUARDIAN_CONFINE_H
#define KERNEL_PORT_GUARDIAN_CONFINE_H

#include <stddef.h>

#include "engine/error.h"
#include "patch.h"
#include "verify.h"

/* A text that verifies. Owned by the caller: confine_text(), then confined_destroy(). */
struct confined {
	char *bytes; /* with a zero after them */
	size_t size;
	struct verify_report report; /* of the verifier alone */
};

/*
 * Patch @size bytes at @ptx as @options say, and verify the result. @name stands in
 * messages. The text is read and not kept. Returns 0; or a negative enum sim_exit with
 * one line in *err and nothing to destroy: a construct that cannot be confined, or a
 * result that does not verify.
 */
int confine_text(const char *name, const char *ptx, size_t size,
		 const struct patch_options *options, struct confined *ret_confined,
		 struct sim_error *err);
void confined_destroy(struct confined *confined);

#endif
