// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Streaming multiprocessors. Each is a thread that takes a TSG off the runlist and runs its
 * warps in turn. A warp that misses its page posts a record to the fault buffer and stalls
 * until the next replay, while the others go on. When all warps have stalled, the thread
 * sleeps.
 */
#include "fakegpu.h"

/*
 * The number of the @nth page that a kernel touches, counted from the first page of its range.
 */
static u64 job_page(const struct fakegpu_job *job, u64 nth)
{
	switch (job->launch->order) {
	case GVM_FAKEGPU_BACKWARD:
		nth = job->pages - 1 - nth;
		break;
	case GVM_FAKEGPU_SHUFFLED:
		nth = (nth * job->multiplier) % job->pages;
		break;
	}
	return nth * job->launch->stride_pages;
}

/* Give the next page to a warp. */
static void warp_begin(struct fakegpu_warp *warp, struct fakegpu_job *job)
{
	const struct gvm_fakegpu_launch *launch = job->launch;
	u64 first = launch->va & ~(GVM_PAGE_BYTES - 1);
	u64 page = first + (job_page(job, job->next_page++) << GVM_PAGE_SHIFT);

	memset(warp, 0, sizeof(*warp));
	warp->va = max(page, launch->va);
	warp->end = min(page + GVM_PAGE_BYTES, launch->va + launch->bytes);
}

static void words_store(u64 *words, u64 count, u64 va, u64 seed)
{
	u64 i;

	for (i = 0; i < count; i++)
		words[i] = gvm_fakegpu_word(seed, va + 8 * i);
}

/* Count the words that differ from the kernel's pattern or from zero. */
static void words_verify(const u64 *words, u64 count, u64 va, struct gvm_fakegpu_launch *launch)
{
	u64 i;

	for (i = 0; i < count; i++) {
		u64 word = launch->op == GVM_FAKEGPU_VERIFY ?
				   gvm_fakegpu_word(launch->seed, va + 8 * i) :
				   0;

		if (words[i] == word)
			continue;
		if (!launch->ret_mismatches++)
			launch->ret_first_va = va + 8 * i;
	}
}

/* Do the kernel's operation on the @count bytes at @bytes. */
static void job_apply(struct fakegpu_job *job, void *bytes, u64 va, u64 count)
{
	struct gvm_fakegpu_launch *launch = job->launch;

	if (job->store)
		memcpy(bytes, job->store + (va - launch->va), count);
	else if (job->load)
		memcpy(job->load + (va - launch->va), bytes, count);
	else if (launch->op == GVM_FAKEGPU_FILL)
		words_store(bytes, count / 8, va, launch->seed);
	else
		words_verify(bytes, count / 8, va, launch);
}

static bool job_writes(const struct fakegpu_job *job)
{
	return job->store || (!job->load && job->launch->op == GVM_FAKEGPU_FILL);
}

/* The number of parts that an instruction touches. */
static u32 job_parts(const struct fakegpu_job *job)
{
	return max(job->launch->together, 1u);
}

/*
 * Post a fault for each part that is not mapped for the warp's instruction. Returns the number
 * of faults; the warp has stalled unless it is 0.
 */
static u32 warp_fault(struct fakegpu_tsg *tsg, const struct fakegpu_job *job,
		      struct fakegpu_warp *warp, u32 missing)
{
	struct fakegpu_context *context = tsg->context;

	for (u32 part = 0; part < job_parts(job); part++) {
		u64 va = warp->va + part * job->part_bytes;
		struct gvm_fault fault = {
			.space = (void *)(unsigned long)context->id,
			.va = va & ~(GVM_PAGE_BYTES - 1),
			.tsg = tsg->id,
			.access = job_writes(job) ? GVM_ACCESS_WRITE : GVM_ACCESS_READ,
		};
		u64 replays;

		if (!(missing & (1u << part)))
			continue;
		replays = fakegpu_fault_post(context->gpu, &fault);
		warp->replays = warp->stalled ? min(warp->replays, replays) : replays;
		warp->stalled = true;
		warp->fault_ns = warp->fault_ns ?: ktime_get_ns();
	}
	return hweight32(missing);
}

/*
 * One instruction of a warp: the same place of each part. The warp advances, or stalls if one
 * of them is not mapped.
 */
static void warp_step(struct fakegpu_tsg *tsg, struct fakegpu_job *job,
		      struct fakegpu_warp *warp)
{
	struct fakegpu_page_table *table = &tsg->context->table;
	u64 next = (warp->va | (FAKEGPU_ACCESS_BYTES - 1)) + 1;
	u64 count = min(next, warp->end) - warp->va;
	bool write = job_writes(job);
	u32 parts = job_parts(job), missing = 0;

	fakegpu_access_lock(table);
	for (u32 part = 0; part < parts; part++)
		if (!fakegpu_access_find(table, warp->va + part * job->part_bytes, write))
			missing |= 1u << part;
	for (u32 part = 0; part < parts && !missing; part++) {
		u64 va = warp->va + part * job->part_bytes;

		job_apply(job, fakegpu_access_find(table, va, write), va, count);
	}
	fakegpu_access_unlock(table);
	if (warp_fault(tsg, job, warp, missing))
		return;
	if (warp->fault_ns)
		job->launch->ret_fault_ns =
			max(job->launch->ret_fault_ns, ktime_get_ns() - warp->fault_ns);
	warp->fault_ns = 0;
	warp->va += count;
	WRITE_ONCE(tsg->accesses, tsg->accesses + 1);
}

/*
 * Each warp that can makes a step. If the TSG is @due to leave, only warps whose access has
 * stalled make one. Returns the number of stalled warps.
 */
static u32 sm_round(struct fakegpu_tsg *tsg, struct fakegpu_job *job, bool due)
{
	u64 replays = fakegpu_replays(tsg->context->gpu);
	u32 stalled = 0;
	u32 i = 0;

	while (!due && tsg->warp_count < FAKEGPU_WARPS && job->next_page < job->pages)
		warp_begin(&tsg->warps[tsg->warp_count++], job);
	while (i < tsg->warp_count) {
		struct fakegpu_warp *warp = &tsg->warps[i];
		bool was_stalled = warp->stalled;

		if (warp->stalled && warp->replays < replays)
			warp->stalled = false;
		if (!warp->stalled && (was_stalled || !due))
			warp_step(tsg, job, warp);
		if (warp->va == warp->end) {
			*warp = tsg->warps[--tsg->warp_count];
			continue;
		}
		stalled += warp->stalled;
		i++;
	}
	return stalled;
}

/*
 * No warp can make a step: sleep until a replay, or until the job is given up or the thread is
 * stopped.
 */
static void sm_wait(struct fakegpu_tsg *tsg)
{
	struct fakegpu *gpu = tsg->context->gpu;
	u64 replays = U64_MAX;
	u32 i;

	for (i = 0; i < tsg->warp_count; i++)
		if (tsg->warps[i].stalled)
			replays = min(replays, tsg->warps[i].replays);
	(void)wait_event_interruptible(gpu->faults.replayed,
				       fakegpu_replays(gpu) > replays ||
					       fakegpu_tsg_given_up(tsg) ||
					       gvm_worker_should_stop());
}

/* Run a TSG until it has no job or has to leave. */
static void sm_run(struct fakegpu_sm *sm, struct fakegpu_tsg *tsg)
{
	struct fakegpu_job *job;
	u32 stalled = 0;
	bool due;

	while ((job = fakegpu_tsg_job(sm, tsg, stalled, &due))) {
		stalled = sm_round(tsg, job, due);
		if (!tsg->warp_count && job->next_page == job->pages)
			fakegpu_job_done(tsg, job);
		else if (stalled && (due || stalled == tsg->warp_count))
			sm_wait(tsg);
		cond_resched();
	}
}

static void sm_thread(void *data)
{
	struct fakegpu_sm *sm = data;
	struct fakegpu_tsg *tsg = NULL;

	for (;;) {
		(void)wait_event_interruptible(sm->gpu->work, (tsg = fakegpu_tsg_take(sm)) ||
								      gvm_worker_should_stop());
		if (!tsg)
			break;
		sm_run(sm, tsg);
		fakegpu_tsg_leave(sm, tsg);
	}
}

static enum hrtimer_restart sm_timer(struct hrtimer *timer)
{
	struct fakegpu_sm *sm = container_of(timer, struct fakegpu_sm, timer);

	WRITE_ONCE(sm->expired, true);
	return HRTIMER_NORESTART;
}

int fakegpu_sms_start(struct fakegpu *gpu, u32 count)
{
	int status = 0;

	while (gpu->sm_count < count && !status) {
		struct fakegpu_sm *sm = &gpu->sms[gpu->sm_count];

		sm->gpu = gpu;
		hrtimer_init(&sm->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
		sm->timer.function = sm_timer;
		status = gvm_worker_start(&sm->worker, "fakegpu sm", sm_thread, sm);
		gpu->sm_count += !status;
	}
	if (status)
		fakegpu_sms_stop(gpu);
	return status;
}

void fakegpu_sms_stop(struct fakegpu *gpu)
{
	while (gpu->sm_count)
		gvm_worker_stop(&gpu->sms[--gpu->sm_count].worker);
}
