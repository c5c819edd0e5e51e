// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reads a Chrome trace of torch.profiler; see torch_trace.h. */
#include "import/torch_trace.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "config/json_read.h"
#include "engine/error.h"
#include "gvm/port.h"

#define READ_AT_ONCE   (1u << 20)
#define LAUNCH_KEY_MAX 8192

/* A trace while it is read. */
struct reading {
	const char *path;
	json_t *root;
	json_t *bytes; /* by launch_key() of a kernel */
	u64 base_ns;   /* of all dates */
	s64 device;    /* of the first kernel; -1: none yet */
	struct torch_trace *trace;
	struct sim_error *err;
};

/*
 * Parts of the names of kernels of products: cuBLAS, CUTLASS, cuDNN, FlashAttention and PyTorch.
 * Lower case.
 */
static const char *const product_names[] = {
	"gemm",	 "nvjet", "cutlass", "xmma", "convolve",  "winograd", "wgrad",	"dgrad",
	"fprop", "flash", "fmha",    "sdpa", "attention", "gemv",     "matmul", "dot_kernel",
};

/* Likewise of kernels that gather: PyTorch's for embedding, index_select, gather and indexing. */
static const char *const gather_names[] = {
	"embeddingbag",
	"indexselect",
	"index_elementwise",
	"gather",
};

static const char *const waiting_calls[] = {
	"cudaStreamSynchronize",
	"cudaDeviceSynchronize",
	"cudaEventSynchronize",
	"cuStreamSynchronize",
	"cuCtxSynchronize",
	"cuEventSynchronize",
	"cudaMemcpy",
};

static int out_of_memory(const char *path, struct sim_error *err)
{
	return sim_runtime_error(err, "%s: out of memory", path);
}

/* Report a file that cannot be read; gzerror()'s text would repeat the path. */
static int read_problem(gzFile file, const char *path, struct sim_error *err)
{
	int code;

	gzerror(file, &code);
	if (code == Z_MEM_ERROR)
		return out_of_memory(path, err);
	return sim_user_error(err, "%s: cannot read: %s", path,
			      code == Z_ERRNO ? strerror(errno) :
						"its compressed data is damaged");
}

/*
 * The whole text of a file, plain or compressed. Returns 0, and the caller frees *ret_text, or a
 * negative enum sim_exit.
 */
static int read_text(const char *path, char **ret_text, size_t *ret_size, struct sim_error *err)
{
	gzFile file;
	size_t size = 0, room = 0;
	char *text = NULL;
	int got = 0, status = 0;

	errno = 0; /* gzopen() leaves it alone where it has no memory */
	file = gzopen(path, "rb");
	if (!file)
		return errno ? sim_user_error(err, "%s: cannot read: %s", path,
					      strerror(errno)) :
			       out_of_memory(path, err);
	do {
		if (room - size < READ_AT_ONCE) {
			char *more = realloc(text, room = 2 * room + READ_AT_ONCE);

			if (!more)
				break;
			text = more;
		}
		got = gzread(file, text + size, READ_AT_ONCE);
		size += got > 0 ? (size_t)got : 0;
	} while (got > 0 && size <= TORCH_TRACE_MAX);
	if (got < 0)
		status = read_problem(file, path, err);
	else if (got > 0 && size > TORCH_TRACE_MAX)
		status = sim_user_error(err, "%s: is longer than 512 MiB, record fewer steps",
					path);
	else if (got > 0 || !text)
		status = out_of_memory(path, err);
	gzclose(file);
	if (status) {
		free(text);
		return status;
	}
	*ret_text = text;
	*ret_size = size;
	return 0;
}

/* Parse the file. Returns 0 or a negative enum sim_exit. */
static int read_root(struct reading *reading)
{
	json_error_t bad;
	size_t size = 0;
	char *text = NULL;
	int status = read_text(reading->path, &text, &size, reading->err);

	if (status)
		return status;
	reading->root = cfg_json_parse(text, size, &bad);
	free(text);
	if (!reading->root && !*bad.text)
		return out_of_memory(reading->path, reading->err);
	if (!reading->root)
		return sim_user_error(reading->err, "%s:%d: is no JSON: %s", reading->path,
				      bad.line, bad.text);
	if (json_is_array(json_object_get(reading->root, "traceEvents")))
		return 0;
	return sim_user_error(reading->err,
			      "%s: has no traceEvents, allowed: a trace of torch.profiler",
			      reading->path);
}

static u64 integer_of(const json_t *json, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(json, key));

	return value > 0 ? (u64)value : 0;
}

/* Dates are positive and in 63 bits, so that differences of two are, too. */
static bool span_of(const struct reading *reading, const json_t *event, u64 *ret_start,
		    u64 *ret_end)
{
	double ts = json_number_value(json_object_get(event, "ts"));
	double dur = json_number_value(json_object_get(event, "dur"));

	if (!(ts >= 0 && ts < 4e15 && dur >= 0 && dur < 1e12))
		return false;
	*ret_start = reading->base_ns + (u64)llround(ts * 1000);
	*ret_end = *ret_start + (u64)llround(dur * 1000);
	return true;
}

/* By which the bytes of a kernel are found: its name, grid and block. */
static bool launch_key(const char *name, const json_t *grid, const json_t *block,
		       char key[LAUNCH_KEY_MAX])
{
	long long n[6];

	for (size_t i = 0; i < 6; i++)
		n[i] = json_integer_value(json_array_get(i < 3 ? grid : block, i % 3));
	return snprintf(key, LAUNCH_KEY_MAX, "%lld,%lld,%lld,%lld,%lld,%lld %s", n[0], n[1],
			n[2], n[3], n[4], n[5], name) < LAUNCH_KEY_MAX;
}

/* The table of bytes: [name, grid, block, bytes] for each kind of launch. */
static void read_bytes(struct reading *reading, const json_t *list)
{
	char key[LAUNCH_KEY_MAX];
	json_t *row;
	size_t i;

	json_array_foreach(list, i, row) {
		const char *name = json_string_value(json_array_get(row, 0));

		if (name &&
		    launch_key(name, json_array_get(row, 1), json_array_get(row, 2), key))
			json_object_set(reading->bytes, key, json_array_get(row, 3));
	}
}

static bool has_one_of(const char *name, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcasestr(name, parts[i]))
			return true;
	return false;
}

static enum torch_kind kind_of(const char *name)
{
	if (has_one_of(name, product_names, ARRAY_SIZE(product_names)))
		return TORCH_PRODUCT;
	if (has_one_of(name, gather_names, ARRAY_SIZE(gather_names)))
		return TORCH_GATHER;
	return TORCH_ELEMENTS;
}

static bool is_one_of(const char *name, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, words[i]))
			return true;
	return false;
}

/* Work of the GPU. All of it is of one GPU. */
static int add_kernel(struct reading *reading, const char *category, const char *name,
		      const json_t *event)
{
	const json_t *args = json_object_get(event, "args");
	const json_t *grid = json_object_get(args, "grid");
	struct torch_kernel *kernel = &reading->trace->kernels[reading->trace->kernel_count];
	s64 device = json_integer_value(json_object_get(args, "device"));
	char key[LAUNCH_KEY_MAX];

	if (reading->device >= 0 && device != reading->device)
		return sim_user_error(reading->err,
				      "%s: has kernels of two GPUs, allowed: one GPU",
				      reading->path);
	reading->device = device;
	if (!span_of(reading, event, &kernel->start_ns, &kernel->end_ns))
		return 0;
	kernel->launch = integer_of(args, "correlation");
	kernel->kind = kind_of(name);
	kernel->blocks = 1;
	if (!strcmp(category, "kernel")) {
		for (size_t i = 0; i < 3; i++)
			kernel->blocks *= (u64)max(json_integer_value(json_array_get(grid, i)),
						   (json_int_t)1);
		if (launch_key(name, grid, json_object_get(args, "block"), key))
			kernel->bytes = (u64)max(
				json_integer_value(json_object_get(reading->bytes, key)),
				(json_int_t)0);
	} else {
		/* "Memcpy HtoD (Pinned -> Device)"; within the GPU, a copy is read and written. */
		bool inside = strstr(name, "DtoD") || strstr(name, "Memset");

		kernel->kind = inside ? TORCH_ELEMENTS : TORCH_COPY;
		kernel->bytes = inside ? 2 * integer_of(args, "bytes") : 0;
	}
	reading->trace->kernel_count++;
	return 0;
}

static void add_call(struct reading *reading, const char *name, const json_t *event)
{
	struct torch_call *call = &reading->trace->calls[reading->trace->call_count];

	if (!span_of(reading, event, &call->start_ns, &call->end_ns))
		return;
	call->correlation = integer_of(json_object_get(event, "args"), "correlation");
	call->waits = is_one_of(name, waiting_calls, ARRAY_SIZE(waiting_calls));
	call->graph = strstr(name, "GraphLaunch") != NULL;
	reading->trace->call_count++;
}

static void add_step(struct reading *reading, const json_t *event)
{
	struct torch_span *step = &reading->trace->steps[reading->trace->step_count];

	reading->trace->step_count += span_of(reading, event, &step->start_ns, &step->end_ns);
}

static int read_event(struct reading *reading, const json_t *event)
{
	const char *category = json_string_value(json_object_get(event, "cat"));
	const char *name = json_string_value(json_object_get(event, "name"));
	const char *phase = json_string_value(json_object_get(event, "ph"));

	if (!category || !name || !phase || strcmp(phase, "X") != 0)
		return 0;
	if (!strcmp(category, "kernel") || !strncmp(category, "gpu_mem", 7))
		return add_kernel(reading, category, name, event);
	if (!strcmp(category, "cuda_runtime") || !strcmp(category, "cuda_driver"))
		add_call(reading, name, event);
	else if (!strcmp(category, "user_annotation") && !strncmp(name, "ProfilerStep#", 13))
		add_step(reading, event);
	return 0;
}

/* What python/gvm_profile has added. Its steps count, not the profiler's. */
static int read_recorder(struct reading *reading, const json_t *recorder)
{
	struct torch_trace *trace = reading->trace;
	const json_t *memory = json_object_get(recorder, "memory");
	const json_t *steps = json_object_get(recorder, "steps_ns");
	const json_t *plain = json_object_get(recorder, "plain_steps_ns");
	json_t *step;
	size_t i;

	if (json_array_size(steps))
		trace->step_count = 0;
	json_array_foreach(steps, i, step) {
		json_int_t start = json_integer_value(json_array_get(step, 0));
		json_int_t end = json_integer_value(json_array_get(step, 1));

		if (start > 0 && end > start)
			trace->steps[trace->step_count++] =
				(struct torch_span){ (u64)start, (u64)end };
	}
	trace->plain_step_ns = integer_of(recorder, "plain_step_ns");
	json_array_foreach(plain, i, step) {
		json_int_t ns = json_integer_value(step);

		if (ns > 0 && (u64)ns <= TORCH_STEP_MAX_NS &&
		    torch_steps_add(&trace->plain_steps, (u64)ns))
			return sim_runtime_error(reading->err, "%s: out of memory",
						 reading->path);
	}
	trace->state_bytes = integer_of(memory, "state");
	trace->reserved_bytes = max(integer_of(memory, "reserved"), trace->state_bytes);
	if (trace->reserved_bytes <= TORCH_MEMORY_MAX)
		return 0;
	return sim_user_error(reading->err,
			      "%s: gvmsim.memory: %llu bytes, allowed: up to 16 TiB",
			      reading->path, trace->reserved_bytes);
}

static void read_device(struct reading *reading)
{
	const json_t *list = json_object_get(reading->root, "deviceProperties");
	const json_t *device;
	const char *name;
	size_t i;

	json_array_foreach(list, i, device) {
		if (json_integer_value(json_object_get(device, "id")) != reading->device)
			continue;
		name = json_string_value(json_object_get(device, "name"));
		/* Not cut: that could be within a character. */
		if (name && strlen(name) < TORCH_DEVICE_MAX)
			strcpy(reading->trace->device, name);
		reading->trace->sms = integer_of(device, "numSms");
	}
}

static int compare_kernels(const void *a, const void *b)
{
	const struct torch_kernel *x = a, *y = b;

	if (x->launch != y->launch)
		return x->launch < y->launch ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int compare_calls(const void *a, const void *b)
{
	const struct torch_call *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

static int compare_steps(const void *a, const void *b)
{
	const struct torch_span *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/*
 * Does @call launch kernels? Only the first call of a correlation has them: a driver's call may be
 * within one of the runtime.
 */
static bool claim_kernels(struct torch_trace *trace, struct torch_call *call)
{
	size_t count;
	const struct torch_kernel *first = torch_trace_kernels(trace, call, &count);

	if (!count)
		return false;
	if (first->claimed) {
		call->correlation = 0;
		return false;
	}
	trace->kernels[first - trace->kernels].claimed = true;
	return true;
}

/* Put all in order, and keep the calls that launch kernels or wait. */
static void sort_all(struct torch_trace *trace)
{
	size_t kept = 0;

	qsort(trace->kernels, trace->kernel_count, sizeof(*trace->kernels), compare_kernels);
	qsort(trace->calls, trace->call_count, sizeof(*trace->calls), compare_calls);
	qsort(trace->steps, trace->step_count, sizeof(*trace->steps), compare_steps);
	for (size_t i = 0; i < trace->call_count; i++)
		if (claim_kernels(trace, &trace->calls[i]) || trace->calls[i].waits)
			trace->calls[kept++] = trace->calls[i];
	trace->call_count = kept;
}

/* Read all events into arrays that have room for them. */
static int read_events(struct reading *reading)
{
	const json_t *events = json_object_get(reading->root, "traceEvents");
	const json_t *recorder = json_object_get(reading->root, "gvmsim");
	const json_t *steps = json_object_get(recorder, "steps_ns");
	struct torch_trace *trace = reading->trace;
	size_t count = json_array_size(events) + 1;
	json_t *event;
	int status = 0;
	size_t i;

	trace->kernels = calloc(count, sizeof(*trace->kernels));
	trace->calls = calloc(count, sizeof(*trace->calls));
	trace->steps = calloc(count + json_array_size(steps), sizeof(*trace->steps));
	reading->bytes = json_object();
	if (!trace->kernels || !trace->calls || !trace->steps || !reading->bytes)
		return sim_runtime_error(reading->err, "%s: out of memory", reading->path);
	read_bytes(reading, json_object_get(recorder, "kernel_bytes"));
	json_array_foreach(events, i, event) {
		status = read_event(reading, event);
		if (status)
			return status;
	}
	status = read_recorder(reading, recorder);
	if (status)
		return status;
	read_device(reading);
	sort_all(trace);
	if (!trace->kernel_count)
		return sim_user_error(reading->err,
				      "%s: has no kernels, allowed: a trace with CUDA activity",
				      reading->path);
	if (!trace->step_count)
		return sim_user_error(reading->err,
				      "%s: has no steps, allowed: a trace of gvm_profile, or "
				      "one whose program calls the profiler's step()",
				      reading->path);
	return 0;
}

int torch_trace_read(const char *path, struct torch_trace *trace, struct sim_error *err)
{
	struct reading reading = { .path = path, .device = -1, .trace = trace, .err = err };
	int status;

	*trace = (struct torch_trace){ 0 };
	status = read_root(&reading);
	if (!status) {
		reading.base_ns = integer_of(reading.root, "baseTimeNanoseconds");
		status = read_events(&reading);
	}
	json_decref(reading.bytes);
	json_decref(reading.root);
	if (status)
		torch_trace_destroy(trace);
	return status;
}

void torch_trace_destroy(struct torch_trace *trace)
{
	free(trace->kernels);
	free(trace->calls);
	free(trace->steps);
	torch_steps_destroy(&trace->plain_steps);
	*trace = (struct torch_trace){ 0 };
}

const struct torch_kernel *torch_trace_kernels(const struct torch_trace *trace,
					       const struct torch_call *call, size_t *ret_count)
{
	size_t low = 0, high = trace->kernel_count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (trace->kernels[middle].launch < call->correlation)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; call->correlation && end < trace->kernel_count &&
			trace->kernels[end].launch == call->correlation;)
		end++;
	*ret_count = end - low;
	return &trace->kernels[low];
}
