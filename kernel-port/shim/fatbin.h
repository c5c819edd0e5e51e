/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The PTX inside of what an application hands to CUDA as a module. */
#ifndef GVM_SHIM_FATBIN_H
#define GVM_SHIM_FATBIN_H

#include <stddef.h>

/* What a module image is. */
enum fatbin_kind {
	FATBIN_PTX,  /* it is PTX text, or a fat binary that has some for the GPU */
	FATBIN_CODE, /* machine code alone, or PTX for newer GPUs alone */
	FATBIN_WRONG /* not readable: damaged, or of a form that is not known */
};

/* A text that fatbin_text() has found. Owned by the caller: fatbin_text(), then free(.copy). */
struct fatbin_text {
	const char *bytes;
	size_t size;
	char *copy;	 /* where it was decompressed; NULL: @bytes lie in the image */
	const char *why; /* of FATBIN_CODE and FATBIN_WRONG: one phrase, constant */
};

/*
 * Find the PTX of @image for a GPU of compute capability @capability (90: 9.0): the
 * newest that the GPU can run. The image is text with a zero after it, a cubin, a fat
 * binary, or a pointer to one as compilers emit it.
 *
 * @size: of an image that was read from a file, with FATBIN_PAD bytes of zero after it. In a
 * file a pointer is FATBIN_WRONG. FATBIN_MEMORY: the image is the application's, its length is
 * not known, and it is trusted as the driver trusts it.
 */
#define FATBIN_PAD    64u
#define FATBIN_MEMORY ((size_t)-1)
enum fatbin_kind fatbin_text(const void *image, size_t size, unsigned int capability,
			     struct fatbin_text *ret_text);

#endif
