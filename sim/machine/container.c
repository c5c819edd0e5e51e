// SPDX-License-Identifier: MIT OR GPL-2.0
/* The life of a container: its process, its application, and writes to its control files. */
#include "machine/parts.h"

#include <string.h>

#include "gvm/control.h"

struct sim_usage sim_process_usage(const struct sim_process *process)
{
	const struct sim_process_stats *stats = &process->stats;
	const struct fifo_tsg *tsg = &process->tsg;

	return (struct sim_usage){
		.busy_ns = tsg->busy_ns,
		.slow_ns = tsg->slow_ns,
		.stall_ns = fifo_stall_ns(&tsg->stall),
		.stall_h2d_ns = fifo_stall_in_ns(&tsg->stall),
		.stall_d2h_ns = fifo_stall_out_ns(&tsg->stall),
		.blocked_ns = tsg->blocked_ns,
		.switching_ns = tsg->switching_ns,
		.waited_ns = tsg->waited_ns,
		.evictions = stats->block.evictions,
		.bytes_h2d = stats->bytes_h2d,
		.bytes_d2h = stats->bytes_d2h,
	};
}

struct sim_usage sim_container_usage(const struct sim_container *container)
{
	struct sim_usage usage = container->past.usage;
	struct sim_usage now = sim_process_usage(&container->process);

	usage.busy_ns += now.busy_ns;
	usage.slow_ns += now.slow_ns;
	usage.stall_ns += now.stall_ns;
	usage.stall_h2d_ns += now.stall_h2d_ns;
	usage.stall_d2h_ns += now.stall_d2h_ns;
	usage.blocked_ns += now.blocked_ns;
	usage.switching_ns += now.switching_ns;
	usage.waited_ns += now.waited_ns;
	usage.evictions += now.evictions;
	usage.bytes_h2d += now.bytes_h2d;
	usage.bytes_d2h += now.bytes_d2h;
	return usage;
}

u64 sim_container_launched(const struct sim_container *container, u64 *ret_ended)
{
	const struct fifo_tsg *tsg = &container->process.tsg;
	u64 ended = container->started ? fifo_ended_kernels(tsg) : 0;

	*ret_ended = container->past.ended_kernels + ended;
	return container->past.launched_kernels + ended +
	       (container->started ? fifo_pending_kernels(tsg) : 0);
}

static void stats_add(struct sim_process_stats *sum, const struct sim_process_stats *stats)
{
	sum->faults += stats->faults;
	sum->fault_batches += stats->fault_batches;
	sum->bytes_h2d += stats->bytes_h2d;
	sum->bytes_d2h += stats->bytes_d2h;
	sum->block.pages_copied_in += stats->block.pages_copied_in;
	sum->block.pages_cleared += stats->block.pages_cleared;
	sum->block.evictions += stats->block.evictions;
	for (int trap = 0; trap < SIM_TRAPS; trap++)
		sum->traps[trap] += stats->traps[trap];
}

/* What the container's processes have counted so far. */
static struct sim_past container_counts(const struct sim_container *container)
{
	struct sim_past counts = container->past;

	counts.usage = sim_container_usage(container);
	counts.launched_kernels = sim_container_launched(container, &counts.ended_kernels);
	stats_add(&counts.stats, &container->process.stats);
	if (!container->gvm)
		return counts;
	counts.gmem_peak = max(counts.gmem_peak, gvm_peak_bytes(container->gvm));
	for (int event = 0; event < GVM_EVENTS; event++)
		counts.events[event] += container->gvm->events[event];
	return counts;
}

int sim_container_close_books(struct sim_container *container)
{
	struct sim_past counts = container_counts(container);
	bool absent = container->restarts || container->stopped;

	container->gmem_peak = counts.gmem_peak;
	memcpy(container->events, counts.events, sizeof(container->events));
	container->launched_kernels = counts.launched_kernels;
	container->ended_kernels = counts.ended_kernels;
	container->stats = counts.stats;
	if (container->gvm) {
		container->gmem_current = gvm_charged_bytes(container->gvm);
		container->gmem_swap = container->gvm->swapped_bytes;
	}
	if (absent && container->app->log_absence)
		return container->app->log_absence(&container->env);
	return 0;
}

/* The process may exit meanwhile, so both take a reference to the container. */
int sim_container_read(struct sim_container *container, const char *file, char *text,
		       size_t size)
{
	struct gvm_container *gvm = container->process.container;
	int length;

	gvm_container_get(gvm);
	length = gvm_control_read(gvm, file, text, size);
	gvm_container_put(gvm);
	return length;
}

int sim_container_write(struct sim_container *container, const char *file, const char *text,
			bool wait)
{
	struct gvm_container *gvm = container->process.container;
	int status;

	gvm_container_get(gvm);
	sim_gpu_use_costs(container->gpu);
	status = wait ? gvm_control_write(gvm, file, text, strlen(text)) :
			gvm_control_set(gvm, file, text, strlen(text));
	gvm_container_put(gvm);
	return status;
}

/* The text that a control file gets at the start; NULL: it keeps its default. */
static const char *container_wanted_text(const struct sim_container *container,
					 const struct cfg_control *control)
{
	const struct sim_system *system = container->machine->system;
	const struct config *config = container->config;

	if (system->setting)
		return system->setting(config, container->cfg, control->file);
	if (control->text[0] && sim_system_honours(system, config, control->file))
		return control->text;
	return NULL;
}

/* Blocking: start the process. An application that uses no GPU creates no context on it. */
static int container_start_process(struct sim_container *container)
{
	const struct app_report *report = container->app->report;
	u32 limit_ppm = (u32)container->cfg->mps_limit * (FIFO_ALL_PPM / 100);
	u32 tgid = MACHINE_FIRST_TGID + container->index;

	if (report && report->no_gpu)
		return sim_process_start_bare(&container->process, container->gpu, tgid,
					      container->server, limit_ppm);
	return sim_process_start_client(&container->process, container->gpu, tgid,
					container->server, limit_ppm);
}

/*
 * Blocking: start the container's process and run its application. If the application fails,
 * the process exits at once.
 */
static int container_live(struct sim_container *container)
{
	const struct cfg_container *cfg = container->cfg;
	struct sim_process *process = &container->process;
	int status = container_start_process(container);

	if (status) {
		container->failed_ns = eng_now();
		return status;
	}
	if (container->machine->system->frame_buffers)
		process->frame_buffer = container->config->gpu.memory;
	if (container->server) {
		process->memory_hard = cfg->mps_memory_hard;
		process->memory_soft = cfg->mps_memory_soft;
		fifo_set_sm_priority(&process->tsg, (u32)cfg->mps_priority);
	}
	cuda_context_create(&container->cuda, container->device, process);
	container->started = true;
	if (container->device->library)
		container->device->library->attach(&container->cuda, cfg);
	container->gvm = process->container;
	gvm_container_get(container->gvm);
	for (size_t i = 0; i < cfg->control_count; i++) {
		const char *text = container_wanted_text(container, &cfg->controls[i]);

		if (text)
			sim_container_write(container, cfg->controls[i].file, text, true);
	}
	status = container->app->run(&container->env);
	cuda_context_destroy(&container->cuda);
	if (status)
		cuda_process_exit(&container->cuda);
	container->failed_ns =
		process->killed || !status ? process->killed_ns : process->exited_ns;
	/* What fails after the end of the run has no part in it. */
	if (app_is_late(&container->env) && container->failed_ns > container->env.end_ns) {
		container->failed_ns = 0;
		status = status == -EIO ? 0 : status;
	}
	return status;
}

/* The process has exited at a stop: keep what it counted, and forget it. */
static void container_retire(struct sim_container *container)
{
	container->past = container_counts(container);
	container->process = (struct sim_process){ 0 };
	container->started = false;
	container->status = 0;
	container->failed_ns = 0;
}

void sim_container_main(void *data)
{
	struct sim_container *container = data;
	struct machine *machine = container->machine;
	const struct cfg_container *cfg = container->cfg;
	u64 ahead = container->app->ahead_ns ? container->app->ahead_ns(cfg) : 0;

	/* The first process starts ahead of the container's start, a further one at once. */
	if (container->restarts || !eng_sleep_until(cfg->start - min((u64)cfg->start, ahead))) {
		container->begun = true;
		container->status = container_live(container);
	}
	machine->running--;
	eng_wake_all(&machine->finished);
	/*
	 * An application that succeeded leaves its process, with its memory, until the run
	 * ends: a server stays up without clients.
	 */
	eng_sleep_until(ENG_NEVER);
	cuda_process_exit(&container->cuda);
	if (container->env.stopping)
		container_retire(container);
	if (container->gvm)
		gvm_container_put(container->gvm);
	container->gvm = NULL;
}

void sim_container_stop(struct sim_container *container)
{
	container->env.stopping = true;
	eng_interrupt(container->actor);
	eng_join(container->actor);
	container->actor = NULL;
	container->env.stopping = false;
	container->stopped = true;
	/* The run may end during the stop. */
	container->stopped_ns =
		container->machine->end_ns ? container->machine->end_ns : eng_now();
}

int sim_container_restart(struct sim_container *container)
{
	const struct cfg_container *cfg = container->cfg;

	container->env.reopen_ns = eng_now();
	if (container->app->ahead_ns)
		container->env.reopen_ns += container->app->ahead_ns(cfg);
	container->actor = eng_spawn(cfg->name, sim_container_main, container);
	if (!container->actor)
		return -ENOMEM;
	container->restarts++;
	container->stopped = false;
	container->machine->running++;
	return 0;
}
