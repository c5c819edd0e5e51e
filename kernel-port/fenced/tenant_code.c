// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A tenant's code. Each module is patched and verified here, whatever the client says of it,
 * and its bounds are written before any kernel of it can be launched (Guardian 4.2.3 and 4.3).
 * The client gets numbers, and never the address of a variable.
 */
#include "tenant_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code_load.h"
#include "confine.h"
#include "sample.h"
#include "watch.h"

/* What the patcher calls the modes of the table; the core has two more. */
static bool patch_mode_of(enum gvm_fence_mode mode, enum patch_mode *ret_mode)
{
	switch (mode) {
	case GVM_FENCE_MASK:
		*ret_mode = PATCH_FENCE;
		return true;
	case GVM_FENCE_ONCE:
		*ret_mode = PATCH_ONCE;
		return true;
	case GVM_FENCE_4G:
		*ret_mode = PATCH_4G;
		return true;
	case GVM_FENCE_CHECK:
		*ret_mode = PATCH_CHECK;
		return true;
	case GVM_FENCE_MODULO:
		*ret_mode = PATCH_MODULO;
		return true;
	case GVM_FENCE_COUNT:
		*ret_mode = PATCH_COUNT;
		return true;
	case GVM_FENCE_NONE:
	case GVM_FENCE_NOPROT:
	case GVM_FENCE_MODES:
		break;
	}
	return false;
}

cu_result tenant_load(struct tenant *tenant, u64 bytes, u64 *ret_module)
{
	/*
	 * Partitions of 4g have no margins here: an offset that stayed would lead to a
	 * neighbour's data.
	 */
	struct patch_options options = { .pass = PATCH_CONST,
					 .full = PATCH_FULL_PARAMS,
					 .margin = tenant->margin };
	struct sim_error err = { "" };
	struct confined confined;
	struct CUmod_st *module;
	cu_result result;
	u32 slot = 0, words = 0;
	char *text;

	while (slot < TENANT_MODULES && tenant->modules[slot])
		slot++;
	if (slot == TENANT_MODULES || bytes > tenant->window_bytes)
		return CU_OUT_OF_MEMORY;
	/* A copy: the client could change the window after the proof. */
	text = malloc(bytes + 1);
	if (!text)
		return CU_OUT_OF_MEMORY;
	memcpy(text, tenant->window, bytes);
	text[bytes] = '\0';
	if (!patch_mode_of(tenant->mode, &options.mode)) {
		result = tenant->gpu->cuda.cuModuleLoadDataEx(&module, text, 0, NULL, NULL);
	} else if (confine_text("module", text, strlen(text), &options, &confined, &err)) {
		fprintf(stderr, "gvmfenced: client %llu: refused: %s\n", tenant->id, err.text);
		result = CU_INVALID_PTX;
	} else {
		result = code_load(tenant, &confined, &module);
		words = code_parameters(tenant, &confined, tenant->bounds);
		confined_destroy(&confined);
	}
	if (result == CU_OK && words)
		fprintf(stderr,
			"gvmfenced: client %llu: a module's bounds are parameters, since its "
			"constants are full\n",
			tenant->id);
	else if (result == CU_OK)
		sample_keep(tenant, slot, text);
	free(text);
	tenant->refused += result == CU_INVALID_PTX;
	if (result != CU_OK)
		return result;
	tenant->modules[slot] = module;
	tenant->bounds_words[slot] = (u8)words;
	*ret_module = slot;
	return CU_OK;
}

static void forget_function(struct tenant_function *function)
{
	free(function->name);
	function->name = NULL;
	function->function = function->counted = NULL;
}

cu_result tenant_unload(struct tenant *tenant, u64 module)
{
	if (module >= TENANT_MODULES || !tenant->modules[module])
		return CU_INVALID_VALUE;
	for (u32 i = 0; i < tenant->function_count; i++)
		if (tenant->functions[i]->module == module)
			forget_function(tenant->functions[i]);
	sample_forget(tenant, (u32)module);
	tenant->gpu->cuda.cuModuleUnload(tenant->modules[module]);
	tenant->modules[module] = NULL;
	return CU_OK;
}

void tenant_unload_all(struct tenant *tenant)
{
	for (u32 i = 0; i < TENANT_MODULES; i++)
		if (tenant->modules[i])
			tenant->gpu->cuda.cuModuleUnload(tenant->modules[i]);
	for (u32 i = 0; i < tenant->function_count; i++) {
		free(tenant->functions[i]->name);
		free(tenant->functions[i]);
	}
}

/*
 * A place for a function of the driver's: the one it has already, one of an unloaded module, or
 * a new one. TENANT_FUNCTIONS: there is none.
 */
static u32 find_place(const struct tenant *tenant, const struct CUfunc_st *driver_function)
{
	u32 place = tenant->function_count;

	for (u32 i = 0; i < tenant->function_count; i++) {
		if (tenant->functions[i]->function == driver_function)
			return i;
		if (!tenant->functions[i]->function)
			place = i;
	}
	return place;
}

/*
 * Where bounds stand in the parameters of @driver_function: they are the last ones, as the verifier
 * has proven, so at the next multiple of 8 after the others. *ret_own: how many others there are.
 * False: the driver says something else.
 */
static bool find_bounds(const struct tenant *tenant, struct CUfunc_st *driver_function,
			struct tenant_function *function, u32 *ret_own)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	u32 words = tenant->bounds_words[function->module], count = 0;
	size_t offset, size, end = 0;

	while (count <= FENCED_PARAMS_MAX + TENANT_BOUNDS &&
	       cuda->cuFuncGetParamInfo(driver_function, count, &offset, &size) == CU_OK)
		count++;
	if (count < words)
		return false;
	*ret_own = count - words;
	if (*ret_own &&
	    cuda->cuFuncGetParamInfo(driver_function, *ret_own - 1, &offset, &size) == CU_OK)
		end = offset + size;
	function->bounds_at = (u32)((end + 7) / 8 * 8);
	for (u32 i = 0; i < words; i++)
		if (cuda->cuFuncGetParamInfo(driver_function, *ret_own + i, &offset, &size) !=
			    CU_OK ||
		    size != 8 || offset != function->bounds_at + 8 * i)
			return false;
	return true;
}

/*
 * The places and sizes of @driver_function's parameters, without bounds after them. False: there
 * are more than a message has room for; said in one line.
 */
static bool read_parameters(const struct tenant *tenant, struct CUfunc_st *driver_function,
			    const char *name, struct tenant_function *function)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	u32 own = UINT32_MAX;
	size_t offset, size, bytes = 0;

	if (tenant->bounds_words[function->module] &&
	    !find_bounds(tenant, driver_function, function, &own)) {
		fprintf(stderr,
			"gvmfenced: client %llu: refused: the driver has no bounds after the "
			"parameters of kernel %.200s\n",
			tenant->id, name);
		return false;
	}
	while (function->count < own &&
	       cuda->cuFuncGetParamInfo(driver_function, function->count, &offset, &size) ==
		       CU_OK) {
		if (function->count == FENCED_PARAMS_MAX) {
			fprintf(stderr,
				"gvmfenced: client %llu: refused: kernel %.200s has more than "
				"%u parameters\n",
				tenant->id, name, FENCED_PARAMS_MAX);
			return false;
		}
		function->offsets[function->count] = (u32)offset;
		function->sizes[function->count++] = (u32)size;
		bytes = offset + size;
	}
	function->bytes = (u32)bytes;
	if (bytes > FENCED_DATA_MAX)
		fprintf(stderr,
			"gvmfenced: client %llu: refused: kernel %.200s has parameters of more "
			"than %u bytes\n",
			tenant->id, name, FENCED_DATA_MAX);
	return bytes <= FENCED_DATA_MAX;
}

cu_result tenant_function(struct tenant *tenant, const struct fenced_request *request,
			  struct fenced_reply *reply)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	struct tenant_function made = { .module = (u32)request->a };
	struct tenant_function *function;
	char name[FENCED_DATA_MAX + 1];
	u32 *out = (u32 *)reply->data;
	cu_result result;
	u32 place;

	if (request->a >= TENANT_MODULES || !tenant->modules[request->a])
		return CU_INVALID_VALUE;
	memcpy(name, request->data, request->bytes);
	name[request->bytes] = '\0';
	result = cuda->cuModuleGetFunction(&made.function, tenant->modules[request->a], name);
	if (result != CU_OK)
		return result;
	if (!read_parameters(tenant, made.function, name, &made)) {
		tenant->refused++;
		return CU_NOT_SUPPORTED;
	}
	place = find_place(tenant, made.function);
	if (place == TENANT_FUNCTIONS)
		return CU_OUT_OF_MEMORY;
	if (place == tenant->function_count) {
		function = malloc(sizeof(*function));
		if (!function)
			return CU_OUT_OF_MEMORY;
		tenant->functions[tenant->function_count++] = function;
	} else {
		function = tenant->functions[place];
		/* The same one again keeps its copy, and the attributes of both. */
		if (function->function) {
			made.counted = function->counted;
			made.attributes_set = function->attributes_set;
			memcpy(made.attributes, function->attributes, sizeof(made.attributes));
		}
		free(function->name);
	}
	made.name = tenant->sample.on ? strdup(name) : NULL;
	*function = made;
	out[0] = function->count;
	for (u32 i = 0; i < function->count; i++) {
		out[1 + 2 * i] = function->offsets[i];
		out[2 + 2 * i] = function->sizes[i];
	}
	reply->bytes = 4 + 8 * function->count;
	reply->a = place;
	return CU_OK;
}

struct tenant_function *tenant_function_of(struct tenant *tenant, u64 number)
{
	if (number >= tenant->function_count || !tenant->functions[number]->function)
		return NULL;
	return tenant->functions[number];
}

/*
 * Queue a mark after the launch if none is outstanding: so the watch costs little. If the watch
 * waits for an empty stream, a mark takes its place: a client that launches on and on has no
 * empty stream.
 */
static void mark(const struct gpu_cuda *cuda, struct tenant_stream *stream)
{
	if (stream->marked_ns && !stream->whole) {
		stream->more = true;
	} else if (cuda->cuEventRecord(stream->mark, stream->stream) == CU_OK) {
		stream->whole = false;
		stream->marked_ns = watch_now_ns();
	}
}

cu_result tenant_launch(struct tenant *tenant, const struct fenced_request *request)
{
	struct tenant_function *function = tenant_function_of(tenant, request->a);
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	struct tenant_stream *stream = &tenant->streams[request->stream];
	u8 data[FENCED_DATA_MAX + 8 + 8 * TENANT_BOUNDS];
	size_t bytes = request->bytes;
	void *extra[] = { CU_EXTRA_BUFFER, (void *)(uintptr_t)request->data, CU_EXTRA_SIZE,
			  &bytes, NULL };
	struct CUfunc_st *picked;
	cu_result result;
	bool counted;
	u32 words;

	if (!function || request->bytes != function->bytes)
		return CU_INVALID_VALUE;
	words = tenant->bounds_words[function->module];
	if (words) {
		memcpy(data, request->data, bytes);
		/* A kernel can read what is between them: none of our stack. */
		memset(data + bytes, 0, function->bounds_at - bytes);
		memcpy(data + function->bounds_at, tenant->bounds, 8 * words);
		bytes = function->bounds_at + 8 * words;
		extra[1] = data;
	}
	picked = sample_pick(tenant, function, &counted);
	result = cuda->cuLaunchKernel(picked, request->grid[0], request->grid[1],
				      request->grid[2], request->block[0], request->block[1],
				      request->block[2], request->shared, stream->stream, NULL,
				      bytes ? extra : NULL);
	if (result == CU_OK) {
		tenant->launches++;
		mark(cuda, stream);
		if (counted)
			sample_launched(tenant, function, stream->stream);
	}
	return result;
}
