// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Arrays: memory for textures and surfaces, with a handle in the place of an address. They stay
 * device memory, and are charged to the container by the bytes that the application asked for.
 * The books know them by their handle: it is an address of the host, which no other memory has.
 *
 * Sparse and deferred arrays have no memory of their own: cuMemCreate()'s is mapped into them.
 */
#include "shim.h"

/* Bits of an element; @each: of a channel. Formats of cuda.h of CUDA 13.0, CUarray_format. */
struct array_format {
	unsigned char first, last;
	unsigned char bits;
	bool each;
};

static const struct array_format formats[] = {
	{ 0x01, 0x01, 8, true }, /* integers, unsigned and signed */
	{ 0x02, 0x02, 16, true },
	{ 0x03, 0x03, 32, true },
	{ 0x08, 0x08, 8, true },
	{ 0x09, 0x09, 16, true },
	{ 0x0a, 0x0a, 32, true },
	{ 0x10, 0x10, 16, true },  /* half */
	{ 0x20, 0x20, 32, true },  /* float */
	{ 0x50, 0x50, 32, false }, /* 10, 10, 10 and 2 bits */
	{ 0x91, 0x92, 4, false },  /* BC1: 64 bits for 16 elements */
	{ 0x93, 0x96, 8, false },  /* BC2, BC3 */
	{ 0x97, 0x98, 4, false },  /* BC4 */
	{ 0x99, 0x9e, 8, false },  /* BC5, BC6H, BC7 */
	{ 0x9f, 0x9f, 24, false }, /* video of 10 and 16 bits, 4:2:0 */
	{ 0xa1, 0xa1, 24, false },
	{ 0xa2, 0xa2, 16, false }, /* video, 4:2:2 */
	{ 0xa3, 0xa4, 32, false },
	{ 0xa5, 0xa5, 16, false },
	{ 0xa6, 0xa7, 32, false },
	{ 0xa8, 0xa9, 32, false }, /* video, 4:4:4 */
	{ 0xb0, 0xb0, 12, false }, /* NV12 */
	{ 0xb1, 0xb1, 64, false },
	{ 0xb2, 0xb2, 24, false },
	{ 0xb3, 0xb3, 48, false },
	{ 0xb4, 0xb4, 24, false },
	{ 0xb5, 0xb5, 48, false },
	{ 0xc0, 0xc0, 8, false }, /* normalized: one, two and four channels */
	{ 0xc1, 0xc1, 16, false },
	{ 0xc2, 0xc2, 32, false },
	{ 0xc3, 0xc3, 16, false },
	{ 0xc4, 0xc4, 32, false },
	{ 0xc5, 0xc5, 64, false },
	{ 0xc6, 0xc6, 8, false },
	{ 0xc7, 0xc7, 16, false },
	{ 0xc8, 0xc8, 32, false },
	{ 0xc9, 0xc9, 16, false },
	{ 0xca, 0xca, 32, false },
	{ 0xcb, 0xcb, 64, false },
};

/* 0: a format of a later driver. The user is told. */
static u64 element_bits(const struct shim_array3d *asked)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (asked->format >= formats[i].first && asked->format <= formats[i].last)
			return formats[i].each ? (u64)formats[i].bits * asked->channels :
						 formats[i].bits;
	if (!atomic_flag_test_and_set(&told))
		shim_warn("an array of format 0x%x, which this shim does not know: its memory "
			  "is neither counted nor limited",
			  asked->format);
	return 0;
}

/* An edge of a level: half as long as that of the level before, and at least 1. */
static u64 edge(u64 whole, u32 level)
{
	return whole >> level ? whole >> level : 1;
}

/* How many levels it gets. cuda.h: the number is clamped to 1 + log2 of the longest edge. */
static u32 levels_of(const struct shim_array3d *asked, u32 levels)
{
	size_t edges = asked->width | asked->height | asked->depth;
	u32 most = 1;

	while (edges >>= 1)
		most++;
	return levels > most ? most : levels ? levels : 1;
}

/* 0: it has no memory of its own, or the driver will refuse it. */
static u64 array_bytes(const struct shim_array3d *asked, u32 levels)
{
	bool flat_levels = asked->flags & (CU_ARRAY_LAYERED | CU_ARRAY_CUBEMAP);
	u64 bits, elements, level_bits, sum = 0;

	if (asked->flags & (CU_ARRAY_SPARSE | CU_ARRAY_DEFERRED) || !asked->width)
		return 0;
	bits = element_bits(asked);
	levels = levels_of(asked, levels);
	for (u32 i = 0; bits && i < levels; i++)
		if (__builtin_mul_overflow(edge(asked->width, i), edge(asked->height, i),
					   &elements) ||
		    __builtin_mul_overflow(elements, edge(asked->depth, flat_levels ? 0 : i),
					   &elements) ||
		    __builtin_mul_overflow(elements, bits, &level_bits) ||
		    __builtin_add_overflow(sum, (level_bits + 7) / 8, &sum))
			return 0;
	return sum;
}

enum array_charge { NOT_COUNTED, COUNTED, REFUSED };

static enum array_charge charge(const struct shim_real *real, struct shim_allocation *made,
				const struct shim_array3d *asked, u32 levels)
{
	*made = (struct shim_allocation){ .bytes = array_bytes(asked, levels),
					  .kind = SHIM_DEVICE };
	if (!made->bytes || !memory_current(real, &made->device, &made->context))
		return NOT_COUNTED;
	return memory_charge(made->device, SHIM_DEVICE, made->bytes,
			     memory_facts_of(real, made->device)->total) ?
		       COUNTED :
		       REFUSED;
}

/* The driver's answer to what was charged. */
static cu_result answered(cu_result result, enum array_charge charged,
			  struct shim_allocation *made, void *const *handle)
{
	if (charged != COUNTED)
		return result;
	if (result == CU_OK)
		memory_made(made, (cu_ptr)(uintptr_t)*handle);
	else
		books_uncharge(made->device, SHIM_DEVICE, made->bytes);
	return result;
}

SHIM_EXPORT cu_result cuArrayCreate_v2(struct CUarray_st **array,
				       const struct CUDA_ARRAY_DESCRIPTOR_st *asked)
{
	const struct shim_real *real = shim_real();
	const struct shim_array *flat = (const struct shim_array *)asked;
	enum array_charge charged = NOT_COUNTED;
	struct shim_allocation made;

	if (!real)
		return CU_NOT_INITIALIZED;
	if (array && flat)
		charged = charge(real, &made,
				 &(struct shim_array3d){ .width = flat->width,
							 .height = flat->height,
							 .format = flat->format,
							 .channels = flat->channels },
				 1);
	if (charged == REFUSED)
		return CU_OUT_OF_MEMORY;
	return answered(real->cuArrayCreate_v2(array, asked), charged, &made, (void **)array);
}

SHIM_EXPORT cu_result cuArray3DCreate_v2(struct CUarray_st **array,
					 const struct CUDA_ARRAY3D_DESCRIPTOR_st *asked)
{
	const struct shim_real *real = shim_real();
	enum array_charge charged = NOT_COUNTED;
	struct shim_allocation made;

	if (!real)
		return CU_NOT_INITIALIZED;
	if (array && asked)
		charged = charge(real, &made, (const struct shim_array3d *)asked, 1);
	if (charged == REFUSED)
		return CU_OUT_OF_MEMORY;
	return answered(real->cuArray3DCreate_v2(array, asked), charged, &made, (void **)array);
}

SHIM_EXPORT cu_result cuMipmappedArrayCreate(struct CUmipmappedArray_st **array,
					     const struct CUDA_ARRAY3D_DESCRIPTOR_st *asked,
					     unsigned int levels)
{
	const struct shim_real *real = shim_real();
	enum array_charge charged = NOT_COUNTED;
	struct shim_allocation made;

	if (!real)
		return CU_NOT_INITIALIZED;
	if (array && asked)
		charged = charge(real, &made, (const struct shim_array3d *)asked, levels);
	if (charged == REFUSED)
		return CU_OUT_OF_MEMORY;
	return answered(real->cuMipmappedArrayCreate(array, asked, levels), charged, &made,
			(void **)array);
}

static cu_result destroy(cu_ptr handle, struct CUstream_st *stream)
{
	(void)stream;
	return shim_real()->cuArrayDestroy((struct CUarray_st *)(uintptr_t)handle);
}

static cu_result destroy_levels(cu_ptr handle, struct CUstream_st *stream)
{
	(void)stream;
	return shim_real()->cuMipmappedArrayDestroy(
		(struct CUmipmappedArray_st *)(uintptr_t)handle);
}

SHIM_EXPORT cu_result cuArrayDestroy(struct CUarray_st *array)
{
	return shim_real() ? memory_free((cu_ptr)(uintptr_t)array, destroy, NULL) :
			     CU_NOT_INITIALIZED;
}

SHIM_EXPORT cu_result cuMipmappedArrayDestroy(struct CUmipmappedArray_st *array)
{
	return shim_real() ? memory_free((cu_ptr)(uintptr_t)array, destroy_levels, NULL) :
			     CU_NOT_INITIALIZED;
}
