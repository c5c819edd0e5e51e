// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Channels of CUDA's user mode, and the accesses that kernels on them make. The thread that
 * asks for an access plays the SM: it translates, touches the word, or posts a fault and waits
 * for a replay. Several accesses wait at once, as those of many warps do. Two that fault on one
 * page post one fault.
 */
#include "softgpu.h"

#include <linux/slab.h>

#include "gvm_fakegpu_word.h"
#include "hwref/ampere/ga100/dev_fault.h" /* types of faults, which all chips share */

/* A call of SOFTGPU_ACCESS that is under way. */
struct softgpu_run {
	struct softgpu *gpu;
	struct softgpu_user_channel *channel;
	struct softgpu_access *access;
	u64 next;		     /* access that was not tried yet */
	u32 waiting;		     /* accesses in the window */
	u32 posted;		     /* faults in this pass over the window */
	u64 window[SOFTGPU_WINDOW];  /* their numbers */
	u64 faulted[SOFTGPU_WINDOW]; /* pages */
};

struct softgpu_user_channel *softgpu_user_channel_find(struct softgpu *gpu, u32 client,
						       u32 object)
{
	struct softgpu_user_channel *channel;

	list_for_each_entry(channel, &gpu->user_channels, node)
		if (channel->client == client && channel->object == object)
			return channel;
	return NULL;
}

void softgpu_user_channel_put(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	mutex_lock(&gpu->lock);
	if (!--channel->references) {
		if (channel->engine)
			softgpu_channel_free(channel->engine);
		softgpu_tsg_quit(gpu, channel);
		kfree(channel);
	}
	mutex_unlock(&gpu->lock);
}

static u64 softgpu_run_va(const struct softgpu_run *run, u64 number)
{
	return run->access->va + number * run->access->stride;
}

/* The operation on each word, if the access is to all words of a page. */
static enum softgpu_op softgpu_run_op(const struct softgpu_run *run)
{
	if (run->access->op == SOFTGPU_FILL)
		return SOFTGPU_WRITE;
	return run->access->op > SOFTGPU_FILL ? SOFTGPU_READ : run->access->op;
}

/* @page, in host memory, is what the GPU has at @va. */
static void softgpu_touch_page(struct softgpu_access *access, u64 *page, u64 va)
{
	for (u32 i = 0; i < PAGE_SIZE / sizeof(*page); i++) {
		u64 at = va + i * sizeof(*page), word = 0;

		if (access->op != SOFTGPU_VERIFY_ZERO)
			word = gvm_fakegpu_word(access->value, at);
		if (access->op == SOFTGPU_FILL) {
			WRITE_ONCE(page[i], word);
		} else if (READ_ONCE(page[i]) != word) {
			access->sum++;
			access->wrong = at;
		}
	}
}

static void softgpu_touch(struct softgpu_run *run, const struct softgpu_mapping *mapping,
			  u64 number)
{
	struct softgpu_access *access = run->access;
	bool page = access->op >= SOFTGPU_FILL;
	u64 bytes = page ? PAGE_SIZE : sizeof(u64);
	u64 *word = softgpu_mapped(run->gpu, mapping, &bytes);

	if (mapping->aperture == SOFTGPU_PEER)
		run->gpu->stats.peer_accesses++;
	if (mapping->aperture == SOFTGPU_SYSMEM && !mapping->uncounted)
		softgpu_count(run->channel, softgpu_run_va(run, number), mapping->address);
	if (!word)
		access->errors++;
	else if (page)
		softgpu_touch_page(access, word, softgpu_run_va(run, number));
	else if (access->op == SOFTGPU_WRITE)
		WRITE_ONCE(*word, access->value + number * access->step);
	else if (access->op == SOFTGPU_ATOMIC)
		atomic64_add(access->value, (atomic64_t *)word);
	else
		access->sum += READ_ONCE(*word);
}

/* Post a fault, unless one of this pass is for the same page. */
static void softgpu_run_fault(struct softgpu_run *run, u64 va, u32 type)
{
	for (u32 i = 0; i < run->posted; i++)
		if (run->faulted[i] == (va & PAGE_MASK))
			return;
	if (!softgpu_fault_post(run->channel, va, type, softgpu_run_op(run)))
		return;
	run->faulted[run->posted++] = va & PAGE_MASK;
	run->access->faults++;
}

/* The channel is gone, or the GPU. LOCKING: softgpu.walkers. */
static bool softgpu_run_is_over(const struct softgpu_run *run)
{
	return run->channel->gone || READ_ONCE(run->gpu->lost);
}

/*
 * Try all accesses of the window. Accesses that fault stay in it. Returns 0, or -ENODEV: the
 * channel is gone.
 */
static int softgpu_run_window(struct softgpu_run *run)
{
	struct softgpu *gpu = run->gpu;
	u32 kept = 0;
	int status = 0;

	run->posted = 0;
	softgpu_faults_begin(gpu);
	for (u32 i = 0; i < run->waiting && !status; i++) {
		u64 va = softgpu_run_va(run, run->window[i]);
		struct softgpu_mapping mapping;
		u32 fault;

		down_read(&gpu->walkers);
		if (softgpu_run_is_over(run)) {
			status = -ENODEV;
		} else if (softgpu_tlb_translate(run->channel->space, va, softgpu_run_op(run),
						 &mapping, &fault)) {
			softgpu_touch(run, &mapping, run->window[i]);
		} else if (fault == NV_PFAULT_FAULT_TYPE_VA_LIMIT_VIOLATION) {
			/* No packet can name this address, so UVM could not cancel it. */
			run->access->errors++;
		} else {
			softgpu_run_fault(run, va, fault);
			run->window[kept++] = run->window[i];
		}
		up_read(&gpu->walkers);
	}
	softgpu_faults_end(gpu);
	run->waiting = kept;
	return status;
}

/* Sleep until the next replay after number @since: 0, -EINTR or -ETIMEDOUT. */
static int softgpu_wait_replay(struct softgpu *gpu, u64 since)
{
	struct softgpu_wait wait;
	u64 waited;
	long left;

	softgpu_wait_begin(gpu, &wait);
	do
		left = wait_event_killable_timeout(
			gpu->faults.replayed, softgpu_replays(gpu) != since, gpu->patience);
	while (!left && !softgpu_wait_is_over(gpu, &wait));
	waited = jiffies_to_msecs(jiffies - wait.since);
	gpu->stats.replay_wait_ms = max(gpu->stats.replay_wait_ms, waited);
	if (left > 0)
		return 0;
	return left ? -EINTR : -ETIMEDOUT;
}

/* Wait for the next replay after number @since; cancelled accesses leave the window. */
static int softgpu_run_wait(struct softgpu_run *run, u64 since)
{
	struct softgpu *gpu = run->gpu;
	u32 kept = 0;
	int status = softgpu_wait_replay(gpu, since);

	if (status)
		return status;
	run->access->replays++;
	down_read(&gpu->walkers);
	if (softgpu_run_is_over(run)) {
		status = -ENODEV;
	} else {
		for (u32 i = 0; i < run->waiting; i++) {
			if (softgpu_cancelled(gpu, run->channel->space->directory,
					      softgpu_run_va(run, run->window[i]),
					      softgpu_run_op(run), since))
				run->access->errors++;
			else
				run->window[kept++] = run->window[i];
		}
		run->waiting = kept;
	}
	up_read(&gpu->walkers);
	return status;
}

/* Once it is the TSG's turn: fill the window, try it, and wait for a replay if some fault. */
static int softgpu_run_turn(struct softgpu_run *run, u32 window)
{
	struct softgpu *gpu = run->gpu;
	int status = softgpu_tsg_enter(gpu, run->channel);
	u64 since = softgpu_replays(gpu);
	u32 tried;
	bool faults;

	if (status)
		return status;
	while (run->waiting < window && run->next < run->access->count)
		run->window[run->waiting++] = run->next++;
	tried = run->waiting;
	status = softgpu_run_window(run);
	faults = !status && run->waiting;
	softgpu_tsg_leave(gpu, run->channel, tried, faults);
	if (faults) {
		status = softgpu_run_wait(run, since);
		softgpu_tsg_replayed(gpu, run->channel);
	} else if (!status && fatal_signal_pending(current)) {
		status = -EINTR;
	}
	return status;
}

int softgpu_access(struct softgpu *gpu, struct softgpu_access *access)
{
	u32 window = clamp_t(u32, access->window, 1, SOFTGPU_WINDOW);
	u64 unit = access->op >= SOFTGPU_FILL ? PAGE_SIZE : sizeof(u64);
	struct softgpu_run *run;
	int status = 0;

	if (access->op > SOFTGPU_VERIFY_ZERO || access->va % unit || access->stride % unit)
		return -EINVAL;
	run = kvzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return -ENOMEM;
	run->gpu = gpu;
	run->access = access;
	mutex_lock(&gpu->lock);
	run->channel = softgpu_user_channel_find(gpu, access->client, access->channel);
	if (run->channel && run->channel->engine)
		run->channel = NULL;
	if (run->channel)
		run->channel->references++;
	mutex_unlock(&gpu->lock);
	if (!run->channel) {
		kvfree(run);
		return -ENOENT;
	}
	softgpu_tsg_begin(gpu, run->channel);
	while (!status && (run->next < access->count || run->waiting))
		status = softgpu_run_turn(run, window);
	softgpu_tsg_end(gpu, run->channel);
	softgpu_user_channel_put(gpu, run->channel);
	kvfree(run);
	return status;
}

/* RM interface: channels of user mode. */

/* The lowest number that no channel has. LOCKING: softgpu.lock. */
static u32 softgpu_free_channel_id(struct softgpu *gpu)
{
	const struct softgpu_user_channel *channel;
	u32 id = 0;
	bool used;

	do {
		used = false;
		list_for_each_entry(channel, &gpu->user_channels, node)
			used |= channel->id == id;
		id += used;
	} while (used);
	return id;
}

/*
 * A channel that UVM did not know. Returns NULL without memory, or without an instance block.
 * LOCKING: softgpu.lock.
 */
static struct softgpu_user_channel *softgpu_user_channel_new(struct softgpu_space *space,
							     u32 client, u32 object)
{
	struct softgpu *gpu = space->gpu;
	struct softgpu_user_channel *channel;
	u32 id = softgpu_free_channel_id(gpu);

	/* A second channel of one block would get the first one's faults. */
	if (id >= SOFTGPU_RESERVED / PAGE_SIZE)
		return NULL;
	channel = kzalloc(sizeof(*channel), GFP_KERNEL);
	if (!channel)
		return NULL;
	channel->id = id;
	channel->client = client;
	channel->object = object;
	channel->references = 1;
	channel->space = space;
	if (softgpu_tsg_join(gpu, channel)) {
		kfree(channel);
		return NULL;
	}
	if (object >= SOFTGPU_COPY_CHANNELS && softgpu_push_init(channel)) {
		softgpu_tsg_quit(gpu, channel);
		kfree(channel);
		return NULL;
	}
	/*
	 * Instance blocks lie in RM's part of vidmem, 4 KB each. Only their addresses are used.
	 */
	channel->instance = gpu->vidmem_bytes - SOFTGPU_RESERVED + id * PAGE_SIZE;
	list_add(&channel->node, &gpu->user_channels);
	return channel;
}

/* UVM may retain a channel more than once, from one address space. */
NV_STATUS nvUvmInterfaceRetainChannel(uvmGpuAddressSpaceHandle handle, NvHandle client,
				      NvHandle object, void **ret_retained,
				      UvmGpuChannelInstanceInfo *ret_info)
{
	struct softgpu_space *space = (struct softgpu_space *)handle;
	struct softgpu *gpu = space->gpu;
	struct softgpu_user_channel *channel;
	NV_STATUS status = NV_OK;

	mutex_lock(&gpu->lock);
	channel = softgpu_user_channel_find(gpu, client, object);
	if (!channel)
		channel = softgpu_user_channel_new(space, client, object);
	if (!channel)
		status = NV_ERR_NO_MEMORY;
	else if (channel->space != space)
		status = NV_ERR_IN_USE;
	else
		channel->retained++;
	mutex_unlock(&gpu->lock);
	if (status != NV_OK)
		return status;

	memset(ret_info, 0, sizeof(*ret_info));
	ret_info->base = channel->instance;
	ret_info->chId = channel->id;
	ret_info->bTsgChannel = NV_TRUE;
	ret_info->tsgId = channel->tsg->id;
	ret_info->tsgMaxSubctxCount = softgpu_subcontexts(gpu);
	ret_info->channelEngineType = channel->engine ? UVM_GPU_CHANNEL_ENGINE_TYPE_CE :
							UVM_GPU_CHANNEL_ENGINE_TYPE_GR;
	/* Only SMs have subcontexts. */
	ret_info->bInSubctx = !channel->engine;
	ret_info->subctxId = channel->engine ? 0 : channel->subcontext;
	if (gpu->instances && !channel->engine) {
		ret_info->smcEngineId = space->part->number;
		ret_info->smcEngineVeIdOffset = softgpu_first_subcontext(space);
	}
	ret_info->clearFaultedToken = channel->id;
	ret_info->pChramChannelRegister = &channel->chram;
#ifdef SOFTGPU_RUNLIST_PRI
	ret_info->pRunlistPRIBaseRegister = channel->runlist;
#else
	ret_info->workSubmissionOffset = channel->runlist;
#endif
	*ret_retained = channel;
	return NV_OK;
}

NV_STATUS nvUvmInterfaceBindChannelResources(void *retained,
					     UvmGpuChannelResourceBindParams *params)
{
	return NV_OK;
}

/* No access is under way through the channel after this, and none begins. */
static void softgpu_user_channel_stop(struct softgpu_user_channel *channel)
{
	struct softgpu *gpu = channel->space->gpu;

	mutex_lock(&gpu->lock); /* which pushes hold while they run */
	down_write(&gpu->walkers);
	channel->gone = true;
	up_write(&gpu->walkers);
	mutex_unlock(&gpu->lock);
	softgpu_wake_accesses(gpu);
}

void nvUvmInterfaceStopChannel(void *retained, NvBool immediate)
{
	softgpu_user_channel_stop(retained);
}

void nvUvmInterfaceReleaseChannel(void *retained)
{
	struct softgpu_user_channel *channel = retained;
	struct softgpu *gpu = channel->space->gpu;
	bool last;

	mutex_lock(&gpu->lock);
	last = !--channel->retained;
	if (last)
		list_del(&channel->node);
	mutex_unlock(&gpu->lock);
	if (!last)
		return;
	softgpu_user_channel_stop(channel);
	softgpu_user_channel_put(gpu, channel);
}
