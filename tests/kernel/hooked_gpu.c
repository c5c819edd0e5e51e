// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The other GPU under test of fakegpu_guest.h: NVIDIA's nvidia-uvm.ko with our hooks, on the
 * software GPU. A context is an open file of nvidia-uvm with managed memory and a channel. Each
 * process that makes one is in the container of a cgroup, so that others can join it.
 *
 * As CUDA has it, a kernel that touches what it may not, or finds no memory, ends its context:
 * nvidia-uvm cancels the faults, and this file runs no further kernel there.
 */
#include "fakegpu_guest.h"
#include "hooked_guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CONTEXTS_MAX  8u /* of a process */
#define MAPPINGS_MAX  8u
#define RESERVED_MB   16u /* that RM has for itself */
#define SLOWER	      5u
#define WORDS_A_PAGE  (SOFTGPU_PAGE / sizeof(uint64_t))
#define CLIENT_OF_PID 16u
#define SHUFFLE_STEP  7919u /* a prime above the number of pieces */

struct hooked_mapping {
	uint64_t va, bytes;
};

struct hooked_context {
	struct softgpu_tenant tenant;
	struct hooked_mapping mappings[MAPPINGS_MAX];
	uint32_t mapping_count;
	bool open;
	bool dead;
};

static struct hooked_context contexts[CONTEXTS_MAX];
static pid_t contexts_of; /* whose they are: a child has none of its parent's */
static struct softgpu_tenant keeper;
static uint32_t gpu_chunks;
static uint64_t next_va; /* of a process that has asked for it: gpu_next_va() */

const char *const gpu_module = "gvm_nvidia";

bool gpu_can(enum gpu_ability ability)
{
	(void)ability;
	return false;
}

/* What a part of the suite does in one step of its own fits into the GPU's record of events. */
size_t gpu_words_out(uint64_t *ret_words, size_t max)
{
	const struct softgpu_event *event;
	size_t words = 0, count;

	while ((event = softgpu_events(&count)), count)
		for (; count--; event++)
			if (event->kind == SOFTGPU_EVENT_COPY &&
			    !(event->how & (SOFTGPU_TO_VIDMEM | SOFTGPU_VIRTUAL_SOURCE)) &&
			    words < max)
				ret_words[words++] = event->word;
	return words;
}

/* Apart from what softgpu_managed() hands out. */
uint64_t gpu_next_va(int number)
{
	(void)number;
	if (!next_va)
		next_va = 2 * SOFTGPU_FIRST_ADDRESS;
	return next_va;
}

/* UVM wants the offset into the file to be the address. Returns NULL and errno. */
static uint64_t *map_next(struct softgpu_tenant *tenant, uint64_t bytes)
{
	void *p = mmap((void *)next_va, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED_NOREPLACE, tenant->fd, (off_t)next_va);

	if (p == MAP_FAILED)
		return NULL;
	next_va += (bytes + CHUNK - 1) / CHUNK * CHUNK + CHUNK;
	return p;
}

uint64_t gpu_context_bytes(void)
{
	return 0;
}

uint32_t gpu_times(uint32_t times)
{
	return times < SLOWER ? 1 : times / SLOWER;
}

void gpu_load(const char *parameters)
{
	bool evictors = strstr(parameters, "evictors=1");
	char softgpu_parameters[32];

	gpu_chunks = 0;
	sscanf(parameters, "chunks=%u", &gpu_chunks);
	snprintf(softgpu_parameters, sizeof(softgpu_parameters), "vidmem_mb=%u",
		 RESERVED_MB + 2 * gpu_chunks);
	guest_check(hooked_begin(&keeper, true, softgpu_parameters,
				 evictors ? "evictors=1" : ""),
		    "nvidia-uvm on a software GPU of %u chunks", gpu_chunks);
}

void gpu_unload(void)
{
	struct gvm_fakegpu_info info = gpu_info();

	guest_log("# faults %llu, replays %llu, MB in %llu, out %llu, switches %llu, "
		  "at most %llu ms until a replay",
		  info.faults, info.replays, info.bytes_in >> 20, info.bytes_out >> 20,
		  info.switches, softgpu_stats().replay_wait_ms);
	hooked_finish(&keeper, true);
}

bool gpu_check(void)
{
	char text[GUEST_TEXT_MAX];

	return guest_read("../../module/gvm_nvidia/parameters/check", text, sizeof(text)) ==
		       0 &&
	       strcmp(text, "ok\n") == 0;
}

struct gvm_fakegpu_info gpu_info(void)
{
	struct softgpu_stats stats = softgpu_stats();

	return (struct gvm_fakegpu_info){
		.chunks = gpu_chunks,
		.bytes_in = stats.copy_bytes[SOFTGPU_TO_VIDMEM],
		.bytes_out = stats.copy_bytes[SOFTGPU_FROM_VIDMEM],
		.faults = stats.faults,
		.replays = stats.replays,
		.switches = stats.switches,
	};
}

/* The context of that number in this process. */
static struct hooked_context *context_of(int number)
{
	return &contexts[number];
}

int fakegpu_open(unsigned int gpu, uint32_t group_tgid, uint32_t tsgs, int *ret_context)
{
	struct hooked_context *context = contexts;
	uint32_t number = 0;
	int status;

	if (gpu || tsgs != 1)
		return EINVAL;
	if (contexts_of != getpid()) {
		memset(contexts, 0, sizeof(contexts));
		contexts_of = getpid();
		if (!hooked_contain(group_tgid ? (pid_t)group_tgid : getpid()))
			return EPERM;
	}
	while (number < CONTEXTS_MAX && contexts[number].open)
		number++;
	if (number == CONTEXTS_MAX)
		return EMFILE;
	context = &contexts[number];
	memset(context, 0, sizeof(*context));
	status = softgpu_attach(&context->tenant,
				(unsigned int)getpid() * CLIENT_OF_PID + number);
	if (status) {
		guest_log("# a context is refused: %x", status);
		softgpu_detach(&context->tenant);
		return ENOMEM;
	}
	context->open = true;
	*ret_context = (int)number;
	return 0;
}

void fakegpu_close(int number)
{
	struct hooked_context *context = context_of(number);

	for (uint32_t i = 0; i < context->mapping_count; i++)
		munmap((void *)context->mappings[i].va, context->mappings[i].bytes);
	softgpu_detach(&context->tenant);
	context->open = false;
}

int fakegpu_map(int number, uint64_t bytes, uint64_t *ret_va)
{
	struct hooked_context *context = context_of(number);
	uint64_t *p;

	if (context->mapping_count == MAPPINGS_MAX)
		return ENOSPC;
	errno = ENOMEM;
	p = next_va ? map_next(&context->tenant, bytes) :
		      softgpu_managed(&context->tenant, bytes);
	if (!p)
		return errno;
	*ret_va = (uintptr_t)p;
	context->mappings[context->mapping_count++] = (struct hooked_mapping){ *ret_va, bytes };
	return 0;
}

int fakegpu_map_on_host(int number, uint64_t bytes, uint64_t seed, uint64_t *ret_va)
{
	int error = fakegpu_map(number, bytes, ret_va);

	for (uint64_t at = 0; !error && at < bytes; at += sizeof(uint64_t))
		*(uint64_t *)(*ret_va + at) = gvm_fakegpu_word(seed, *ret_va + at);
	return error;
}

int fakegpu_unmap(int number, uint64_t va)
{
	struct hooked_context *context = context_of(number);

	for (uint32_t i = 0; i < context->mapping_count; i++) {
		struct hooked_mapping *mapping = &context->mappings[i];

		if (mapping->va != va)
			continue;
		munmap((void *)va, mapping->bytes);
		*mapping = context->mappings[--context->mapping_count];
		return 0;
	}
	return EINVAL;
}

void hooked_migrate(int number, uint64_t va, uint64_t bytes, bool to_gpu)
{
	softgpu_migrate(&context_of(number)->tenant, (void *)va, bytes, to_gpu);
}

int fakegpu_discard(int number, uint64_t va, uint64_t bytes)
{
	(void)number;
	(void)va;
	(void)bytes;
	return EOPNOTSUPP;
}

/* Run what @access says, on a context that lives. */
static int run(struct hooked_context *context, struct softgpu_access *access)
{
	unsigned long refused = event_count(getpid(), "oom ");

	if (context->dead)
		return EIO;
	softgpu_touch_with(&context->tenant, access);
	if (!access->errors)
		return 0;
	context->dead = true;
	if (event_count(getpid(), "oom ") > refused)
		return EDQUOT;
	guest_log("# process %d: %llu accesses of %llu were cancelled", getpid(),
		  access->errors, access->count);
	return EFAULT;
}

/* Which of @count pieces comes as number @i. */
static uint64_t piece_of(uint64_t i, uint64_t count, const struct gvm_fakegpu_launch *launch)
{
	if (launch->order == GVM_FAKEGPU_BACKWARD)
		return count - 1 - i;
	if (launch->order == GVM_FAKEGPU_SHUFFLED)
		return (i * SHUFFLE_STEP + launch->seed % count) % count;
	return i;
}

/* A run of pages is one call of the GPU. Others are cut into pieces of 64 KB. */
int fakegpu_launch(int number, struct gvm_fakegpu_launch *launch)
{
	static const enum softgpu_op ops[] = {
		[GVM_FAKEGPU_FILL] = SOFTGPU_FILL,
		[GVM_FAKEGPU_VERIFY] = SOFTGPU_VERIFY,
		[GVM_FAKEGPU_VERIFY_ZERO] = SOFTGPU_VERIFY_ZERO,
	};
	bool whole = launch->stride_pages <= 1 && launch->order != GVM_FAKEGPU_SHUFFLED;
	uint64_t stride = (launch->stride_pages ? launch->stride_pages : 1) * PAGE;
	uint64_t step = whole ? launch->bytes : PAGE;
	uint64_t pieces = whole ? 1 : (launch->bytes + stride - 1) / stride;
	bool backward = launch->order == GVM_FAKEGPU_BACKWARD;

	launch->ret_mismatches = 0;
	if (launch->bytes % SOFTGPU_PAGE || launch->together > 1 || launch->tsg ||
	    launch->order >= GVM_FAKEGPU_ORDERS)
		return EINVAL;
	for (uint64_t i = 0; i < pieces; i++) {
		uint64_t first = piece_of(i, pieces, launch) * stride;
		struct softgpu_access access = {
			.va = launch->va + first + (backward ? step - SOFTGPU_PAGE : 0),
			.count = step / SOFTGPU_PAGE,
			.stride = backward ? -SOFTGPU_PAGE : SOFTGPU_PAGE,
			.value = launch->seed,
			.op = ops[launch->op],
			.window = HOOKED_WINDOW,
		};
		int error = run(context_of(number), &access);

		if (error)
			return error;
		launch->ret_mismatches += access.sum;
		if (access.sum)
			launch->ret_first_va = access.wrong;
	}
	return launch->ret_mismatches ? EBADMSG : 0;
}

int fakegpu_fill(int number, uint64_t va, uint64_t bytes, uint64_t seed)
{
	struct gvm_fakegpu_launch launch = {
		.va = va, .bytes = bytes, .seed = seed, .op = GVM_FAKEGPU_FILL
	};

	return fakegpu_launch(number, &launch);
}

static int verify(int number, struct gvm_fakegpu_launch *launch, uint64_t *ret_first_va)
{
	int error = fakegpu_launch(number, launch);

	if (ret_first_va)
		*ret_first_va = launch->ret_first_va;
	return error;
}

int fakegpu_verify(int number, uint64_t va, uint64_t bytes, uint64_t seed,
		   uint64_t *ret_first_va)
{
	struct gvm_fakegpu_launch launch = {
		.va = va, .bytes = bytes, .seed = seed, .op = GVM_FAKEGPU_VERIFY
	};

	return verify(number, &launch, ret_first_va);
}

int fakegpu_verify_zero(int number, uint64_t va, uint64_t bytes, uint64_t *ret_first_va)
{
	struct gvm_fakegpu_launch launch = { .va = va,
					     .bytes = bytes,
					     .op = GVM_FAKEGPU_VERIFY_ZERO };

	return verify(number, &launch, ret_first_va);
}

/* The GPU reads or writes word after word, one access each. */
static int move_words(int number, uint64_t va, uint64_t *words, size_t size, enum softgpu_op op)
{
	for (size_t i = 0; i < size / sizeof(*words); i++) {
		struct softgpu_access access = {
			.va = va + i * sizeof(*words), .count = 1, .op = op, .window = 1
		};
		int error;

		if (op == SOFTGPU_WRITE)
			access.value = words[i];
		error = run(context_of(number), &access);
		if (error)
			return error;
		if (op == SOFTGPU_READ)
			words[i] = access.sum;
	}
	return 0;
}

int fakegpu_load(int number, uint64_t va, void *bytes, size_t size)
{
	return move_words(number, va, bytes, size, SOFTGPU_READ);
}

int fakegpu_store(int number, uint64_t va, const void *bytes, size_t size)
{
	uint64_t words[WORDS_A_PAGE];

	if (size > sizeof(words))
		return EINVAL;
	memcpy(words, bytes, size);
	return move_words(number, va, words, size, SOFTGPU_WRITE);
}
