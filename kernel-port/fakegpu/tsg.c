// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The host engine: TSGs, their jobs, the runlist from which SMs take TSGs, and the RPCs by
 * which the core controls it.
 *
 *                    .--------- enabled, has jobs --------.
 *                    v                                    |
 *     runlist: A, B, C  --take--> on an SM --leave--> (job done, timeslice over, preempted)
 *
 * A TSG whose timeslice is over stays while no other TSG wants an SM. A TSG with stalled warps
 * stays until their faults have been serviced (GVM 7.5). When it is due to leave, its other
 * warps make no access. Only stalled accesses finish, so a tenant that faults all the time
 * leaves as well.
 */
#include "fakegpu.h"

#include <linux/moduleparam.h>

static unsigned int fail_rpcs;
module_param(fail_rpcs, uint, 0644);
MODULE_PARM_DESC(fail_rpcs, "let every n-th RPC about a TSG fail with EIO (0: none)");

/* Put a TSG on the runlist if it can run, else take it off. GPU's lock held. */
static void tsg_update_locked(struct fakegpu_tsg *tsg)
{
	struct fakegpu *gpu = tsg->context->gpu;
	bool runnable = tsg->enabled && !tsg->sm && !list_empty(&tsg->jobs);

	lockdep_assert_held(&gpu->lock);
	if (!runnable) {
		list_del_init(&tsg->node);
	} else if (list_empty(&tsg->node)) {
		list_add_tail(&tsg->node, &gpu->runlist);
		wake_up_all(&gpu->work);
	}
}

/* End the first job of a TSG. Its warps are dropped. GPU's lock held. */
static void job_end_locked(struct fakegpu_tsg *tsg, struct fakegpu_job *job, int status)
{
	struct fakegpu *gpu = tsg->context->gpu;

	list_del_init(&job->node);
	tsg->warp_count = 0;
	job->status = status;
	job->done = true;
	wake_up_all(&gpu->idle);
}

/* The error for which a job has been given up, or 0. */
static int job_given_up(const struct fakegpu_tsg *tsg, const struct fakegpu_job *job)
{
	if (job->aborted)
		return -EINTR;
	return tsg->error;
}

static struct fakegpu_job *tsg_first_job(struct fakegpu_tsg *tsg)
{
	return list_first_entry_or_null(&tsg->jobs, struct fakegpu_job, node);
}

/*
 * End the jobs at the head that have been given up. GPU's lock held; no other SM runs the TSG.
 */
static void tsg_reap_locked(struct fakegpu_tsg *tsg)
{
	struct fakegpu_job *job;

	while ((job = tsg_first_job(tsg)) && job_given_up(tsg, job))
		job_end_locked(tsg, job, job_given_up(tsg, job));
}

struct fakegpu_tsg *fakegpu_tsg_take(struct fakegpu_sm *sm)
{
	struct fakegpu *gpu = sm->gpu;
	struct fakegpu_tsg *tsg;

	spin_lock(&gpu->lock);
	tsg = list_first_entry_or_null(&gpu->runlist, struct fakegpu_tsg, node);
	if (tsg) {
		tsg->sm = sm;
		tsg->scheduled_ns = ktime_get_ns();
		tsg_update_locked(tsg);
		WRITE_ONCE(sm->expired, false);
		hrtimer_start(&sm->timer, ns_to_ktime(tsg->timeslice_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL);
	}
	spin_unlock(&gpu->lock);
	return tsg;
}

void fakegpu_tsg_leave(struct fakegpu_sm *sm, struct fakegpu_tsg *tsg)
{
	struct fakegpu *gpu = sm->gpu;

	hrtimer_cancel(&sm->timer);
	spin_lock(&gpu->lock);
	gpu->switches += !list_empty(&tsg->jobs);
	tsg->sm = NULL;
	tsg->runtime_ns += ktime_get_ns() - tsg->scheduled_ns;
	tsg->preempt = false;
	tsg_reap_locked(tsg);
	tsg_update_locked(tsg);
	wake_up_all(&gpu->idle);
	spin_unlock(&gpu->lock);
}

/*
 * Is the TSG due to leave its SM? It was asked to, or its timeslice is over and it is disabled
 * or another TSG waits on the runlist. GPU's lock held.
 */
static bool tsg_is_due_locked(const struct fakegpu_tsg *tsg)
{
	const struct fakegpu_sm *sm = tsg->sm;

	if (tsg->preempt)
		return true;
	return READ_ONCE(sm->expired) && (!tsg->enabled || !list_empty(&sm->gpu->runlist));
}

struct fakegpu_job *fakegpu_tsg_job(struct fakegpu_sm *sm, struct fakegpu_tsg *tsg,
				    bool stalled, bool *ret_due)
{
	struct fakegpu *gpu = sm->gpu;
	const struct fakegpu_job *running;
	struct fakegpu_job *next;
	bool given_up, leaves;

	spin_lock(&gpu->lock);
	running = tsg_first_job(tsg);
	given_up = running && job_given_up(tsg, running);
	tsg_reap_locked(tsg);
	next = tsg_first_job(tsg);
	*ret_due = tsg_is_due_locked(tsg);
	/* The stalled warps of a job that was given up are gone with it. */
	leaves = *ret_due && (!stalled || given_up);
	spin_unlock(&gpu->lock);
	return leaves ? NULL : next;
}

void fakegpu_job_done(struct fakegpu_tsg *tsg, struct fakegpu_job *job)
{
	struct fakegpu *gpu = tsg->context->gpu;

	spin_lock(&gpu->lock);
	job_end_locked(tsg, job, 0);
	spin_unlock(&gpu->lock);
}

bool fakegpu_tsg_given_up(struct fakegpu_tsg *tsg)
{
	struct fakegpu *gpu = tsg->context->gpu;
	struct fakegpu_job *job;
	bool given_up;

	spin_lock(&gpu->lock);
	job = tsg_first_job(tsg);
	given_up = !job || job_given_up(tsg, job);
	spin_unlock(&gpu->lock);
	return given_up;
}

/* Queue a job. 0, or -EIO: the TSG is dead. */
static int job_submit(struct fakegpu_tsg *tsg, struct fakegpu_job *job)
{
	struct fakegpu *gpu = tsg->context->gpu;
	int status = -EIO;

	spin_lock(&gpu->lock);
	if (!tsg->error) {
		list_add_tail(&job->node, &tsg->jobs);
		tsg_update_locked(tsg);
		status = 0;
	}
	spin_unlock(&gpu->lock);
	return status;
}

static bool job_is_done(struct fakegpu *gpu, const struct fakegpu_job *job)
{
	bool done;

	spin_lock(&gpu->lock);
	done = job->done;
	spin_unlock(&gpu->lock);
	return done;
}

/* Take a job off the GPU: at once if its turn has not come, else by the SM that runs it. */
static void job_abort(struct fakegpu_tsg *tsg, struct fakegpu_job *job)
{
	struct fakegpu *gpu = tsg->context->gpu;

	spin_lock(&gpu->lock);
	if (!job->done) {
		job->aborted = true;
		if (job != tsg_first_job(tsg)) {
			list_del_init(&job->node);
			job->status = -EINTR;
			job->done = true;
		} else if (!tsg->sm) {
			tsg_reap_locked(tsg);
			tsg_update_locked(tsg);
		}
	}
	spin_unlock(&gpu->lock);
	wake_up_all(&gpu->faults.replayed);
	wait_event(gpu->idle, job_is_done(gpu, job));
}

int fakegpu_job_run(struct fakegpu_tsg *tsg, struct fakegpu_job *job)
{
	struct fakegpu *gpu = tsg->context->gpu;
	int status = READ_ONCE(gpu->lost) ? -ENODEV : job_submit(tsg, job);

	if (status)
		return status;
	gvm_container_count_kernels(tsg->context->container, 1, 0);
	gvm_scheduler_kick_launch(tsg->context->container);
	if (wait_event_interruptible(gpu->idle, job_is_done(gpu, job)))
		job_abort(tsg, job);
	gvm_container_count_kernels(tsg->context->container, 0, 1);
	return job->status;
}

/*
 * Ids are used again only after all others, so an old fault record does not name another TSG.
 */
int fakegpu_tsg_create(struct fakegpu_context *context, struct fakegpu_tsg *tsg)
{
	struct fakegpu *gpu = context->gpu;
	int status;

	memset(tsg, 0, sizeof(*tsg));
	tsg->context = context;
	INIT_LIST_HEAD(&tsg->node);
	INIT_LIST_HEAD(&tsg->jobs);
	tsg->enabled = true;
	tsg->timeslice_us = gpu->device->default_timeslice_us;
	status = xa_alloc_cyclic(&gpu->tsgs, &tsg->id, tsg, xa_limit_31b, &gpu->next_tsg,
				 GFP_KERNEL);
	return min(status, 0);
}

void fakegpu_tsg_destroy(struct fakegpu_tsg *tsg)
{
	struct fakegpu *gpu = tsg->context->gpu;

	xa_erase(&gpu->tsgs, tsg->id);
	/* A TSG that has just finished its last job may still be on its SM. */
	gvm_trace_wait("its own TSG", true);
	wait_event(gpu->idle, !READ_ONCE(tsg->sm));
	gvm_trace_wait("its own TSG", false);
	spin_lock(&gpu->lock);
	WARN_ON_ONCE(!list_empty(&tsg->jobs) || !list_empty(&tsg->node));
	spin_unlock(&gpu->lock);
}

/* RPCs. The core makes them under its tsg_mutex, so no attached TSG can go away. */

/* For tests that count the RPCs for which other threads wait. Here an RPC takes no time. */
static void trace_rpc(void)
{
	gvm_trace_wait("rpc", true);
	gvm_trace_wait("rpc", false);
}

/*
 * Find the TSG of an RPC. Returns 0, -ENODEV, -ENXIO (the GPU is lost), or -EIO: the RPC fails.
 */
static int tsg_find(struct fakegpu *gpu, u32 id, struct fakegpu_tsg **ret_tsg)
{
	trace_rpc();
	if (READ_ONCE(gpu->lost))
		return -ENXIO;
	if (fakegpu_fails(&gpu->rpcs, READ_ONCE(fail_rpcs)))
		return -EIO;
	*ret_tsg = xa_load(&gpu->tsgs, id);
	return *ret_tsg ? 0 : -ENODEV;
}

int fakegpu_tsg_set_timeslice(void *data, u32 id, u64 timeslice_us)
{
	struct fakegpu *gpu = data;
	struct fakegpu_tsg *tsg;
	int status = tsg_find(gpu, id, &tsg);

	if (status)
		return status;
	spin_lock(&gpu->lock);
	tsg->timeslice_us = timeslice_us;
	spin_unlock(&gpu->lock);
	return 0;
}

/* One RPC: it changes all TSGs that exist. An error has changed none. */
static int tsgs_set_enabled(struct fakegpu *gpu, const u32 *ids, u32 count, bool enabled)
{
	struct fakegpu_tsg *tsg;
	int status = -ENODEV;
	u32 i;

	trace_rpc();
	if (READ_ONCE(gpu->lost))
		return -ENXIO;
	if (fakegpu_fails(&gpu->rpcs, READ_ONCE(fail_rpcs)))
		return -EIO;
	for (i = 0; i < count; i++) {
		tsg = xa_load(&gpu->tsgs, ids[i]);
		if (!tsg)
			continue;
		status = 0;
		spin_lock(&gpu->lock);
		tsg->enabled = enabled;
		tsg_update_locked(tsg);
		spin_unlock(&gpu->lock);
	}
	return status;
}

/*
 * Ask a TSG to leave its SM. It does so after its next step, or after the replay that it waits
 * for.
 */
static void tsg_preempt(struct fakegpu *gpu, struct fakegpu_tsg *tsg)
{
	spin_lock(&gpu->lock);
	tsg->preempt = tsg->sm;
	spin_unlock(&gpu->lock);
}

int fakegpu_tsgs_disable(void *data, const u32 *ids, u32 count, bool preempt)
{
	struct fakegpu *gpu = data;
	int status = tsgs_set_enabled(gpu, ids, count, false);

	for (u32 i = 0; i < count && !status && preempt; i++) {
		struct fakegpu_tsg *tsg = xa_load(&gpu->tsgs, ids[i]);

		if (tsg)
			tsg_preempt(gpu, tsg);
	}
	return status;
}

int fakegpu_tsgs_enable(void *gpu, const u32 *ids, u32 count)
{
	return tsgs_set_enabled(gpu, ids, count, true);
}

int fakegpu_tsg_preempt(void *data, u32 id)
{
	struct fakegpu *gpu = data;
	struct fakegpu_tsg *tsg;
	int status = tsg_find(gpu, id, &tsg);

	if (!status)
		tsg_preempt(gpu, tsg);
	return status;
}

/* The xarray's lock keeps the TSG, as in fakegpu_tsg_kill(). */
void fakegpu_tsg_sample(void *data, u32 id, struct gvm_tsg_sample *ret_sample)
{
	struct fakegpu *gpu = data;
	struct fakegpu_tsg *tsg;

	xa_lock(&gpu->tsgs);
	tsg = xa_load(&gpu->tsgs, id);
	if (tsg) {
		spin_lock(&gpu->lock);
		ret_sample->busy = !list_empty(&tsg->jobs);
		ret_sample->on_gpu = tsg->sm;
		ret_sample->runtime_ns = tsg->runtime_ns;
		if (tsg->sm)
			ret_sample->runtime_ns += ktime_get_ns() - tsg->scheduled_ns;
		spin_unlock(&gpu->lock);
	}
	xa_unlock(&gpu->tsgs);
}

u64 fakegpu_tsg_accesses(void *data, u32 id)
{
	struct fakegpu *gpu = data;
	struct fakegpu_tsg *tsg;
	u64 accesses = 0;

	xa_lock(&gpu->tsgs);
	tsg = xa_load(&gpu->tsgs, id);
	if (tsg)
		accesses = READ_ONCE(tsg->accesses);
	xa_unlock(&gpu->tsgs);
	return accesses;
}

/* The xarray's lock keeps the TSG: fakegpu_tsg_destroy() takes it out under that lock. */
void fakegpu_tsg_kill(struct fakegpu *gpu, u32 id, int error)
{
	struct fakegpu_tsg *tsg;
	bool died = false;

	xa_lock(&gpu->tsgs);
	tsg = xa_load(&gpu->tsgs, id);
	if (tsg) {
		spin_lock(&gpu->lock);
		died = !tsg->error;
		tsg->error = tsg->error ? tsg->error : error;
		if (!tsg->sm) {
			tsg_reap_locked(tsg);
			tsg_update_locked(tsg);
		}
		spin_unlock(&gpu->lock);
		/* A lost GPU is no lack of memory. */
		if (died && !READ_ONCE(gpu->lost))
			gvm_container_count_death(tsg->context->container, error);
	}
	xa_unlock(&gpu->tsgs);
	wake_up_all(&gpu->faults.replayed);
}

bool fakegpu_tsg_is_dead(struct fakegpu *gpu, u32 id)
{
	struct fakegpu_tsg *tsg;
	bool dead;

	xa_lock(&gpu->tsgs);
	tsg = xa_load(&gpu->tsgs, id);
	spin_lock(&gpu->lock);
	dead = !tsg || tsg->error;
	spin_unlock(&gpu->lock);
	xa_unlock(&gpu->tsgs);
	return dead;
}
