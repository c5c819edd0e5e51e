// SPDX-License-Identifier: MIT OR GPL-2.0
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "code_load.h"
#include "confine.h"

#define WORDS_BYTES 4096u
_Static_assert(SAMPLE_SLOTS * 16u <= WORDS_BYTES, "the words of all slots lie in a page");

bool sample_open(struct tenant *tenant)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	struct sample *sample = &tenant->sample;
	void *page = mmap(NULL, WORDS_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u32 events = 0;

	sample->modules = calloc(TENANT_MODULES, sizeof(*sample->modules));
	sample->random = tenant->id * 0x9e3779b97f4a7c15ull + 1;
	if (page != MAP_FAILED && sample->modules &&
	    cuda->cuMemHostRegister_v2(page, WORDS_BYTES, 0) == CU_OK) {
		while (events < SAMPLE_SLOTS &&
		       cuda->cuEventCreate(&sample->slots[events].copied, CU_EVENT_NO_TIMING) ==
			       CU_OK)
			events++;
		if (events == SAMPLE_SLOTS) {
			sample->words = page;
			pthread_mutex_lock(&tenant->lock);
			sample->on = true;
			pthread_mutex_unlock(&tenant->lock);
			return true;
		}
		while (events)
			cuda->cuEventDestroy_v2(sample->slots[--events].copied);
		cuda->cuMemHostUnregister(page);
	}
	if (page != MAP_FAILED)
		munmap(page, WORDS_BYTES);
	free(sample->modules);
	return false;
}

/* Unload a module's copy. No slot has it any more. */
static void drop(const struct tenant *tenant, struct sample_module *module)
{
	if (module->module)
		tenant->gpu->cuda.cuModuleUnload(module->module);
	free(module->text);
	memset(module, 0, sizeof(*module));
}

void sample_close(struct tenant *tenant)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	struct sample *sample = &tenant->sample;

	if (!sample->on)
		return;
	pthread_mutex_lock(&tenant->lock);
	sample_collect(tenant);
	sample->on = false;
	pthread_mutex_unlock(&tenant->lock);
	for (u32 i = 0; i < TENANT_MODULES; i++)
		drop(tenant, &sample->modules[i]);
	for (u32 i = 0; i < SAMPLE_SLOTS; i++)
		cuda->cuEventDestroy_v2(sample->slots[i].copied);
	cuda->cuMemHostUnregister(sample->words);
	munmap(sample->words, WORDS_BYTES);
	free(sample->modules);
}

void sample_keep(struct tenant *tenant, u32 slot, const char *text)
{
	if (tenant->sample.on)
		tenant->sample.modules[slot].text = strdup(text);
}

void sample_forget(struct tenant *tenant, u32 slot)
{
	struct sample *sample = &tenant->sample;

	if (!sample->on)
		return;
	pthread_mutex_lock(&tenant->lock);
	sample_collect(tenant);
	for (u32 i = 0; i < SAMPLE_SLOTS; i++)
		if (sample->slots[i].module == &sample->modules[slot])
			sample->slots[i].module = NULL;
	pthread_mutex_unlock(&tenant->lock);
	drop(tenant, &sample->modules[slot]);
}

/* Said once of a module. */
static void refuse(struct tenant *tenant, struct sample_module *module, const char *why)
{
	fprintf(stderr, "gvmfenced: client %llu: a module cannot be sampled: %s\n", tenant->id,
		why);
	module->refused = true;
	pthread_mutex_lock(&tenant->lock);
	tenant->sample.counts.refused_modules++;
	pthread_mutex_unlock(&tenant->lock);
}

/* Load the copy that counts. */
static void load_copy(struct tenant *tenant, struct sample_module *module)
{
	struct patch_options options = { .mode = PATCH_COUNT, .pass = PATCH_CONST };
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	const u64 none[2] = { 0, 0 };
	struct sim_error err = { "no memory for its text" };
	struct confined confined;
	struct CUmod_st *copy = NULL;
	size_t bytes = 0;

	if (tenant->bounds_words[module - tenant->sample.modules]) {
		refuse(tenant, module,
		       "its bounds are parameters, since its constants are full");
		return;
	}
	if (!module->text || confine_text("module", module->text, strlen(module->text),
					  &options, &confined, &err)) {
		refuse(tenant, module, err.text);
		return;
	}
	if (confined.report.direct_writes)
		refuse(tenant, module, "it writes to variables of its own");
	else if (code_load(tenant, &confined, &copy) != CU_OK)
		refuse(tenant, module, "the driver does not load its copy");
	else if (cuda->cuModuleGetGlobal_v2(&module->found, &bytes, copy, PATCH_FOUND) !=
			 CU_OK ||
		 bytes != sizeof(none) ||
		 gpu_write(tenant->gpu, module->found, none, sizeof(none)) != CU_OK)
		refuse(tenant, module, "its copy has no count");
	if (module->refused && copy)
		cuda->cuModuleUnload(copy);
	else
		module->module = copy;
	confined_destroy(&confined);
	free(module->text);
	module->text = NULL;
}

/* xorshift64: is this launch one of the sample? */
static bool draw(struct sample *sample, u32 every)
{
	sample->random ^= sample->random << 13;
	sample->random ^= sample->random >> 7;
	sample->random ^= sample->random << 17;
	return !((sample->random >> 16) % every);
}

/* The same kernel of the copy, with the attributes that the client has set. NULL: none. */
static struct CUfunc_st *find_copy(struct tenant *tenant, struct tenant_function *function)
{
	const struct sample_module *module = &tenant->sample.modules[function->module];
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;

	if (function->counted || !function->name)
		return function->counted;
	if (cuda->cuModuleGetFunction(&function->counted, module->module, function->name) !=
	    CU_OK)
		function->counted = NULL;
	for (u32 i = 0; function->counted && i < SAMPLE_ATTRIBUTES; i++)
		if (function->attributes_set >> i & 1)
			cuda->cuFuncSetAttribute(function->counted, i, function->attributes[i]);
	return function->counted;
}

/*
 * Is there a slot for one more counted launch? A client that is far ahead of the GPU waits
 * here for the oldest one, so that the share of counted launches is the one that was set.
 */
static bool await_slot(struct tenant *tenant)
{
	struct sample *sample = &tenant->sample;
	struct CUevent_st *oldest;
	bool full;

	pthread_mutex_lock(&tenant->lock);
	sample_collect(tenant);
	full = sample->used == SAMPLE_SLOTS;
	oldest = sample->slots[sample->first].copied;
	pthread_mutex_unlock(&tenant->lock);
	if (!full)
		return true;
	/* Without the lock: the watch ends us if a kernel never ends. */
	if (tenant->gpu->cuda.cuEventSynchronize(oldest) != CU_OK)
		return false;
	pthread_mutex_lock(&tenant->lock);
	sample_collect(tenant);
	full = sample->used == SAMPLE_SLOTS;
	pthread_mutex_unlock(&tenant->lock);
	return !full;
}

struct CUfunc_st *sample_pick(struct tenant *tenant, struct tenant_function *function,
			      bool *ret_counted)
{
	struct sample *sample = &tenant->sample;
	struct CUfunc_st *copy = NULL;
	struct sample_module *module;
	u32 every = sample->every;

	*ret_counted = false;
	if (!every || !sample->on || !draw(sample, every))
		return function->function;
	module = &sample->modules[function->module];
	if (!module->module && !module->refused)
		load_copy(tenant, module);
	if (module->module && await_slot(tenant))
		copy = find_copy(tenant, function);
	*ret_counted = copy != NULL;
	return copy ? copy : function->function;
}

void sample_launched(struct tenant *tenant, const struct tenant_function *function,
		     struct CUstream_st *stream)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	struct sample *sample = &tenant->sample;
	struct sample_module *module = &sample->modules[function->module];
	bool queued;
	u32 at;

	pthread_mutex_lock(&tenant->lock);
	sample->counts.sampled++;
	at = (sample->first + sample->used) % SAMPLE_SLOTS;
	pthread_mutex_unlock(&tenant->lock);
	/*
	 * Without the lock: where the stream's queue is full, these wait, and the watch has to go
	 * on. The slot stays ours: only this thread fills slots, and others are freed meanwhile.
	 */
	queued = cuda->cuMemcpyDtoHAsync_v2(sample->words[at], module->found,
					    sizeof(sample->words[at]), stream) == CU_OK &&
		 cuda->cuEventRecord(sample->slots[at].copied, stream) == CU_OK;
	pthread_mutex_lock(&tenant->lock);
	if (queued) {
		sample->slots[at].module = module;
		sample->used++;
	}
	pthread_mutex_unlock(&tenant->lock);
}

/*
 * A module's count only grows. Two launches of it that overlap in two streams may have their
 * accesses told as those of one.
 */
static void collect_slot(struct tenant *tenant, const struct sample_slot *slot,
			 const u64 words[2])
{
	struct sample_counts *counts = &tenant->sample.counts;

	if (!slot->module || words[0] <= slot->module->seen)
		return;
	if (!counts->found_launches)
		fprintf(stderr,
			"gvmfenced: client %llu (process %d): accesses outside of its "
			"partition, or misaligned, such as 0x%llx; its fence has led them "
			"inside\n",
			tenant->id, tenant->pid, words[1]);
	counts->found_launches++;
	counts->found_accesses += words[0] - slot->module->seen;
	counts->last_address = words[1];
	slot->module->seen = words[0];
}

void sample_collect(struct tenant *tenant)
{
	struct sample *sample = &tenant->sample;

	while (sample->used) {
		struct sample_slot *slot = &sample->slots[sample->first];

		if (tenant->gpu->cuda.cuEventQuery(slot->copied) != CU_OK)
			return;
		collect_slot(tenant, slot, sample->words[sample->first]);
		slot->module = NULL;
		sample->first = (sample->first + 1) % SAMPLE_SLOTS;
		sample->used--;
	}
}
