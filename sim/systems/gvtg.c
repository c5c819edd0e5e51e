// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvtg: mediated pass-through, as Intel's GVT-g does it (High-level design of GVT-g on ACRN;
 * drivers/gpu/drm/i915/gvt of Linux). Each container is a virtual machine with a full virtual
 * GPU and the native driver in it.
 *
 * What is frequent goes straight to the hardware: command buffers and memory. What is
 * privileged is trapped and done by the host: submissions and page tables. The GPU itself
 * cannot be cut up, so one vGPU at a time owns it (gvtg_policy.h).
 *
 *     workload   What the guest submits at once: a burst, here an application's step. It is
 *                queued when the host thread has launched its last kernel. One workload is in
 *                flight; no workload is split or preempted.
 *     turnover   From the end of a workload to the start of the next one the GPU is idle:
 *
 *                    complete + elsp_writes x trap + shadow + scan x kernels + pin + submit
 *
 *                that is: interrupt, copy of the context's state and injected interrupts;
 *                trapped writes of the submission port; shadow of the context; scan of the
 *                command buffer; pinned page tables; submission by the host's driver. At a
 *                change of owner the GPU's context switch comes on top.
 *     memory     A vGPU has a fixed part (ballooning: guest addresses are host addresses, so commands
 *                need no translation, but parts never change). An allocation that does not fit
 *                fails, here the context dies. Nothing is paged.
 *     shadow     Each page-table entry that the guest writes is trapped, checked and translated:
 *     tables     trap x entries, when memory is allocated and when it is freed: the guest writes
 *                entries of its scratch page then (gen8_ppgtt_clear() of i915). system.page is
 *                the size of a page. With 4 KB an LLM server that wakes from a sleep writes
 *                262144 entries for each GiB, and its application waits 0.79 s for them.
 *     accesses   What an application reads and writes of registers while the GPU works for it.
 *                system.trapped_accesses of them a second are trapped, and its host thread
 *                launches a kernel later by trap x accesses. Emulation traps all accesses,
 *                GVT-g I/O registers and page tables, and pass-through none.
 *     counts     summary.json has the number of traps: traps.accesses, traps.submissions and
 *                traps.entries. Accesses are those of the kernels that were launched.
 *
 *     host       The container whose vgpu.type is "host" is the host itself. It has no traps and
 *                no budget, and its work goes before that of guests. With system.host_policy
 *                "first" it also preempts: the guest's kernel in execution ends, and the host's
 *                workload starts complete + submit after its launch or at that end, whatever is
 *                later. After it the guest goes on, submit later. With "in-order" it waits for
 *                the end of the guest's workload. The guest pays: its time goes on.
 *                system.preempt_granule is the length of what cannot be preempted in a kernel, a
 *                thread block or a 3D primitive: a kernel that is longer stops at its next
 *                multiple. Its context is saved and loaded again by the GPU's context switch.
 *     pipeline   With system.one_in_flight false a workload that is queued in time is prepared
 *                while the one before of its vGPU runs. What is left of a turnover then is the
 *                part that is longer than that run.
 *     fences     Registers that tell the GPU how memory is tiled. A vGPU and the host have 4
 *                each, so a GPU with 32 has 7 vGPUs at most. A GPU for computing has none
 *                (system.fences 0), and they bound nothing.
 *
 * gvtg_types.h has the types of vGPUs, with their parts of the memory and their weights.
 *
 *
 * The workload in flight
 *
 * A guest's workload is in one of these states, by the fields of struct gvtg:
 *
 *     none --1--> turnover ---2---> runs ----3---> through --4--> none
 *                  |    ^            |  ^             ^
 *                  5    6            5  2             3
 *                  v    |            |  |             |
 *                   held             |  returns ------|
 *                                    |  |     ^       |
 *                                    |  5     6       |
 *                                    v  v     |       |
 *                                 withdrawn or split -'
 *
 *     1  gvtg_dispatch()
 *     2  timer dispatch
 *     3  gvtg_ended(): its last kernel has ended. One that was withdrawn may be in execution.
 *     4  timer complete
 *     5  host_dispatch(): work of the host preempts it
 *     6  host_finish(): the host has no further work
 *
 *     state      flying  preempted  kernels               timer
 *     none       NULL    false      SENT
 *     turnover   set     false      SENT                  dispatch
 *     runs       set     false      SENT
 *     held       set     true       SENT
 *     withdrawn  set     true       WITHDRAWN
 *     split      set     true       SPLIT
 *     returns    set     false      WITHDRAWN or SPLIT    dispatch
 *     through    set     any        any                   complete
 *
 * With a granule a withdrawn workload is split at host_start. It stays split on its way back.
 * Where a context has died, 2 finds no workload: it is through. A guest that leaves goes from
 * each state to none: gvtg_detach().
 *
 * The host's own workload: host_runs is true from host_dispatch() on, through the timer
 * host_start, at which it goes to the GPU, to the timer host_done after its end.
 *
 * The times are assumed, since the design document has none. tick, balance_period, stages and
 * start_priority are the public code's.
 *
 *
 * How it differs from GVT-g
 *
 *   1. One engine, and one workload scheduler.
 *   2. A type of i915 is a number of megabytes of the global address space and of fences, for
 *      one model of GPU. Here a type is a fraction of the simulated GPU's memory.
 *   3. Preempted work stops at the end of a 3D primitive there, and here at
 *      the end of a kernel, or at a granule of equal length.
 *   4. The CPUs of a virtual machine are its own, and the workload scheduler has one. So traps
 *      hold up the container that makes them, and its dispatch, and take no CPU of others.
 *   5. Entries of tables are counted, and not kept. Each one that a guest writes is of memory in
 *      its own part, so the audit would never refuse one. What an audit of addresses does refuse
 *      is in system guardian (sim/core/fence).
 *   6. What a guest submits at once is the application's: app.kernels of a page player, kernels
 *      of a phase, a step of an LLM server. There is no second key that cuts it up.
 */
#include <stdlib.h>

#include "config/check.h"
#include "config/steps.h"
#include "config/units.h"
#include "fifo/fifo.h"
#include "systems/gvtg_policy.h"
#include "systems/gvtg_types.h"
#include "systems/system.h"

/* When work of the host goes to the GPU. */
enum gvtg_host_policy { GVTG_HOST_FIRST, GVTG_HOST_IN_ORDER };

static const char *const host_policy_words[] = {
	[GVTG_HOST_FIRST] = "first",
	[GVTG_HOST_IN_ORDER] = "in-order",
	NULL,
};

struct gvtg_keys {
	u64 tick;
	u64 balance_period;
	u64 stages;
	u64 start_priority;
	u64 trap;
	u64 elsp_writes;
	u64 scan;
	u64 shadow;
	u64 pin;
	u64 submit;
	u64 complete;
	u64 page;
	u64 trapped_accesses; /* in a second of GPU time */
	u64 host_policy;      /* enum gvtg_host_policy */
	u64 preempt_granule;  /* 0: a kernel is not split */
	bool one_in_flight;
	u64 fences; /* of the GPU; 0: they do not count */
};

#define GVTG_KEY(name_, type_, default_, help_, ...) \
	CFG_SYSTEM_KEY(#name_, type_, struct gvtg_keys, name_, default_, help_, __VA_ARGS__)

static const struct cfg_key gvtg_rows[] = {
	GVTG_KEY(tick, DURATION, "1ms", "the scheduler looks this often",
		 CFG_RANGE(CFG_USEC, CFG_SEC)),
	GVTG_KEY(balance_period, DURATION, "100ms",
		 "vGPUs get new budgets this often: at a tick, and so no less than system.tick",
		 CFG_RANGE(CFG_USEC, 10 * CFG_SEC)),
	GVTG_KEY(stages, INTEGER, "10",
		 "periods from one at which left and owed time is forgotten to the next",
		 CFG_RANGE(1, 1000000)),
	GVTG_KEY(start_priority, DURATION, "2s", "a vGPU that starts comes first for this long",
		 CFG_RANGE(0, 1000 * CFG_SEC)),
	GVTG_KEY(trap, DURATION, "3us", "a trapped write", CFG_RANGE(0, CFG_SEC)),
	GVTG_KEY(elsp_writes, INTEGER, "4", "trapped writes of a submission",
		 CFG_RANGE(0, 1000000)),
	GVTG_KEY(scan, DURATION, "50ns", "scanning a command: a kernel counts as one",
		 CFG_RANGE(0, CFG_SEC)),
	GVTG_KEY(shadow, DURATION, "20us", "shadowing a workload's context",
		 CFG_RANGE(0, CFG_SEC)),
	GVTG_KEY(pin, DURATION, "5us", "pinning a workload's page tables",
		 CFG_RANGE(0, CFG_SEC)),
	GVTG_KEY(submit, DURATION, "5us", "submission by the host's driver",
		 CFG_RANGE(0, CFG_SEC)),
	GVTG_KEY(
		complete, DURATION, "15us",
		"interrupt, copy of the context's state and injection at the end of a workload",
		CFG_RANGE(0, CFG_SEC)),
	GVTG_KEY(page, SIZE, "4K", "memory of a page-table entry",
		 CFG_RANGE(4096, GVM_CHUNK_BYTES)),
	GVTG_KEY(trapped_accesses, INTEGER, "0",
		 "accesses that are trapped while the GPU works, besides submissions and page "
		 "tables: a second of its work",
		 CFG_RANGE(0, 10000000)),
	GVTG_KEY(host_policy, ENUM, "first",
		 "work of the container with vgpu.type \"host\" preempts workloads, or "
		 "waits for their end",
		 .words = host_policy_words),
	GVTG_KEY(preempt_granule, DURATION, "0s",
		 "the host preempts a kernel each time that it has run so long: a primitive, a "
		 "thread block; 0s: at its end",
		 CFG_RANGE(0, CFG_SEC)),
	GVTG_KEY(one_in_flight, BOOL, "true",
		 "a workload is prepared when the one before has ended; false: while it runs"),
	GVTG_KEY(fences, INTEGER, "0",
		 "fence registers of the GPU, 4 for each vGPU and the host; 0: any number",
		 CFG_RANGE(0, 1024)),
};

/* A container's vGPU. */
struct gvtg_machine {
	struct gvtg *gvtg;
	struct cuda_context *context; /* NULL: it has none, or not any more */
	struct gvtg_vgpu vgpu;
	struct eng_timer queue; /* the first workload that is not queued is launched */
	u64 access_rest;	/* parts of a trapped access that were launched, of CFG_SEC */
	u64 queued;		/* kernels of workloads that were queued, ever */
	u64 second_ns;	/* since when a second workload is queued after the one in flight */
	u64 dispatched; /* of these went to the GPU */
};

/* The kernels of the workload in flight that have not ended. */
enum gvtg_kernels {
	GVTG_SENT,	/* at the GPU, or on their way to it for the first time */
	GVTG_WITHDRAWN, /* they were at the GPU; one that has begun goes on */
	GVTG_SPLIT,	/* the same, but one that has begun has stopped: its TSG is disabled */
};

/* GVT-g on one GPU. */
struct gvtg {
	const struct gvtg_keys *keys;
	const struct config *config;
	struct gvtg_policy policy;
	struct eng_timer tick;
	struct gvtg_machine *flying;   /* whose workload is in flight, NULL: none */
	struct eng_timer dispatch;     /* that it starts */
	struct eng_timer complete;     /* that it is through */
	struct gvtg_machine *machines; /* by number of their container in the configuration */
	struct gvtg_machine *host;     /* NULL: the host has no work of its own */
	struct eng_timer host_start;
	struct eng_timer host_done;
	bool host_runs; /* its first workload is on its way to the GPU, or there */
	bool preempted; /* the workload in flight waits for the host's */
	enum gvtg_kernels kernels;
	u64 started_ns; /* when the workload in flight went to the GPU */
	/* The last one, and how much of the next one's turnover passed while it ran. */
	const struct gvtg_machine *flown;
	u64 ahead_ns;
};

static struct fifo_tsg *machine_tsg(const struct gvtg_machine *machine)
{
	return &machine->context->process->tsg;
}

/* How long until the guest's kernel in execution can be preempted. */
static u64 granule_left_ns(const struct gvtg *gvtg)
{
	u64 granule = gvtg->keys->preempt_granule, done, left;

	if (!granule || !fifo_kernel_progress(machine_tsg(gvtg->flying), &done, &left))
		return 0;
	return min(left, granule - 1 - (done + granule - 1) % granule);
}

/* The guest's kernels are not withdrawn any more. One that was split may run on. */
static void guest_send(struct gvtg *gvtg)
{
	if (gvtg->kernels == GVTG_SPLIT)
		fifo_enable(machine_tsg(gvtg->flying));
	gvtg->kernels = GVTG_SENT;
}

/* The next workload of the host goes to the GPU, if there is one and it may. */
static void host_dispatch(struct gvtg *gvtg)
{
	const struct gvtg_keys *keys = gvtg->keys;
	u64 wait = keys->submit;

	if (!gvtg->host || !gvtg->host->vgpu.queued || gvtg->host_runs || gvtg->complete.set)
		return;
	if (gvtg->flying && !gvtg->preempted) {
		if (keys->host_policy == GVTG_HOST_IN_ORDER)
			return;
		gvtg->preempted = true;
		wait += keys->complete;
		/* One on its way back to the GPU stays withdrawn. */
		if (!gvtg->dispatch.set) {
			gvtg->kernels = GVTG_WITHDRAWN;
			fifo_allow(machine_tsg(gvtg->flying), 0, false);
			wait = max(wait, granule_left_ns(gvtg));
		}
		eng_timer_cancel(&gvtg->dispatch);
	}
	gvtg->host_runs = true;
	eng_timer_set(&gvtg->host_start, eng_now() + wait);
}

/* The next workload goes to the GPU, if it may: the host's, or the owner's. */
static void gvtg_dispatch(struct gvtg *gvtg)
{
	const struct gvtg_keys *keys = gvtg->keys;
	struct gvtg_machine *machine;
	u64 end, launched, wait;

	host_dispatch(gvtg);
	if (gvtg->host_runs)
		return;
	if (!gvtg_policy_may_dispatch(&gvtg->policy))
		return;
	machine = container_of(gvtg->policy.owner, struct gvtg_machine, vgpu);
	/* Work of a context that died is gone. */
	if (!fifo_next_burst(machine_tsg(machine), machine->dispatched, &end, &launched)) {
		machine->vgpu.queued = 0;
		return;
	}
	gvtg->policy.in_flight = true;
	gvtg->flying = machine;
	machine->context->process->stats.traps[SIM_TRAP_SUBMISSION] += keys->elsp_writes;
	wait = keys->elsp_writes * keys->trap + keys->shadow + keys->pin + keys->submit +
	       keys->scan * (end - machine->dispatched);
	if (gvtg->flown == machine)
		wait -= min(wait, gvtg->ahead_ns);
	gvtg->ahead_ns = 0;
	eng_timer_set(&gvtg->dispatch, eng_now() + wait);
}

static void gvtg_schedule(struct gvtg *gvtg, bool tick)
{
	gvtg_policy_schedule(&gvtg->policy, eng_now(), tick);
	gvtg_dispatch(gvtg);
}

static void tick_fire(struct eng_timer *timer)
{
	struct gvtg *gvtg = container_of(timer, struct gvtg, tick);

	gvtg_schedule(gvtg, true);
	eng_timer_set(timer, eng_now() + gvtg->keys->tick);
}

static void host_start_fire(struct eng_timer *timer)
{
	struct gvtg *gvtg = container_of(timer, struct gvtg, host_start);
	struct gvtg_machine *host = gvtg->host;
	u64 launched;

	if (gvtg->keys->preempt_granule && gvtg->preempted && gvtg->kernels == GVTG_WITHDRAWN &&
	    !gvtg->complete.set) {
		gvtg->kernels = GVTG_SPLIT;
		fifo_disable(machine_tsg(gvtg->flying));
		fifo_preempt(machine_tsg(gvtg->flying));
	}
	if (fifo_next_burst(machine_tsg(host), host->dispatched, &host->dispatched, &launched))
		fifo_allow(machine_tsg(host), host->dispatched, false);
	else
		eng_timer_set(&gvtg->host_done, eng_now());
}

/* The host's workload is through: its next one, or the guest goes on. */
static void host_finish(struct gvtg *gvtg)
{
	gvtg->host_runs = false;
	host_dispatch(gvtg);
	if (gvtg->host_runs || gvtg->complete.set)
		return;
	if (gvtg->preempted) {
		gvtg->preempted = false;
		eng_timer_set(&gvtg->dispatch, eng_now() + gvtg->keys->submit);
		return;
	}
	gvtg_dispatch(gvtg);
}

static void host_done_fire(struct eng_timer *timer)
{
	struct gvtg *gvtg = container_of(timer, struct gvtg, host_done);

	if (gvtg->host->vgpu.queued)
		gvtg->host->vgpu.queued--;
	host_finish(gvtg);
}

static void dispatch_fire(struct eng_timer *timer)
{
	struct gvtg *gvtg = container_of(timer, struct gvtg, dispatch);
	struct gvtg_machine *machine = gvtg->flying;
	u64 launched;

	if (gvtg->kernels != GVTG_SENT) {
		guest_send(gvtg);
		fifo_allow(machine_tsg(machine), machine->dispatched, false);
	} else if (fifo_next_burst(machine_tsg(machine), machine->dispatched,
				   &machine->dispatched, &launched)) {
		gvtg->started_ns = eng_now();
		fifo_allow(machine_tsg(machine), machine->dispatched, false);
	} else {
		eng_timer_set(&gvtg->complete, eng_now());
	}
}

static void complete_fire(struct eng_timer *timer)
{
	struct gvtg *gvtg = container_of(timer, struct gvtg, complete);

	if (gvtg->flying->vgpu.queued)
		gvtg->flying->vgpu.queued--;
	gvtg->flying->second_ns = eng_now();
	guest_send(gvtg);
	gvtg->flown = gvtg->flying;
	gvtg->flying = NULL;
	gvtg->policy.in_flight = false;
	gvtg->preempted = false;
	if (gvtg->policy.stops)
		gvtg_schedule(gvtg, false);
	else
		gvtg_dispatch(gvtg);
}

/* Set the timer for the launch of the first workload that is not queued yet. */
static void machine_watch(struct gvtg_machine *machine)
{
	u64 end, launched;

	if (fifo_next_burst(machine_tsg(machine), machine->queued, &end, &launched))
		eng_timer_set(&machine->queue, max(launched, (u64)eng_now()));
}

static void queue_fire(struct eng_timer *timer)
{
	struct gvtg_machine *machine = container_of(timer, struct gvtg_machine, queue);
	u64 launched;

	if (!fifo_next_burst(machine_tsg(machine), machine->queued, &machine->queued,
			     &launched))
		return;
	if (++machine->vgpu.queued == 2)
		machine->second_ns = eng_now();
	if (machine == machine->gvtg->host)
		gvtg_dispatch(machine->gvtg);
	else
		gvtg_schedule(machine->gvtg, false);
	machine_watch(machine);
}

static int gvtg_create(struct cuda_device *device, const struct config *config)
{
	const struct gvtg_keys *keys = config->system_keys;
	struct gvtg *gvtg = calloc(1, sizeof(*gvtg));

	if (!gvtg)
		return -ENOMEM;
	gvtg->machines = calloc(config->container_count + 1, sizeof(*gvtg->machines));
	if (!gvtg->machines) {
		free(gvtg);
		return -ENOMEM;
	}
	gvtg->keys = keys;
	gvtg->config = config;
	gvtg->tick.fire = tick_fire;
	gvtg->dispatch.fire = dispatch_fire;
	gvtg->complete.fire = complete_fire;
	gvtg->host_start.fire = host_start_fire;
	gvtg->host_done.fire = host_done_fire;
	gvtg_policy_init(&gvtg->policy, keys->balance_period, (u32)keys->stages,
			 keys->start_priority);
	device->library_data = gvtg;
	return 0;
}

static void gvtg_destroy(struct cuda_device *device)
{
	struct gvtg *gvtg = device->library_data;

	free(gvtg->machines);
	free(gvtg);
}

static void gvtg_stop(struct cuda_device *device)
{
	struct gvtg *gvtg = device->library_data;

	eng_timer_cancel(&gvtg->tick);
	eng_timer_cancel(&gvtg->dispatch);
	eng_timer_cancel(&gvtg->complete);
	eng_timer_cancel(&gvtg->host_start);
	eng_timer_cancel(&gvtg->host_done);
	for (size_t i = 0; i < gvtg->config->container_count; i++)
		eng_timer_cancel(&gvtg->machines[i].queue);
}

static void gvtg_attach(struct cuda_context *context, const struct cfg_container *container)
{
	struct gvtg *gvtg = context->device->library_data;
	struct gvtg_machine *machine = &gvtg->machines[container - gvtg->config->containers];

	*machine = (struct gvtg_machine){
		.gvtg = gvtg,
		.context = context,
		.vgpu.weight = gvtg_weight(gvtg->config, container),
		.queue.fire = queue_fire,
	};
	context->library_data = machine;
	fifo_allow(machine_tsg(machine), 0, false);
	/* No slice of the hardware ends a kernel. */
	fifo_set_timeslice(machine_tsg(machine), CFG_HOUR);
	if (gvtg_is_host(container)) {
		INIT_LIST_HEAD(&machine->vgpu.node);
		gvtg->host = machine;
		return;
	}
	gvtg_policy_add(&gvtg->policy, &machine->vgpu, eng_now());
	if (!gvtg->tick.set)
		eng_timer_set(&gvtg->tick, eng_now() + gvtg->keys->tick);
}

static void gvtg_detach(struct cuda_context *context)
{
	struct gvtg_machine *machine = context->library_data;
	struct gvtg *gvtg = context->device->library_data;

	if (!machine)
		return;
	context->library_data = NULL;
	eng_timer_cancel(&machine->queue);
	if (gvtg->host == machine) {
		gvtg->host = NULL;
		machine->context = NULL;
		eng_timer_cancel(&gvtg->host_start);
		eng_timer_cancel(&gvtg->host_done);
		if (gvtg->host_runs)
			host_finish(gvtg);
		return;
	}
	gvtg_policy_remove(&gvtg->policy, &machine->vgpu);
	machine->context = NULL;
	if (gvtg->flown == machine)
		gvtg->flown = NULL;
	if (gvtg->flying != machine)
		return;
	gvtg->kernels = GVTG_SENT;
	gvtg->preempted = false;
	eng_timer_cancel(&gvtg->dispatch);
	eng_timer_cancel(&gvtg->complete);
	gvtg->flying = NULL;
	gvtg->policy.in_flight = false;
}

static void gvtg_launch(struct cuda_context *context, struct fifo_burst *burst)
{
	const struct gvtg *gvtg = context->device->library_data;
	const struct gvtg_keys *keys = gvtg->keys;
	struct gvtg_machine *machine = context->library_data;
	unsigned __int128 accesses =
		(unsigned __int128)burst->kernel_ns * keys->trapped_accesses;
	unsigned __int128 traps_ns = accesses * keys->trap / CFG_SEC;

	if (!machine || machine == gvtg->host)
		return;
	accesses = accesses * burst->kernels + machine->access_rest;
	machine->access_rest = (u64)(accesses % CFG_SEC);
	context->process->stats.traps[SIM_TRAP_ACCESS] += (u64)(accesses / CFG_SEC);
	/* More than a burst may take is cut off by the caller. */
	burst->launch_ns += (u64)min(traps_ns, (unsigned __int128)FIFO_BURST_MAX_NS);
}

static void gvtg_submitted(struct cuda_context *context)
{
	struct gvtg_machine *machine = context->library_data;

	if (machine && !machine->queue.set)
		machine_watch(machine);
}

/*
 * The workload in flight ends now. How much of @complete has passed while it ran, since the next
 * one was prepared? What passed of the rest of the turnover is kept.
 */
static u64 complete_ahead(struct gvtg *gvtg)
{
	const struct gvtg_machine *machine = gvtg->flying;
	u64 since = max(gvtg->started_ns, machine->second_ns), ahead;

	gvtg->ahead_ns = 0;
	if (gvtg->keys->one_in_flight || gvtg->preempted || gvtg->policy.stops ||
	    machine->vgpu.queued < 2)
		return 0;
	ahead = min(eng_now() - since, gvtg->keys->complete);
	gvtg->ahead_ns = eng_now() - since - ahead;
	return ahead;
}

static void gvtg_ended(struct cuda_context *context)
{
	struct gvtg_machine *machine = context->library_data;
	struct gvtg *gvtg = context->device->library_data;

	if (machine && gvtg->host == machine && gvtg->host_runs && !gvtg->host_start.set)
		eng_timer_set(&gvtg->host_done, eng_now());
	/* A withdrawn one may end on its way back to the GPU. */
	if (machine && gvtg->flying == machine &&
	    (!gvtg->dispatch.set || gvtg->kernels != GVTG_SENT)) {
		eng_timer_cancel(&gvtg->dispatch);
		eng_timer_set(&gvtg->complete,
			      eng_now() + gvtg->keys->complete - complete_ahead(gvtg));
	}
}

static u64 gvtg_map_ns(struct cuda_context *context, u64 chunks)
{
	const struct gvtg *gvtg = context->device->library_data;
	u64 entries = chunks * (GVM_CHUNK_BYTES / gvtg->keys->page);

	if (context->library_data == gvtg->host)
		return 0;
	context->process->stats.traps[SIM_TRAP_ENTRY] += entries;
	return entries * gvtg->keys->trap;
}

static const struct cuda_library gvtg_library = {
	.queues = true,
	.create = gvtg_create,
	.destroy = gvtg_destroy,
	.stop = gvtg_stop,
	.attach = gvtg_attach,
	.detach = gvtg_detach,
	.launch = gvtg_launch,
	.submitted = gvtg_submitted,
	.ended = gvtg_ended,
	.map_ns = gvtg_map_ns,
};

static int gvtg_check(struct cfg_load *load, const struct config *config)
{
	const struct gvtg_keys *keys = config->system_keys;
	char period[UNITS_TEXT_MAX], tick[UNITS_TEXT_MAX];

	units_format_duration(keys->balance_period, period, sizeof(period));
	units_format_duration(keys->tick, tick, sizeof(tick));
	if (keys->balance_period < keys->tick)
		return cfg_reject(load, "system.balance_period",
				  "is %s, allowed: at least system.tick, %s", period, tick);
	return gvtg_types_check(load, config, keys->fences);
}

static void gvtg_part(const struct config *config, const struct cfg_container *container,
		      struct cfg_gpu *gpu)
{
	gpu->memory = gvtg_part_bytes(config, container);
	gpu->memory_total = gpu->memory;
}

/* The manager is never used: nothing faults. */
static struct sim_memory_policy gvtg_memory(const struct config *config)
{
	(void)config;
	return (struct sim_memory_policy){ .manager = &sim_manager_nvuvm };
}

const struct sim_system system_gvtg = {
	.keys = {
		.name = "gvtg",
		.summary = "virtual machines, one workload at a time: mediated pass-through, GVT-g",
		CFG_KEYS(gvtg_rows),
		.bytes = sizeof(struct gvtg_keys),
		.check_containers = gvtg_check,
	},
	.part = gvtg_part,
	.frame_buffers = true,
	.traps = true,
	.memory = gvtg_memory,
	.library = &gvtg_library,
};
