// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A CUDA driver library for tests of gvmfenced. Memory is the host's. A kernel is known by
 * its name, and does what a fenced one does: an address becomes (address & mask) | base,
 * with the bounds of its module.
 *
 *     add_one(numbers, count)   numbers[i] = numbers[i] * 3 + i
 *     poke(address, value)      one store, anywhere, at the offset that its fenced text keeps
 *     spin()                    its stream never becomes empty
 *     fault()                   breaks the context: error 700 from then on
 *     parameters_256, _257(...)  so many parameters of 8 bytes; not to be launched
 *     bytes_4104(a, b)          a parameter of 4096 bytes and one of 8; not to be launched
 *     bytes_2004(a, b)          a parameter of 2000 bytes and one of 4; with bounds after them
 *                               it is refused unless zeros are in between: it could read them
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_calls.h"

#define FAKE __attribute__((visibility("default")))

enum kernel {
	ADD_ONE,
	POKE,
	SPIN,
	FAULT,
	PARAMETERS_256,
	PARAMETERS_257,
	BYTES_4104,
	BYTES_2004,
	KERNELS
};
static const char *const names[KERNELS] = { "add_one",	  "poke",	    "spin",
					    "fault",	  "parameters_256", "parameters_257",
					    "bytes_4104", "bytes_2004" };

struct CUfunc_st {
	struct CUmod_st *module;
	enum kernel kernel;
};

struct CUmod_st {
	bool fenced;
	/* Words of bounds after a kernel's own parameters: base, mask or size, and reciprocal. */
	size_t by_parameters;
	bool by_size;
	int local_bytes; /* of its kernel poke */
	long long kept;	 /* the offset after its last fenced address */
	unsigned long long bounds[16];
	bool counts;
	unsigned long long found[2];
	struct CUfunc_st functions[KERNELS];
};

struct CUstream_st {
	bool busy;
};

struct CUevent_st {
	struct CUstream_st *behind; /* a stream that was busy */
};

static bool broken;
static cu_ptr reserved, reserved_end; /* after them is what the driver has there */

/* With FAKE_CRASH it crashes, as a broken installation does. */
FAKE cu_result cuInit(unsigned int flags)
{
	if (getenv("FAKE_CRASH"))
		abort();
	return flags;
}

FAKE cu_result cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return ordinal ? 101 : CU_OK;
}

FAKE cu_result cuDeviceGetName(char *name, int length, int device)
{
	(void)device;
	snprintf(name, (size_t)length, "a GPU of the host's memory");
	return CU_OK;
}

FAKE cu_result cuDeviceGetAttribute(int *value, unsigned int attribute, int device)
{
	(void)device;
	*value = attribute == CU_DEVICE_MAJOR ? 9 : 0;
	return CU_OK;
}

FAKE cu_result cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	(void)device;
	*bytes = 1u << 30;
	return CU_OK;
}

FAKE cu_result cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
	(void)device;
	*context = (struct CUctx_st *)context;
	return CU_OK;
}

FAKE cu_result cuCtxSetCurrent(struct CUctx_st *context)
{
	(void)context;
	return CU_OK;
}

/* Memory. */

FAKE cu_result cuMemAddressReserve(cu_ptr *ptr, size_t bytes, size_t alignment, cu_ptr address,
				   unsigned long long flags)
{
	char *range = mmap(NULL, bytes + alignment, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*ptr = ((cu_ptr)(uintptr_t)range + alignment - 1) / alignment * alignment;
	reserved = *ptr;
	reserved_end = *ptr + bytes;
	return range == MAP_FAILED || address || flags ? CU_OUT_OF_MEMORY : CU_OK;
}

FAKE cu_result cuMemCreate(unsigned long long *handle, size_t bytes,
			   const struct CUmemAllocationProp_st *prop, unsigned long long flags)
{
	(void)prop, (void)flags;
	*handle = 1;
	return bytes > 1ull << 35 ? CU_OUT_OF_MEMORY : CU_OK;
}

FAKE cu_result cuMemMap(cu_ptr ptr, size_t bytes, size_t offset, unsigned long long handle,
			unsigned long long flags)
{
	(void)ptr, (void)bytes, (void)offset, (void)handle, (void)flags;
	return CU_OK;
}

FAKE cu_result cuMemSetAccess(cu_ptr ptr, size_t bytes, const struct CUmemAccessDesc_st *access,
			      size_t count)
{
	(void)ptr, (void)bytes, (void)access, (void)count;
	return CU_OK;
}

FAKE cu_result cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned int flags)
{
	(void)ptr, (void)bytes, (void)flags;
	return CU_OK;
}

FAKE cu_result cuMemHostUnregister(void *ptr)
{
	(void)ptr;
	return CU_OK;
}

static struct {
	unsigned char bytes[128];
	size_t count;
	cu_ptr to;
} staged; /* the copy that the default stream has not made yet */

static void make_staged_copy(void)
{
	if (staged.count)
		memcpy((void *)(uintptr_t)staged.to, staged.bytes, staged.count);
	staged.count = 0;
}

/*
 * With FAKE_STAGED a small copy of pageable memory is under way when this returns, as CUDA's
 * documents say of it ("API synchronization behavior"). Streams that do not wait for the default
 * stream may then run kernels in front of it.
 */
FAKE cu_result cuMemcpyHtoD_v2(cu_ptr to, const void *from, size_t bytes)
{
	if (bytes > sizeof(staged.bytes) || !getenv("FAKE_STAGED")) {
		memcpy((void *)(uintptr_t)to, from, bytes);
		return CU_OK;
	}
	make_staged_copy();
	memcpy(staged.bytes, from, bytes);
	staged.count = bytes;
	staged.to = to;
	return CU_OK;
}

FAKE cu_result cuMemcpyHtoDAsync_v2(cu_ptr to, const void *from, size_t bytes,
				    struct CUstream_st *stream)
{
	(void)stream;
	memcpy((void *)(uintptr_t)to, from, bytes);
	return CU_OK;
}

/* With FAKE_FULL it waits after a kernel, as where the stream's queue is full. */
FAKE cu_result cuMemcpyDtoHAsync_v2(void *to, cu_ptr from, size_t bytes,
				    struct CUstream_st *stream)
{
	while (stream->busy && getenv("FAKE_FULL"))
		usleep(1000);
	memcpy(to, (void *)(uintptr_t)from, bytes);
	return CU_OK;
}

FAKE cu_result cuMemcpyDtoDAsync_v2(cu_ptr to, cu_ptr from, size_t bytes,
				    struct CUstream_st *stream)
{
	(void)stream;
	memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
	return CU_OK;
}

FAKE cu_result cuMemsetD8Async(cu_ptr to, unsigned char value, size_t count,
			       struct CUstream_st *stream)
{
	(void)stream;
	/* What was never touched is not touched now. */
	if (!value && count > 1u << 20 && !(to % 4096) && !(count % 4096))
		madvise((void *)(uintptr_t)to, count, MADV_DONTNEED);
	else
		memset((void *)(uintptr_t)to, value, count);
	return CU_OK;
}

FAKE cu_result cuMemsetD32Async(cu_ptr to, unsigned int value, size_t count,
				struct CUstream_st *stream)
{
	(void)stream;
	for (size_t i = 0; i < count; i++)
		((unsigned int *)(uintptr_t)to)[i] = value;
	return CU_OK;
}

/* Code. */

FAKE cu_result cuModuleLoadDataEx(struct CUmod_st **module, const void *image,
				  unsigned int count, unsigned int *options, void **values)
{
	(void)count, (void)options, (void)values;
	*module = calloc(1, sizeof(**module));
	(*module)->by_size = strstr(image, ".param .u64 gvmf_size");
	if (strstr(image, ".param .u64 gvmf_base"))
		(*module)->by_parameters = strstr(image, ".param .u64 gvmf_reciprocal") ? 3 : 2;
	(*module)->fenced = (*module)->by_parameters || strstr(image, "gvmf_bounds");
	(*module)->counts = strstr(image, "gvmf_found");
	(*module)->local_bytes = strstr(image, ".maxnreg") ? 496 : 0;
	for (const char *at = image; (at = strstr(at, "[%gvmf_a+")); at++)
		(*module)->kept = strtoll(at + strlen("[%gvmf_a+"), NULL, 10);
	for (int i = 0; i < KERNELS; i++)
		(*module)->functions[i] = (struct CUfunc_st){ *module, (enum kernel)i };
	return CU_OK;
}

FAKE cu_result cuModuleUnload(struct CUmod_st *module)
{
	free(module);
	return CU_OK;
}

FAKE cu_result cuModuleGetGlobal_v2(cu_ptr *ptr, size_t *bytes, struct CUmod_st *module,
				    const char *name)
{
	if (!strcmp(name, "gvmf_found") && module->counts) {
		*ptr = (cu_ptr)(uintptr_t)module->found;
		*bytes = sizeof(module->found);
		return CU_OK;
	}
	if (module->by_parameters)
		return CU_SYMBOL_NOT_FOUND;
	*ptr = (cu_ptr)(uintptr_t)module->bounds;
	*bytes = sizeof(module->bounds);
	return strcmp(name, "gvmf_bounds") ? CU_SYMBOL_NOT_FOUND : CU_OK;
}

FAKE cu_result cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module,
				   const char *name)
{
	for (int i = 0; i < KERNELS; i++)
		if (!strcmp(name, names[i])) {
			*function = &module->functions[i];
			return CU_OK;
		}
	return CU_SYMBOL_NOT_FOUND;
}

FAKE cu_result cuFuncGetParamInfo(struct CUfunc_st *f, size_t index, size_t *offset,
				  size_t *size)
{
	static const size_t counts[KERNELS] = {
		[ADD_ONE] = 2,		[POKE] = 2,	  [PARAMETERS_256] = 256,
		[PARAMETERS_257] = 257, [BYTES_4104] = 2, [BYTES_2004] = 2,
	};
	size_t first = f->kernel == BYTES_4104 ? 4096 : f->kernel == BYTES_2004 ? 2000 : 8;
	bool last_is_short = f->kernel <= POKE || f->kernel == BYTES_2004;

	if (f->module->by_parameters && index >= counts[f->kernel] &&
	    index < counts[f->kernel] + f->module->by_parameters) {
		*offset = index ? first + 8 * (index - 1) : 0;
		*size = 8;
		return CU_OK;
	}
	if (index >= counts[f->kernel])
		return CU_INVALID_VALUE;
	*offset = index ? first + 8 * (index - 1) : 0;
	*size = !index ? first : last_is_short ? 4 : 8;
	return CU_OK;
}

FAKE cu_result cuFuncSetAttribute(struct CUfunc_st *function, unsigned int attribute, int value)
{
	(void)function, (void)attribute, (void)value;
	return CU_OK;
}

FAKE cu_result cuFuncGetAttribute(int *value, unsigned int attribute,
				  struct CUfunc_st *function)
{
	if (attribute == 3 && strstr(names[function->kernel], "poke"))
		*value = function->module->local_bytes;
	else
		*value = attribute == 3 ? 16 : 1024;
	return CU_OK;
}

/* Where a store of 4 bytes of this module goes. */
static unsigned int *fenced(struct CUmod_st *module, cu_ptr address)
{
	const unsigned long long *bounds = module->bounds;
	cu_ptr wanted = address;

	static unsigned int elsewhere;

	if (module->fenced)
		address = ((address & bounds[8 + 2]) | bounds[0]) + (cu_ptr)module->kept;
	if (module->counts && address != wanted) {
		module->found[0]++;
		module->found[1] = wanted;
	}
	if (address >= reserved && address < reserved_end)
		return (unsigned int *)(uintptr_t)address;
	fprintf(stderr, "fake GPU: a store outside of all reserved addresses\n");
	return &elsewhere;
}

/* After two parameters, at the next multiple of 8. False: they are something else. */
static bool take_bounds(struct CUmod_st *module, const unsigned char *bytes, size_t size)
{
	unsigned long long words[3] = { 0 };

	if (size != 16 + 8 * module->by_parameters)
		return false;
	memcpy(words, bytes + 16, 8 * module->by_parameters);
	module->bounds[0] = words[0];
	module->bounds[8 + 2] = (module->by_size ? words[1] - 1 : words[1]) & ~3ull;
	/* patch_bounds_set(): floor((2^64 - 1) / size) */
	return module->by_parameters < 3 || words[2] == ~0ull / words[1];
}

FAKE cu_result cuLaunchKernel(struct CUfunc_st *f, unsigned int gx, unsigned int gy,
			      unsigned int gz, unsigned int bx, unsigned int by,
			      unsigned int bz, unsigned int shared, struct CUstream_st *stream,
			      void **parameters, void **extra)
{
	const unsigned char *bytes = extra ? extra[1] : NULL;
	cu_ptr address = 0;
	unsigned int value = 0;

	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
	if (parameters || (f->kernel <= POKE && !bytes))
		return CU_INVALID_VALUE;
	if (bytes) {
		memcpy(&address, bytes, 8);
		memcpy(&value, bytes + 8, 4);
	}
	if (f->kernel == BYTES_2004)
		return bytes && !memcmp(bytes + 2004, "\0\0\0", 4) ? CU_OK : CU_INVALID_VALUE;
	if (f->module->by_parameters && bytes &&
	    !take_bounds(f->module, bytes, *(const size_t *)extra[3]))
		return CU_INVALID_VALUE;
	if (f->kernel == ADD_ONE)
		for (unsigned int i = 0; i < value; i++) {
			unsigned int *at = fenced(f->module, address + 4 * i);

			*at = *at * 3 + i;
		}
	else if (f->kernel == POKE)
		*fenced(f->module, address) = value;
	stream->busy |= f->kernel == SPIN;
	broken |= f->kernel == FAULT;
	return CU_OK;
}

/* Streams and events. */

FAKE cu_result cuStreamCreate(struct CUstream_st **stream, unsigned int flags)
{
	(void)flags;
	*stream = calloc(1, sizeof(**stream));
	return CU_OK;
}

FAKE cu_result cuStreamDestroy_v2(struct CUstream_st *stream)
{
	free(stream);
	return CU_OK;
}

FAKE cu_result cuStreamQuery(struct CUstream_st *stream)
{
	return broken ? 700 : stream->busy ? CU_NOT_READY : CU_OK;
}

FAKE cu_result cuStreamSynchronize(struct CUstream_st *stream)
{
	if (!stream)
		make_staged_copy();
	while (stream && stream->busy)
		usleep(1000);
	return broken ? 700 : CU_OK;
}

FAKE cu_result cuStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event,
				 unsigned int flags)
{
	(void)stream, (void)event;
	return flags;
}

FAKE cu_result cuEventCreate(struct CUevent_st **event, unsigned int flags)
{
	(void)flags;
	*event = calloc(1, sizeof(**event));
	return CU_OK;
}

FAKE cu_result cuEventDestroy_v2(struct CUevent_st *event)
{
	free(event);
	return CU_OK;
}

FAKE cu_result cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream)
{
	event->behind = stream->busy ? stream : NULL;
	return CU_OK;
}

FAKE cu_result cuEventQuery(struct CUevent_st *event)
{
	return event->behind ? CU_NOT_READY : CU_OK;
}

FAKE cu_result cuEventSynchronize(struct CUevent_st *event)
{
	return event->behind ? CU_NOT_READY : CU_OK;
}

FAKE cu_result cuEventElapsedTime(float *ms, struct CUevent_st *start, struct CUevent_st *end)
{
	(void)start, (void)end;
	*ms = 1.5f;
	return CU_OK;
}
