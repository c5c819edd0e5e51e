// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The simulated machine from start to end; see machine.h.
 *
 * A supervisor actor starts everything and, when time is up, interrupts the applications, waits
 * for them and takes the machine down in order, as an operator would: so every run is also a test
 * that containers leave nothing behind (gvm_check() at the end, no chunk charged to anybody).
 */
#include "machine/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "apps/llm_server.h"
#include "apps/pages.h"
#include "engine/error.h"
#include "gvm/control.h"
#include "trace/trace.h"

#define POLL_EVENTS 4096
#define NS_PER_S    1000000000ull

/* What the actors of a run share. One simulation a process, so one of these. */
struct machine_run_state {
	struct machine *machine;
	void (*progress)(const struct machine *machine);
	const volatile int *interrupt_flag;
	struct eng_waitq finished; /* the supervisor: the run's end, or an application's */
	u32 running;		   /* applications that have not returned */
	bool time_is_up;
	int status; /* 0 or -ENOMEM of set-up */
};

static struct machine_run_state run_state;

static u64 wall_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * NS_PER_S + (u64)now.tv_nsec;
}

/* Append an empty row for a container. */
static struct timeline_row *timeline_append(struct tenant *tenant)
{
	struct machine *machine = tenant->machine;

	if (machine->row_count == machine->row_room) {
		machine->row_room = machine->row_room ? 2 * machine->row_room : 4096;
		machine->timeline = realloc(machine->timeline,
					    machine->row_room * sizeof(*machine->timeline));
		if (!machine->timeline) {
			fputs("gvmsim: out of memory for the timeline\n", stderr);
			exit(SIM_EXIT_RUNTIME);
		}
	}
	machine->timeline[machine->row_count] = (struct timeline_row){ 0 };
	return &machine->timeline[machine->row_count++];
}

/* The row of a container at the present date: the run may end where a sample was just taken. */
static struct timeline_row *timeline_row_now(struct tenant *tenant)
{
	struct machine *machine = tenant->machine;

	if (machine->row_count && machine->sampled_ns == eng_now())
		return &machine->timeline[machine->row_count - machine->tenant_count +
					  tenant->index];
	return timeline_append(tenant);
}

/* The counters as of now. A wait that outlives its stall counts no longer than that. */
static struct tenant_usage tenant_measure(const struct tenant *tenant)
{
	const struct sim_process_stats *stats = &tenant->process.stats;
	const struct fifo_tsg *tsg = &tenant->process.tsg;
	struct tenant_usage usage = tenant->usage;
	u64 room = tsg->stall_ns - usage.stall_h2d_ns - usage.stall_d2h_ns;
	u64 waited = min(stats->stall_h2d_ns - usage.stall_h2d_ns, room);

	usage.stall_h2d_ns += waited;
	usage.stall_d2h_ns += min(stats->stall_d2h_ns - usage.stall_d2h_ns, room - waited);
	usage.stall_ns = tsg->stall_ns;
	usage.busy_ns = tsg->busy_ns;
	usage.blocked_ns = tsg->blocked_ns;
	usage.evictions = stats->evictions;
	usage.bytes_h2d = stats->bytes_h2d;
	usage.bytes_d2h = stats->bytes_d2h;
	return usage;
}

/* Add to @usage what came between @from and @to. */
static void usage_add(struct tenant_usage *usage, const struct tenant_usage *from,
		      const struct tenant_usage *to)
{
	usage->busy_ns += to->busy_ns - from->busy_ns;
	usage->stall_ns += to->stall_ns - from->stall_ns;
	usage->stall_h2d_ns += to->stall_h2d_ns - from->stall_h2d_ns;
	usage->stall_d2h_ns += to->stall_d2h_ns - from->stall_d2h_ns;
	usage->blocked_ns += to->blocked_ns - from->blocked_ns;
	usage->evictions += to->evictions - from->evictions;
	usage->bytes_h2d += to->bytes_h2d - from->bytes_h2d;
	usage->bytes_d2h += to->bytes_d2h - from->bytes_d2h;
}

static void tenant_sample(struct tenant *tenant)
{
	struct timeline_row *row = timeline_row_now(tenant);
	struct sim_process *process = &tenant->process;
	struct tenant_usage usage;

	*row = (struct timeline_row){
		.time_ns = eng_now(),
		.tenant = tenant->index,
		.usage = row->usage,
	};
	if (process->running) {
		fifo_update(process->tsg.fifo);
		row->resident_bytes = gvm_charged_bytes(process->container);
		row->swapped_bytes = process->container->swapped_bytes;
		row->pending_kernels = fifo_pending_kernels(&process->tsg);
	}
	usage = tenant_measure(tenant);
	usage_add(&row->usage, &tenant->usage, &usage);
	tenant->usage = usage;
}

static void machine_sample(struct machine *machine)
{
	u32 i;

	for (i = 0; i < machine->tenant_count; i++)
		tenant_sample(&machine->tenants[i]);
	machine->sampled_ns = eng_now();
}

static void machine_sample_timer(struct eng_timer *timer)
{
	struct machine *machine = container_of(timer, struct machine, sample_timer);

	machine_sample(machine);
	eng_timer_set(timer, eng_now() + machine->config->timeline_interval);
}

static void machine_end(struct eng_timer *timer)
{
	(void)timer;
	run_state.time_is_up = true;
	eng_wake_all(&run_state.finished);
}

static int tenant_run_app(struct tenant *tenant)
{
	struct app_env env = {
		.config = tenant->machine->config,
		.container = tenant->cfg,
		.cuda = &tenant->cuda,
		.trace = tenant->trace,
		.log = &tenant->log,
		.listens = tenant->cfg->pressure && tenant->machine->system->has_pressure,
	};

	return sim_app_of(tenant->cfg->app_type)->run(&env);
}

/* What goes into the results, as it is at the end of the run. Of a dead process no memory is left. */
static void tenant_close_books(struct tenant *tenant)
{
	if (!tenant->container)
		return;
	tenant->gmem_current = gvm_charged_bytes(tenant->container);
	tenant->gmem_peak = gvm_peak_bytes(tenant->container);
	tenant->gmem_swap = tenant->container->swapped_bytes;
	memcpy(tenant->events, tenant->container->events, sizeof(tenant->events));
	tenant->stats = tenant->process.stats;
}

/* Blocking: write a control file. The process may exit meanwhile, so its container is held. */
static void tenant_write_file(struct tenant *tenant, const char *file, const char *text)
{
	struct gvm_container *container = tenant->process.container;

	gvm_container_get(container);
	sim_gpu_control_write(tenant->gpu, container, file, text);
	gvm_container_put(container);
}

/* What is to be in a control file from the start on; NULL: whatever is there by itself. */
static const char *tenant_wanted_text(const struct tenant *tenant,
				      const struct cfg_control *control)
{
	const struct machine *machine = tenant->machine;
	const struct sim_system *system = machine->system;

	if (system->setting)
		return system->setting(machine->config, tenant->cfg, control->file);
	if (control->text[0] && system->honours(machine->config, control->file))
		return control->text;
	return NULL;
}

/* Write what the scenario, or the system by itself, wants in the control files. */
static void tenant_write_controls(struct tenant *tenant)
{
	const struct cfg_container *cfg = tenant->cfg;
	size_t i;

	for (i = 0; i < cfg->control_count; i++) {
		const struct cfg_control *control = &cfg->controls[i];
		const char *text = tenant_wanted_text(tenant, control);

		if (text)
			tenant_write_file(tenant, control->file, text);
	}
}

/* Blocking: start the container's process and run its application. A dead process ends at once. */
static int tenant_live(struct tenant *tenant)
{
	struct sim_process *process = &tenant->process;
	int status =
		sim_process_start(process, tenant->gpu, MACHINE_FIRST_TGID + tenant->index);

	if (status) {
		tenant->failed_ns = eng_now();
		return status;
	}
	cuda_context_create(&tenant->cuda, tenant->device, process);
	tenant->started = true;
	tenant->container = process->container;
	gvm_container_get(tenant->container);
	tenant_write_controls(tenant);
	status = tenant_run_app(tenant);
	cuda_context_destroy(&tenant->cuda);
	tenant->failed_ns = process->killed_ns;
	if (status)
		cuda_process_exit(&tenant->cuda);
	return status;
}

/* A server's process starts ahead, as a deployment would wait until the server is ready. */
static u64 tenant_start_ns(const struct tenant *tenant)
{
	const struct cfg_container *cfg = tenant->cfg;
	const struct cfg_llm *llm = cfg->app;
	u64 ahead = cfg_app_type_of(cfg) == CFG_APP_LLM_SERVER ? llm->boot : 0;

	return cfg->start - min((u64)cfg->start, ahead);
}

static void tenant_main(void *data)
{
	struct tenant *tenant = data;

	if (!eng_sleep_until(tenant_start_ns(tenant)))
		tenant->status = tenant_live(tenant);
	run_state.running--;
	eng_wake_all(&run_state.finished);
	/* A server whose clients have gone stays up, with its memory, until the run ends. */
	eng_sleep_until(ENG_NEVER);
	cuda_process_exit(&tenant->cuda);
	if (tenant->container)
		gvm_container_put(tenant->container);
}

/* Blocking: one event. A container that has no control files now misses it, and the user is told. */
static void event_apply(struct machine *machine, size_t index)
{
	const struct cfg_event *event = &machine->config->events[index];
	bool written = false;
	u32 t;

	for (t = 0; t < machine->tenant_count; t++) {
		struct tenant *tenant = &machine->tenants[t];

		if (strcmp(tenant->cfg->name, event->container) || !tenant->process.running)
			continue;
		tenant_write_file(tenant, event->file, event->value);
		written = true;
	}
	if (!written)
		fprintf(stderr,
			"gvmsim: note: events.%zu: container %s is not running at %llu.%03llu "
			"s, "
			"%s is not written\n",
			index, event->container, (u64)event->at / NS_PER_S,
			(u64)event->at % NS_PER_S / 1000000, event->file);
}

/* Apply the scenario's events in order. Ends with the run. */
static void events_main(void *data)
{
	struct machine *machine = data;
	const struct config *config = machine->config;
	size_t i;

	for (i = 0; i < config->event_count; i++) {
		if (eng_sleep_until(config->events[i].at))
			return;
		/* The others are for page players. */
		if (config->events[i].file[0] &&
		    machine->system->honours(config, config->events[i].file))
			event_apply(machine, i);
	}
}

static int machine_start_all(struct machine *machine, struct eng_actor **actors)
{
	u32 i;

	for (i = 0; i < machine->gpu_count; i++) {
		cuda_device_start(&machine->devices[i]);
		if (sim_gpu_start(&machine->gpus[i]))
			return -ENOMEM;
	}
	for (i = 0; i < machine->tenant_count; i++) {
		run_state.running++;
		actors[i] = eng_spawn(machine->tenants[i].cfg->name, tenant_main,
				      &machine->tenants[i]);
		if (!actors[i])
			return -ENOMEM;
	}
	machine->sample_timer.fire = machine_sample_timer;
	eng_timer_set(&machine->sample_timer, machine->config->timeline_interval);
	machine->end_timer.fire = machine_end;
	eng_timer_set(&machine->end_timer, machine->config->duration);
	return 0;
}

/* Interrupt the applications, wait for them, and check that they left nothing behind. */
static void machine_stop_all(struct machine *machine, struct eng_actor **actors)
{
	u32 i;

	eng_timer_cancel(&machine->sample_timer);
	eng_timer_cancel(&machine->end_timer);
	for (i = 0; i < machine->tenant_count; i++)
		eng_interrupt(actors[i]);
	for (i = 0; i < machine->tenant_count; i++)
		eng_join(actors[i]);
	for (i = 0; i < machine->gpu_count; i++) {
		cuda_device_stop(&machine->devices[i]);
		sim_gpu_stop(&machine->gpus[i]);
		GVM_ASSERT(gvm_check(&machine->gpus[i].device) == 0);
		GVM_ASSERT(machine->gpus[i].device.bound_chunks == 0);
	}
}

/* Move up to @ns from the later of two counters to the earlier. Returns what is left of @ns. */
static u64 move_back(u64 *later, u64 *earlier, u64 ns)
{
	u64 moved = min(*later, ns);

	*later -= moved;
	*earlier += moved;
	return ns - moved;
}

/*
 * A wait for copies counts where it ends, the stall meanwhile where it passes. So what an interval
 * has waited longer than it was stalled belongs to the one before.
 */
static void timeline_settle(struct machine *machine)
{
	size_t i;

	for (i = machine->row_count; i > machine->tenant_count; i--) {
		struct tenant_usage *usage = &machine->timeline[i - 1].usage;
		struct tenant_usage *before =
			&machine->timeline[i - 1 - machine->tenant_count].usage;
		u64 waited = usage->stall_h2d_ns + usage->stall_d2h_ns;
		u64 excess = waited - min(waited, usage->stall_ns);

		excess = move_back(&usage->stall_h2d_ns, &before->stall_h2d_ns, excess);
		move_back(&usage->stall_d2h_ns, &before->stall_d2h_ns, excess);
	}
}

/* The results end here: what is left of the last interval, and everybody's counters. */
static void machine_close_books(struct machine *machine)
{
	u32 i;

	machine->end_ns = eng_now();
	for (i = 0; i < machine->gpu_count; i++)
		fifo_update(&machine->gpus[i].fifo);
	if (machine->end_ns)
		machine_sample(machine);
	timeline_settle(machine);
	for (i = 0; i < machine->tenant_count; i++)
		tenant_close_books(&machine->tenants[i]);
}

static void supervisor_main(void *data)
{
	struct machine *machine = data;
	struct eng_actor *actors[CFG_CONTAINERS_MAX];
	struct eng_actor *events, *recorder;

	run_state.status = machine_start_all(machine, actors);
	events = eng_spawn("events", events_main, machine);
	recorder = eng_spawn("recorder", record_main, machine);
	if (run_state.status || !events || !recorder) {
		run_state.status = -ENOMEM;
		eng_stop();
		return;
	}
	while (run_state.running && !run_state.time_is_up && !machine->interrupted)
		eng_wait(&run_state.finished, ENG_NEVER, false);
	machine_close_books(machine);
	eng_interrupt(events);
	eng_join(events);
	eng_interrupt(recorder);
	eng_join(recorder);
	machine_stop_all(machine, actors);
}

static void machine_poll(void *data)
{
	struct machine *machine = data;

	if (*run_state.interrupt_flag && !machine->interrupted) {
		machine->interrupted = true;
		eng_wake_all(&run_state.finished);
	}
	machine->wall_ns = wall_clock_ns() - machine->wall_start_ns;
	if (run_state.progress)
		run_state.progress(machine);
}

static struct sim_memory_policy machine_memory_policy(const struct machine *machine)
{
	const struct sim_system *system = machine->system;

	return system->memory ? system->memory(machine->config) :
				(struct sim_memory_policy){ 0 };
}

/* Only the model of NVIDIA's driver prefetches. */
static int check_prefetch(const struct tenant *tenant, struct sim_error *err)
{
	const struct machine *machine = tenant->machine;
	const struct cfg_pages *pages = tenant->cfg->app;

	if (cfg_app_type_of(tenant->cfg) != CFG_APP_PAGES || !pages->prefetch_back ||
	    machine_memory_policy(machine).nvuvm)
		return 0;
	return sim_user_error(err,
			      "%s:containers.%s.app.prefetch_back: %s cannot prefetch, "
			      "allowed: false, or a system with NVIDIA's driver",
			      machine->config->file, tenant->cfg->name,
			      machine->system->keys.name);
}

static int tenant_prepare(struct tenant *tenant, struct sim_error *err)
{
	int status = check_prefetch(tenant, err);
	const struct cfg_llm *llm = tenant->cfg->app;

	if (status)
		return status;
	if (cfg_app_type_of(tenant->cfg) != CFG_APP_LLM_SERVER)
		return 0;
	if (!llm_server_fits(llm, &tenant->machine->config->gpu))
		return sim_user_error(
			err,
			"%s:containers.%s.app.gpu_memory_utilization: this share of "
			"gpu.memory_total does not hold weights and workspace, "
			"allowed: more, with room for KV blocks",
			tenant->machine->config->file, tenant->cfg->name);
	tenant->trace = malloc(sizeof(*tenant->trace));
	if (!tenant->trace)
		return sim_runtime_error(err, "out of memory");
	trace_init(tenant->trace);
	return trace_read(llm->client.file, TRACE_BAD_ROWS_FAIL, tenant->trace, err);
}

/* Lay out tenants and GPUs. Nothing runs yet. */
static int machine_build(struct machine *machine, struct sim_error *err)
{
	const struct config *config = machine->config;
	size_t i;
	int status;

	machine->tenants = calloc(config->container_count, sizeof(*machine->tenants));
	machine->gpus = calloc(config->container_count, sizeof(*machine->gpus));
	machine->devices = calloc(config->container_count, sizeof(*machine->devices));
	if (!machine->tenants || !machine->gpus || !machine->devices)
		return sim_runtime_error(err, "out of memory");
	for (i = 0; i < config->container_count; i++) {
		struct tenant *tenant = &machine->tenants[machine->tenant_count];

		if (!config->containers[i].enabled)
			continue;
		tenant->cfg = &config->containers[i];
		tenant->machine = machine;
		tenant->index = machine->tenant_count++;
		status = tenant_prepare(tenant, err);
		if (status)
			return status;
	}
	return 0;
}

static int machine_build_gpus(struct machine *machine, struct sim_error *err)
{
	u32 wanted = machine->system->own_gpu ? machine->tenant_count : 1;
	struct sim_memory_policy policy = machine_memory_policy(machine);
	char name[CFG_NAME_MAX];
	u32 i;

	sim_gpu_set_costs(&machine->config->gpu);
	for (i = 0; i < wanted; i++) {
		snprintf(name, sizeof(name), "gpu%u", i);
		if (sim_gpu_init(&machine->gpus[i], name, &machine->config->gpu, &policy))
			return sim_runtime_error(err, "out of memory for %s", name);
		if (machine->system->scheduling)
			machine->gpus[i].scheduling =
				machine->system->scheduling(machine->config);
		cuda_device_init(&machine->devices[i], &machine->gpus[i]);
		machine->gpu_count++;
	}
	for (i = 0; i < machine->tenant_count; i++) {
		u32 gpu = machine->system->own_gpu ? i : 0;

		machine->tenants[i].gpu = &machine->gpus[gpu];
		machine->tenants[i].device = &machine->devices[gpu];
	}
	return 0;
}

/* What is wrong with a run that has ended, if anything is. */
static int machine_verdict(struct machine *machine, enum eng_end end, struct sim_error *err)
{
	int status = run_state.status;
	u32 i;

	for (i = 0; i < machine->tenant_count; i++)
		if (machine->tenants[i].status == -ENOMEM)
			status = -ENOMEM;
	if (status)
		return sim_runtime_error(err, "out of memory");
	if (end == ENG_END_DONE)
		return 0;
	return sim_runtime_error(err,
				 "deadlock: nothing can happen any more at %llu.%09llu s, and "
				 "not all actors have ended",
				 (u64)eng_now() / NS_PER_S, (u64)eng_now() % NS_PER_S);
}

static int machine_simulate(struct machine *machine, struct sim_error *err)
{
	struct eng_actor *supervisor;
	enum eng_end end;

	if (eng_init())
		return sim_runtime_error(err, "the simulation could not be started");
	supervisor = eng_spawn("supervisor", supervisor_main, machine);
	if (!supervisor)
		return sim_runtime_error(err, "out of memory");
	machine->wall_start_ns = wall_clock_ns();
	end = eng_run(machine_poll, machine, POLL_EVENTS);
	machine->wall_ns = wall_clock_ns() - machine->wall_start_ns;
	if (end == ENG_END_DONE)
		eng_join(supervisor);
	return machine_verdict(machine, end, err);
}

int machine_run(struct machine *machine, const struct config *config,
		void (*progress)(const struct machine *machine),
		const volatile int *interrupted, struct sim_error *err)
{
	int status;

	*machine = (struct machine){
		.config = config,
		.system = sim_system_of(config->system),
	};
	run_state = (struct machine_run_state){
		.machine = machine,
		.progress = progress,
		.interrupt_flag = interrupted,
	};
	status = machine_build(machine, err);
	if (!status)
		status = record_init(machine, err);
	if (!status)
		status = machine_build_gpus(machine, err);
	if (!status)
		status = machine_simulate(machine, err);
	return status;
}

void machine_destroy(struct machine *machine)
{
	u32 i;

	for (i = 0; i < machine->gpu_count; i++)
		sim_gpu_destroy(&machine->gpus[i]);
	for (i = 0; i < machine->tenant_count; i++) {
		app_log_destroy(&machine->tenants[i].log);
		if (machine->tenants[i].trace)
			trace_destroy(machine->tenants[i].trace);
		free(machine->tenants[i].trace);
	}
	record_destroy(machine);
	free(machine->timeline);
	free(machine->tenants);
	free(machine->gpus);
	free(machine->devices);
}
