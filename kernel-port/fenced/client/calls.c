// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * libgvmfence_client.so: a part of CUDA's driver library, carried out by gvmfenced.
 * Programs that use the driver library find it as libcuda.so.1 (LD_LIBRARY_PATH). There is
 * one GPU and one context.
 *
 * Copies wait until they are done, also those that CUDA calls asynchronous. Launches and events
 * do not wait: their failures are the result of a later call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "fatbin.h"

#define CALL	__attribute__((visibility("default")))
#define VERSION 13000

struct CUctx_st {
	int unused;
};

/* Objects of the manager by their numbers there. */
struct CUmod_st {
	u64 number;
};

struct CUstream_st {
	u32 number;
};

struct CUevent_st {
	u64 number;
};

struct CUfunc_st {
	u64 number;
	u32 count, bytes;
	u32 offsets[FENCED_PARAMS_MAX], sizes[FENCED_PARAMS_MAX];
};

static struct CUctx_st the_context;
static __thread struct CUctx_st *current;

/* A request without bytes. */
static cu_result simple(struct fenced_request request, u64 *ret_value)
{
	struct fenced_reply reply;
	cu_result result = connection_call(&request, NULL, 0, NULL, 0, &reply);

	if (result == CU_OK && ret_value)
		*ret_value = reply.a;
	return result;
}

static u32 stream_number(struct CUstream_st *stream)
{
	return !stream || stream == CU_LEGACY || stream == CU_PER_THREAD ? 0 : stream->number;
}

/* The device and the context. */

CALL cu_result cuInit(unsigned int flags)
{
	return flags ? CU_INVALID_VALUE : connection_open();
}

CALL cu_result cuDriverGetVersion(int *version)
{
	*version = VERSION;
	return CU_OK;
}

CALL cu_result cuDeviceGetCount(int *count)
{
	*count = 1;
	return CU_OK;
}

CALL cu_result cuDeviceGet(int *device, int ordinal)
{
	*device = 0;
	return ordinal ? CU_INVALID_VALUE : CU_OK;
}

CALL cu_result cuDeviceGetName(char *name, int length, int device)
{
	struct fenced_request request = { .call = FENCED_NAME };
	struct fenced_reply reply;
	cu_result result = connection_call(&request, NULL, 0, NULL, 0, &reply);

	(void)device;
	if (result == CU_OK && length > 0)
		snprintf(name, (size_t)length, "%.*s", (int)reply.bytes, (char *)reply.data);
	return result;
}

CALL cu_result cuDeviceGetAttribute(int *value, unsigned int attribute, int device)
{
	u64 number = 0;
	cu_result result = simple(
		(struct fenced_request){ .call = FENCED_ATTRIBUTE, .a = attribute }, &number);

	(void)device;
	*value = (int)number;
	return result;
}

CALL cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	struct fenced_request request = { .call = FENCED_MEMORY };
	struct fenced_reply reply;
	cu_result result = connection_call(&request, NULL, 0, NULL, 0, &reply);

	if (result == CU_OK) {
		*free_bytes = reply.a;
		*total = reply.b;
	}
	return result;
}

CALL cu_result cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	size_t unused;

	(void)device;
	return cuMemGetInfo_v2(&unused, bytes);
}

CALL cu_result cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
	*context = &the_context;
	return device ? CU_INVALID_VALUE : CU_OK;
}

CALL cu_result cuDevicePrimaryCtxRelease_v2(int device)
{
	return device ? CU_INVALID_VALUE : CU_OK;
}

CALL cu_result cuCtxSetCurrent(struct CUctx_st *context)
{
	current = context;
	return CU_OK;
}

CALL cu_result cuCtxGetCurrent(struct CUctx_st **context)
{
	*context = current;
	return CU_OK;
}

CALL cu_result cuCtxGetDevice(int *device)
{
	*device = 0;
	return CU_OK;
}

CALL cu_result cuCtxCreate_v2(struct CUctx_st **context, unsigned int flags, int device)
{
	(void)flags;
	*context = current = &the_context;
	return device ? CU_INVALID_VALUE : CU_OK;
}

CALL cu_result cuCtxDestroy_v2(struct CUctx_st *context)
{
	(void)context;
	current = NULL;
	return CU_OK;
}

CALL cu_result cuCtxSynchronize(void)
{
	return simple((struct fenced_request){ .call = FENCED_WAIT }, NULL);
}

/* Memory. */

CALL cu_result cuMemAlloc_v2(cu_ptr *ptr, size_t bytes)
{
	u64 address = 0;
	cu_result result =
		simple((struct fenced_request){ .call = FENCED_ALLOC, .a = bytes }, &address);

	*ptr = address;
	return result;
}

CALL cu_result cuMemFree_v2(cu_ptr ptr)
{
	return ptr ? simple((struct fenced_request){ .call = FENCED_FREE, .a = ptr }, NULL) :
		     CU_OK;
}

/* Copies larger than the window go in pieces, one way: @in or @out is NULL. */
static cu_result copy_pieces(cu_ptr device, const char *in, char *out, size_t bytes,
			     struct CUstream_st *stream)
{
	cu_result result = CU_OK;

	for (size_t at = 0; at < bytes && result == CU_OK; at += FENCED_WINDOW) {
		size_t piece = bytes - at < FENCED_WINDOW ? bytes - at : FENCED_WINDOW;
		struct fenced_request request = { .call = in ? FENCED_COPY_IN : FENCED_COPY_OUT,
						  .stream = stream_number(stream),
						  .a = device + at,
						  .b = piece };

		result = connection_call(&request, in ? in + at : NULL, piece,
					 out ? out + at : NULL, piece, NULL);
	}
	return result;
}

CALL cu_result cuMemcpyHtoDAsync_v2(cu_ptr to, const void *from, size_t bytes,
				    struct CUstream_st *stream)
{
	return copy_pieces(to, from, NULL, bytes, stream);
}

CALL cu_result cuMemcpyDtoHAsync_v2(void *to, cu_ptr from, size_t bytes,
				    struct CUstream_st *stream)
{
	return copy_pieces(from, NULL, to, bytes, stream);
}

CALL cu_result cuMemcpyDtoDAsync_v2(cu_ptr to, cu_ptr from, size_t bytes,
				    struct CUstream_st *stream)
{
	return simple((struct fenced_request){ .call = FENCED_COPY,
					       .stream = stream_number(stream),
					       .a = to,
					       .b = bytes,
					       .c = from },
		      NULL);
}

/* @count numbers of @width bytes. */
static cu_result set(cu_ptr to, u32 value, u32 width, size_t count, struct CUstream_st *stream)
{
	return simple((struct fenced_request){ .call = FENCED_SET,
					       .stream = stream_number(stream),
					       .a = to,
					       .b = count,
					       .c = value,
					       .d = width },
		      NULL);
}

CALL cu_result cuMemsetD8Async(cu_ptr to, unsigned char value, size_t count,
			       struct CUstream_st *stream)
{
	return set(to, value, 1, count, stream);
}

CALL cu_result cuMemsetD32Async(cu_ptr to, unsigned int value, size_t count,
				struct CUstream_st *stream)
{
	return set(to, value, 4, count, stream);
}

/* The default stream waits for the others first, as CUDA's does. */
CALL cu_result cuMemcpyHtoD_v2(cu_ptr to, const void *from, size_t bytes)
{
	cu_result result = cuCtxSynchronize();

	return result == CU_OK ? cuMemcpyHtoDAsync_v2(to, from, bytes, NULL) : result;
}

CALL cu_result cuMemcpyDtoH_v2(void *to, cu_ptr from, size_t bytes)
{
	cu_result result = cuCtxSynchronize();

	return result == CU_OK ? cuMemcpyDtoHAsync_v2(to, from, bytes, NULL) : result;
}

CALL cu_result cuMemcpyDtoD_v2(cu_ptr to, cu_ptr from, size_t bytes)
{
	cu_result result = cuCtxSynchronize();

	return result == CU_OK ? cuMemcpyDtoDAsync_v2(to, from, bytes, NULL) : result;
}

CALL cu_result cuMemsetD8_v2(cu_ptr to, unsigned char value, size_t count)
{
	cu_result result = cuCtxSynchronize();

	return result == CU_OK ? cuMemsetD8Async(to, value, count, NULL) : result;
}

CALL cu_result cuMemsetD32_v2(cu_ptr to, unsigned int value, size_t count)
{
	cu_result result = cuCtxSynchronize();

	return result == CU_OK ? cuMemsetD32Async(to, value, count, NULL) : result;
}

/* Code. */

CALL cu_result cuModuleLoadDataEx(struct CUmod_st **module, const void *image,
				  unsigned int count, unsigned int *options, void **values)
{
	struct fenced_request request = { .call = FENCED_LOAD };
	struct fenced_reply reply;
	struct fatbin_text text;
	int major = 0, minor = 0;
	cu_result result;

	(void)count, (void)options, (void)values;
	cuDeviceGetAttribute(&major, CU_DEVICE_MAJOR, 0);
	cuDeviceGetAttribute(&minor, CU_DEVICE_MINOR, 0);
	if (fatbin_text(image, FATBIN_MEMORY, (unsigned int)(10 * major + minor), &text) !=
	    FATBIN_PTX) {
		fprintf(stderr, "gvmfence_client: a module is refused: %s\n", text.why);
		return CU_NO_BINARY;
	}
	*module = text.size < FENCED_WINDOW ? calloc(1, sizeof(**module)) : NULL;
	if (!*module) {
		free(text.copy);
		return CU_OUT_OF_MEMORY;
	}
	request.a = text.size;
	result = connection_call(&request, text.bytes, text.size, NULL, 0, &reply);
	free(text.copy);
	if (result == CU_OK)
		(*module)->number = reply.a;
	else
		free(*module);
	return result;
}

CALL cu_result cuModuleLoadData(struct CUmod_st **module, const void *image)
{
	return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CALL cu_result cuModuleLoadFatBinary(struct CUmod_st **module, const void *image)
{
	return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CALL cu_result cuModuleUnload(struct CUmod_st *module)
{
	cu_result result = simple(
		(struct fenced_request){ .call = FENCED_UNLOAD, .a = module->number }, NULL);

	free(module);
	return result;
}

/* Functions stay until the process ends, as small as they are. */
CALL cu_result cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module,
				   const char *name)
{
	struct fenced_request request = { .call = FENCED_FUNCTION, .a = module->number };
	struct fenced_reply reply;
	const u32 *in = (const u32 *)reply.data;
	struct CUfunc_st *made;
	cu_result result;

	if (strlen(name) > FENCED_DATA_MAX)
		return CU_INVALID_VALUE;
	request.bytes = (u32)strlen(name);
	memcpy(request.data, name, request.bytes);
	result = connection_call(&request, NULL, 0, NULL, 0, &reply);
	if (result != CU_OK)
		return result;
	made = calloc(1, sizeof(*made));
	if (!made || in[0] > FENCED_PARAMS_MAX) {
		free(made);
		return CU_OUT_OF_MEMORY;
	}
	made->number = reply.a;
	made->count = in[0];
	for (u32 i = 0; i < in[0]; i++) {
		made->offsets[i] = in[1 + 2 * i];
		made->sizes[i] = in[2 + 2 * i];
		made->bytes = made->offsets[i] + made->sizes[i];
	}
	*function = made;
	return CU_OK;
}

CALL cu_result cuFuncSetAttribute(struct CUfunc_st *function, unsigned int attribute, int value)
{
	return simple((struct fenced_request){ .call = FENCED_FUNCTION_SET,
					       .a = function->number,
					       .b = attribute,
					       .c = (u32)value },
		      NULL);
}

CALL cu_result cuFuncGetAttribute(int *value, unsigned int attribute,
				  struct CUfunc_st *function)
{
	u64 number = 0;
	cu_result result = simple((struct fenced_request){ .call = FENCED_FUNCTION_GET,
							   .a = function->number,
							   .b = attribute },
				  &number);

	*value = (int)number;
	return result;
}

CALL cu_result cuLaunchKernel(struct CUfunc_st *function, unsigned int gx, unsigned int gy,
			      unsigned int gz, unsigned int bx, unsigned int by,
			      unsigned int bz, unsigned int shared, struct CUstream_st *stream,
			      void **parameters, void **extra)
{
	struct fenced_request request = { .call = FENCED_LAUNCH,
					  .stream = stream_number(stream),
					  .a = function->number,
					  .grid = { gx, gy, gz },
					  .block = { bx, by, bz },
					  .shared = shared,
					  .bytes = function->bytes };

	if (function->bytes > FENCED_DATA_MAX)
		return CU_INVALID_VALUE;
	for (u32 i = 0; parameters && i < function->count; i++)
		memcpy(request.data + function->offsets[i], parameters[i], function->sizes[i]);
	for (; !parameters && extra && *extra; extra += 2) {
		if (*extra == CU_EXTRA_BUFFER)
			memcpy(request.data, extra[1], function->bytes);
		else if (*extra == CU_EXTRA_SIZE && *(size_t *)extra[1] < function->bytes)
			return CU_INVALID_VALUE;
	}
	return connection_call(&request, NULL, 0, NULL, 0, NULL);
}

/* Streams and events. */

CALL cu_result cuStreamCreate(struct CUstream_st **stream, unsigned int flags)
{
	u64 number = 0;
	cu_result result =
		simple((struct fenced_request){ .call = FENCED_STREAM_CREATE }, &number);

	(void)flags;
	*stream = result == CU_OK ? calloc(1, sizeof(**stream)) : NULL;
	if (*stream)
		(*stream)->number = (u32)number;
	return result == CU_OK && !*stream ? CU_OUT_OF_MEMORY : result;
}

/* A request about a stream alone. */
static cu_result stream_call(struct CUstream_st *stream, enum fenced_call call)
{
	return simple((struct fenced_request){ .call = call, .stream = stream_number(stream) },
		      NULL);
}

CALL cu_result cuStreamDestroy_v2(struct CUstream_st *stream)
{
	cu_result result = stream_call(stream, FENCED_STREAM_DESTROY);

	if (result == CU_OK)
		free(stream);
	return result;
}

CALL cu_result cuStreamQuery(struct CUstream_st *stream)
{
	return stream_call(stream, FENCED_STREAM_QUERY);
}

CALL cu_result cuStreamSynchronize(struct CUstream_st *stream)
{
	return stream_call(stream, FENCED_STREAM_WAIT);
}

CALL cu_result cuStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event,
				 unsigned int flags)
{
	struct fenced_request request = { .call = FENCED_STREAM_EVENT,
					  .stream = stream_number(stream),
					  .a = event->number };

	return flags ? CU_NOT_SUPPORTED : connection_call(&request, NULL, 0, NULL, 0, NULL);
}

CALL cu_result cuEventCreate(struct CUevent_st **event, unsigned int flags)
{
	u64 number = 0;
	cu_result result = simple(
		(struct fenced_request){ .call = FENCED_EVENT_CREATE, .a = flags }, &number);

	*event = result == CU_OK ? calloc(1, sizeof(**event)) : NULL;
	if (*event)
		(*event)->number = number;
	return result == CU_OK && !*event ? CU_OUT_OF_MEMORY : result;
}

CALL cu_result cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream)
{
	struct fenced_request request = { .call = FENCED_EVENT_RECORD,
					  .stream = stream_number(stream),
					  .a = event->number };

	return connection_call(&request, NULL, 0, NULL, 0, NULL);
}

static cu_result event_call(struct CUevent_st *event, enum fenced_call call)
{
	return simple((struct fenced_request){ .call = call, .a = event->number }, NULL);
}

CALL cu_result cuEventQuery(struct CUevent_st *event)
{
	return event_call(event, FENCED_EVENT_QUERY);
}

CALL cu_result cuEventSynchronize(struct CUevent_st *event)
{
	return event_call(event, FENCED_EVENT_WAIT);
}

CALL cu_result cuEventDestroy_v2(struct CUevent_st *event)
{
	cu_result result = event_call(event, FENCED_EVENT_DESTROY);

	free(event);
	return result;
}

CALL cu_result cuEventElapsedTime(float *ms, struct CUevent_st *start, struct CUevent_st *end)
{
	u64 number = 0;
	cu_result result = simple((struct fenced_request){ .call = FENCED_EVENT_TIME,
							   .a = start->number,
							   .b = end->number },
				  &number);
	u32 bits = (u32)number;

	memcpy(ms, &bits, sizeof(*ms));
	return result;
}
