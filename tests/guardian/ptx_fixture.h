/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Shared by the tests of gvmfence: the corpus, and patching in memory. */
#ifndef TESTS_GUARDIAN_PTX_FIXTURE_H
#define TESTS_GUARDIAN_PTX_FIXTURE_H

#include "patch.h"
#include "suite.h"

/* The files of the corpus, by name; NULL at the end. */
extern const char *const corpus_files[];

/* The bytes of a file of the corpus, with a zero after them; the caller frees them. */
char *corpus_read(const char *name);

/*
 * Patch a text. Returns the patched one, which the caller frees, or NULL
 * with the reason in *err.
 */
char *patch_with(const char *text, const struct patch_options *options, struct sim_error *err);
char *patch_in_memory(const char *text, enum patch_mode mode, enum patch_pass pass,
		      struct sim_error *err);

/* Verify a text. Returns 0, or a negative enum sim_exit with the reason in *err. */
int verify_bytes(const char *bytes, struct sim_error *err);

#endif
