// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The host engine's calls; see fifo.h for its rules. Below them: partition.c plans, beside.c
 * shares SMs and bandwidth, runlist.c gives turns, memory.c stalls bursts at missing pages, ring.c
 * makes the host wait, burst.c is the arithmetic of bursts.
 */
#include "fifo/fifo.h"

#include "fifo/account.h"
#include "fifo/burst.h"
#include "fifo/channel.h"
#include "fifo/memory.h"
#include "fifo/partition.h"
#include "fifo/runlist.h"

/* A GPU that is not cut up. */
static const struct fifo_share whole_gpu = { FIFO_ALL_PPM, FIFO_ALL_PPM, false };

void fifo_update(struct fifo *fifo)
{
	for (u32 i = 0; i < fifo->partition_count; i++)
		runlist_update(&fifo->partitions[i].runlist);
}

void fifo_book_stall(struct fifo_tsg *tsg)
{
	if (tsg->stalled)
		runlist_update(tsg->entry->runlist);
}

/* A TSG has changed: plan its partition again. */
static void tsg_plan(struct fifo_tsg *tsg)
{
	partition_plan(tsg->entry->runlist->partition);
}

void fifo_init(struct fifo *fifo, const struct fifo_config *config, struct gmmu *gmmu)
{
	u32 count = config->partition_count;

	GVM_ASSERT(count <= FIFO_PARTITIONS_MAX);
	*fifo = (struct fifo){
		.config = *config,
		.gmmu = gmmu,
		.partition_count = max(count, 1u),
		.next_id = 1,
	};
	for (u32 i = 0; i < fifo->partition_count; i++)
		partition_init(&fifo->partitions[i], fifo,
			       count ? &config->partitions[i] : &whole_gpu);
}

void fifo_destroy(struct fifo *fifo)
{
	for (u32 i = 0; i < fifo->partition_count; i++)
		eng_timer_cancel(&fifo->partitions[i].timer);
}

/* A number that was never used, and whose place is free. */
static u32 fifo_take_id(struct fifo *fifo, struct fifo_tsg *tsg)
{
	while (fifo->by_id[fifo->next_id % FIFO_CHANNELS_MAX])
		fifo->next_id++;
	fifo->by_id[fifo->next_id % FIFO_CHANNELS_MAX] = tsg;
	fifo->channels++;
	return fifo->next_id++;
}

static int tsg_init(struct fifo *fifo, struct fifo_tsg *tsg, const struct page_table *table,
		    struct fifo_partition *partition, struct fifo_entry *server, u32 limit_ppm)
{
	GVM_ASSERT(limit_ppm <= FIFO_ALL_PPM);
	if (fifo->channels == FIFO_CHANNELS_MAX)
		return -ENOSPC;
	*tsg = (struct fifo_tsg){
		.fifo = fifo,
		.id = fifo_take_id(fifo, tsg),
		.table = table,
		.timeslice_ns = fifo->config.timeslice_ns,
		.enabled = true,
		.allowed = FIFO_ALLOW_ALL,
		.main = { .tsg = tsg, .next = &tsg->main },
		.current = &tsg->main,
	};
	partition_add(partition, tsg, server, limit_ppm);
	return 0;
}

int fifo_tsg_init(struct fifo *fifo, struct fifo_tsg *tsg, const struct page_table *table)
{
	return tsg_init(fifo, tsg, table, &fifo->partitions[0], NULL, FIFO_ALL_PPM);
}

int fifo_tsg_init_in(struct fifo *fifo, struct fifo_tsg *tsg, const struct page_table *table,
		     u32 partition, u32 limit_ppm)
{
	GVM_ASSERT(partition < fifo->partition_count);
	return tsg_init(fifo, tsg, table, &fifo->partitions[partition], NULL, limit_ppm);
}

void fifo_server_init(struct fifo *fifo, struct fifo_entry *server, u32 partition)
{
	GVM_ASSERT(partition < fifo->partition_count &&
		   !fifo->partitions[partition].share.in_space);
	*server = (struct fifo_entry){ 0 };
	runlist_add(&fifo->partitions[partition].runlist, server);
}

int fifo_tsg_init_client(struct fifo_entry *server, struct fifo_tsg *tsg,
			 const struct page_table *table, u32 limit_ppm)
{
	struct fifo_partition *partition = server->runlist->partition;

	return tsg_init(partition->fifo, tsg, table, partition, server, limit_ppm);
}

void fifo_server_destroy(struct fifo_entry *server)
{
	GVM_ASSERT(!server->tsgs);
	runlist_remove(server);
}

static void tsg_fail_all(struct fifo_tsg *tsg)
{
	tsg->dead = true;
	tsg->stalled = false;
	while (tsg->first)
		tsg_finish_burst(tsg, -EIO);
}

void fifo_tsg_destroy(struct fifo_tsg *tsg)
{
	struct fifo_partition *partition = tsg->entry->runlist->partition;
	struct fifo *fifo = tsg->fifo;

	fifo_update(fifo);
	tsg_fail_all(tsg);
	partition_remove(tsg);
	fifo->by_id[tsg->id % FIFO_CHANNELS_MAX] = NULL;
	fifo->channels--;
	partition_plan(partition);
}

void fifo_channel_init(struct fifo_channel *channel, struct fifo_tsg *tsg)
{
	*channel = (struct fifo_channel){ .tsg = tsg, .next = tsg->main.next };
	tsg->main.next = channel;
}

void fifo_channel_destroy(struct fifo_channel *channel)
{
	struct fifo_tsg *tsg = channel->tsg;
	struct fifo_channel *before = &tsg->main;

	GVM_ASSERT(!channel->first);
	while (before->next != channel)
		before = before->next;
	before->next = channel->next;
	if (tsg->current == channel)
		tsg->current = before;
	tsg_choose_channel(tsg);
}

bool fifo_is_current(const struct fifo_tsg *tsg)
{
	return tsg->loaded;
}

/* Has the loaded entry of a TSG nothing to execute? More work for it is scheduled anew. */
static bool tsg_entry_is_idle(const struct fifo_tsg *tsg)
{
	const struct fifo_tsg *other;

	if (!tsg->loaded || !tsg->enabled || tsg->entry->runlist->switching)
		return false;
	fifo_for_each_loaded(tsg->entry, other)
		if (tsg_work_date(other) != ENG_NEVER)
			return false;
	return true;
}

/* A TSG has one more burst, which may wait. @idle: tsg_entry_is_idle() until now. */
static void tsg_add_work(struct fifo_tsg *tsg, bool idle)
{
	tsg_choose_channel(tsg);
	if (idle && tsg_work_date(tsg) != ENG_NEVER)
		runlist_start_slice(tsg->entry->runlist);
	tsg_plan(tsg);
}

/*
 * Withhold those kernels of a burst that may not be launched and have not begun. A kernel that
 * waits for its pages has begun.
 */
static void burst_withhold(struct fifo_tsg *tsg, struct fifo_burst *burst)
{
	u64 begun = (burst->done_ns + (burst->done_ppm != 0) + burst->kernel_ns - 1) /
		    burst->kernel_ns;
	u64 own = tsg->allowed > burst->ordinal ? tsg->allowed - burst->ordinal : 0;

	if (burst == tsg->first && (tsg->stalled || tsg_is_faulting(tsg)))
		begun = burst->done_ns / burst->kernel_ns + 1;
	burst->withheld = (u32)(burst->kernels - min((u64)burst->kernels, max(own, begun)));
}

void fifo_submit_to(struct fifo_channel *channel, struct fifo_burst *burst)
{
	struct fifo_tsg *tsg = channel->tsg;
	bool idle;

	GVM_ASSERT(burst->kernels && burst->kernel_ns);
	GVM_ASSERT(tsg->table || !burst->touch_count);
	GVM_ASSERT(burst->kernel_ns <= FIFO_BURST_MAX_NS / burst->kernels);
	GVM_ASSERT(burst->launch_ns <= FIFO_BURST_MAX_NS / burst->kernels);
	fifo_update(tsg->fifo);
	/* The launch fails: nothing of it is submitted, or counted. */
	if (tsg->dead) {
		burst->finished = true;
		burst->status = -EIO;
		burst->finished_ns = eng_now();
		if (burst->on_end)
			burst->on_end(burst);
		return;
	}
	burst->walk = (struct gmmu_walk){ .table = tsg->table,
					  .touches = burst->touches,
					  .count = burst->touch_count };
	burst->ordinal = tsg->submitted;
	tsg->submitted += burst->kernels;
	burst_withhold(tsg, burst);
	burst->launch_start_ns = max((u64)eng_now_busy(), tsg->launch_end_ns);
	GVM_ASSERT(burst->launch_start_ns <= FIFO_BURST_MAX_NS);
	tsg->launch_end_ns = burst_launch_end_ns(burst);
	idle = tsg_entry_is_idle(tsg);
	if (channel->last)
		channel->last->next = burst;
	else
		channel->first = burst;
	channel->last = burst;
	tsg_add_work(tsg, idle);
}

void fifo_submit(struct fifo_tsg *tsg, struct fifo_burst *burst)
{
	fifo_submit_to(&tsg->main, burst);
}

void fifo_release(struct fifo_channel *channel, struct fifo_burst *burst)
{
	struct fifo_tsg *tsg = channel->tsg;
	bool idle;

	fifo_update(tsg->fifo);
	idle = tsg_entry_is_idle(tsg);
	burst->waits = false;
	tsg_add_work(tsg, idle);
}

void fifo_set_ring(struct fifo_tsg *tsg, u32 launches)
{
	tsg->ring = launches;
}

/* The burst that was submitted first of those from kernel @ordinal on, or NULL. */
static struct fifo_burst *tsg_burst_from(struct fifo_tsg *tsg, u64 ordinal)
{
	struct fifo_channel *channel;
	struct fifo_burst *first = NULL;

	fifo_for_each_channel(tsg, channel) {
		struct fifo_burst *burst = channel->first;

		while (burst && burst->ordinal < ordinal)
			burst = burst->next;
		if (burst && (!first || burst->ordinal < first->ordinal))
			first = burst;
	}
	return first;
}

void fifo_allow(struct fifo_tsg *tsg, u64 kernels, bool host_waits)
{
	u64 free_ns = 0; /* when the host thread has launched the bursts before */
	struct fifo_burst *burst;
	bool idle;

	fifo_update(tsg->fifo);
	idle = tsg_entry_is_idle(tsg);
	tsg->allowed = kernels;
	for (burst = tsg_burst_from(tsg, 0); burst;
	     burst = tsg_burst_from(tsg, burst->ordinal + 1)) {
		u64 launching = (burst->kernels - burst->withheld) * burst->launch_ns;
		u64 launched_ns = burst->launch_start_ns + launching;

		if (host_waits && burst->withheld && launched_ns < eng_now())
			burst->launch_start_ns = eng_now() - launching;
		burst->launch_start_ns = max(burst->launch_start_ns, free_ns);
		burst_withhold(tsg, burst);
		if (host_waits)
			free_ns = burst_launch_end_ns(burst);
	}
	tsg->launch_end_ns = max(tsg->launch_end_ns, free_ns);
	tsg_add_work(tsg, idle);
}

bool fifo_next_burst(struct fifo_tsg *tsg, u64 from, u64 *ret_end, u64 *ret_launched_ns)
{
	const struct fifo_burst *burst = tsg_burst_from(tsg, from);

	if (!burst || burst->waits)
		return false;
	*ret_end = burst->ordinal + burst->kernels;
	*ret_launched_ns = burst_launch_end_ns(burst);
	return true;
}

u64 fifo_withheld_since(struct fifo_tsg *tsg)
{
	struct fifo_burst *burst = tsg_burst_from(tsg, 0);
	u64 date;

	while (burst && !burst->withheld)
		burst = tsg_burst_from(tsg, burst->ordinal + 1);
	if (!burst)
		return ENG_NEVER;
	date = burst->launch_start_ns + (burst->kernels - burst->withheld) * burst->launch_ns;
	return date <= eng_now() ? date : ENG_NEVER;
}

int fifo_wait(struct fifo_burst *burst)
{
	int status = 0;

	while (!burst->finished && status != -EINTR)
		status = eng_wait(&burst->waitq, ENG_NEVER, true);
	return burst->finished ? burst->status : status;
}

void fifo_replay(struct fifo *fifo)
{
	fifo_update(fifo);
	for (u32 i = 0; i < fifo->partition_count; i++) {
		struct fifo_partition *partition = &fifo->partitions[i];
		struct fifo_tsg *tsg;

		/* Only a context that is loaded can be stalled. */
		fifo_for_each_loaded(partition->runlist.current, tsg)
			if (tsg->stalled)
				tsg_replay(tsg);
		partition_plan(partition);
	}
}

/*
 * The block at @va is unmapped. Will a burst miss earlier than it was planned? Without a count
 * of its blocks, all was resident at the last plan, and the next plan finds the miss.
 */
static bool burst_misses_at(struct fifo_burst *burst, u64 va)
{
	struct gmmu_span span = { .end = burst->cursor.ordinal };

	if (!burst->touch_blocks)
		return true;
	span.first = max(burst->granted_ordinal, burst_progress_ordinal(burst));
	span.start = burst->reached;
	return gmmu_find_block(&burst->walk, va, &span, &burst->cursor);
}

void fifo_unmapped(struct fifo_tsg *tsg, u64 va)
{
	struct fifo_channel *channel;
	bool updated = false, misses = false;

	fifo_for_each_channel(tsg, channel) {
		struct fifo_burst *burst = channel->first;

		if (!burst || !burst->touch_count)
			continue;
		if (!updated)
			fifo_update(tsg->fifo);
		updated = true;
		misses |= burst_misses_at(burst, va);
	}
	if (misses)
		tsg_plan(tsg);
}

void fifo_link_changed(struct fifo *fifo)
{
	fifo_update(fifo);
	for (u32 i = 0; i < fifo->partition_count; i++)
		partition_plan(&fifo->partitions[i]);
}

void fifo_set_sm_priority(struct fifo_tsg *tsg, u32 priority)
{
	GVM_ASSERT(priority < FIFO_SM_PRIORITIES);
	fifo_update(tsg->fifo);
	tsg->sm_priority = priority;
	tsg_plan(tsg);
}

struct fifo_usage fifo_usage(const struct fifo *fifo)
{
	struct fifo_usage usage = { .switches = fifo->switches };

	for (u32 i = 0; i < fifo->partition_count; i++) {
		const struct fifo_partition *partition = &fifo->partitions[i];
		const struct fifo_runlist *runlist = &partition->runlist;
		u64 share = partition->share.sm_ppm;

		usage.busy_ns += runlist->busy_ns;
		usage.switching_ns += fifo_mul_div(runlist->switching_ns, share, FIFO_ALL_PPM);
		usage.stalled_ns += fifo_mul_div(runlist->stalled_ns, share, FIFO_ALL_PPM);
	}
	return usage;
}

struct fifo_tsg *fifo_find(struct fifo *fifo, u32 tsg_id)
{
	struct fifo_tsg *tsg = fifo->by_id[tsg_id % FIFO_CHANNELS_MAX];

	return tsg && tsg->id == tsg_id ? tsg : NULL;
}

void fifo_kill(struct fifo *fifo, u32 tsg_id)
{
	struct fifo_tsg *tsg = fifo_find(fifo, tsg_id);

	if (!tsg)
		return;
	fifo_update(fifo);
	tsg_fail_all(tsg);
	tsg_plan(tsg);
}

void fifo_set_timeslice(struct fifo_tsg *tsg, u64 timeslice_ns)
{
	struct fifo_tsg *client;

	fifo_update(tsg->fifo);
	fifo_for_each_in(tsg->entry, client)
		client->timeslice_ns = timeslice_ns;
	tsg_plan(tsg);
}

void fifo_disable(struct fifo_tsg *tsg)
{
	fifo_update(tsg->fifo);
	tsg->enabled = false;
	tsg_plan(tsg);
}

void fifo_enable(struct fifo_tsg *tsg)
{
	fifo_update(tsg->fifo);
	tsg->enabled = true;
	tsg_plan(tsg);
}

void fifo_preempt(struct fifo_tsg *tsg)
{
	fifo_update(tsg->fifo);
	tsg->preempted = fifo_is_current(tsg);
	tsg_plan(tsg);
}

bool fifo_kernel_progress(struct fifo_tsg *tsg, u64 *ret_done_ns, u64 *ret_left_ns)
{
	const struct fifo_burst *burst;

	fifo_update(tsg->fifo);
	burst = tsg->first;
	if (!fifo_is_current(tsg) || tsg->entry->runlist->switching || !burst ||
	    burst_ready_date(burst, eng_now()) > eng_now())
		return false;
	*ret_done_ns = burst->done_ns - burst->done_kernels * burst->kernel_ns;
	*ret_left_ns = burst->kernel_ns - *ret_done_ns;
	return true;
}

bool fifo_busy(const struct fifo_tsg *tsg)
{
	return tsg->first != NULL;
}

u64 fifo_pending_kernels(const struct fifo_tsg *tsg)
{
	const struct fifo_channel *channel;
	u64 pending = 0;

	fifo_for_each_channel(tsg, channel)
		for (const struct fifo_burst *burst = channel->first; burst;
		     burst = burst->next)
			pending += burst_launched(burst, eng_now()) - burst->done_kernels;
	return pending;
}

u64 fifo_ended_kernels(const struct fifo_tsg *tsg)
{
	const struct fifo_channel *channel;
	u64 ended = tsg->ended_kernels;

	fifo_for_each_channel(tsg, channel)
		ended += channel->first ? channel->first->done_kernels : 0;
	return ended;
}
