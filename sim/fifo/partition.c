// SPDX-License-Identifier: MIT OR GPL-2.0
/* A partition's plan: what runs in it now, and when that can change. */
#include "fifo/partition.h"

#include "fifo/account.h"
#include "fifo/beside.h"
#include "fifo/remote.h"
#include "fifo/runlist.h"

/* The number of loaded TSGs that have a burst, whether or not its next kernel is launched. */
static u32 partition_count_busy(const struct fifo_partition *partition)
{
	const struct fifo_tsg *tsg;
	u32 busy = 0;

	fifo_for_each_loaded(partition->runlist.current, tsg)
		busy += tsg->first != NULL;
	return busy;
}

void partition_plan(struct fifo_partition *partition)
{
	struct fifo_runlist *runlist = &partition->runlist;
	u32 busy;
	u64 date;

	runlist_decide(runlist);
	busy = partition_count_busy(partition);
	beside_set_speeds(partition, busy == 1);
	remote_set_speeds(partition);
	date = runlist_next_date(runlist, busy > 1);
	if (date == ENG_NEVER)
		eng_timer_cancel(&partition->timer);
	else
		eng_timer_set(&partition->timer, date);
}

static void partition_fire(struct eng_timer *timer)
{
	struct fifo_partition *partition = container_of(timer, struct fifo_partition, timer);
	struct fifo_runlist *runlist = &partition->runlist;

	runlist_update(runlist);
	if (runlist->switching && runlist->switch_end_ns <= eng_now()) {
		runlist->switching = false;
		runlist_start_slice(runlist);
	}
	partition_plan(partition);
}

void partition_init(struct fifo_partition *partition, struct fifo *fifo,
		    const struct fifo_share *share)
{
	GVM_ASSERT(share->sm_ppm && share->sm_ppm <= FIFO_ALL_PPM);
	GVM_ASSERT(share->bandwidth_ppm && share->bandwidth_ppm <= FIFO_ALL_PPM);
	*partition = (struct fifo_partition){ .fifo = fifo, .share = *share };
	partition->timer.fire = partition_fire;
	partition->runlist.partition = partition;
	partition->runlist.updated_ns = eng_now();
	if (share->in_space)
		runlist_add(&partition->runlist, &partition->space);
}

void partition_add(struct fifo_partition *partition, struct fifo_tsg *tsg,
		   struct fifo_entry *server, u32 limit_ppm)
{
	tsg->sm_limit_ppm = beside_part(partition->share.sm_ppm, limit_ppm);
	if (!server && partition->share.in_space)
		server = &partition->space;
	entry_join(server ? server : &tsg->own, tsg);
	if (!server)
		runlist_add(&partition->runlist, &tsg->own);
}

void partition_remove(struct fifo_tsg *tsg)
{
	if (tsg->entry == &tsg->own)
		runlist_remove(&tsg->own);
	else
		entry_leave(tsg);
}
