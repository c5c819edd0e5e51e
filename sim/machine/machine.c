// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The simulated machine from start to end; see machine.h.
 *
 * A supervisor actor starts everything and, when time is up, interrupts the applications, waits
 * for them and takes the machine down in order, as an operator would. So every run also tests
 * that containers leave nothing behind (gvm_check() at the end, no chunk charged to any of
 * them).
 */
#include <stdlib.h>
#include <time.h>

#include "engine/error.h"
#include "machine/machine.h"
#include "machine/advice.h"
#include "machine/parts.h"

#define POLL_EVENTS 4096

static u64 wall_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * NS_PER_S + (u64)now.tv_nsec;
}

static void machine_time_is_up(struct eng_timer *timer)
{
	struct machine *machine = container_of(timer, struct machine, end_timer);

	machine->time_is_up = true;
	eng_wake_all(&machine->finished);
}

/* GPUs, then containers in order, then the timers: equal dates keep this order. */
static int machine_start_all(struct machine *machine)
{
	for (u32 i = 0; i < machine->gpu_count; i++) {
		cuda_device_start(&machine->devices[i]);
		if (sim_gpu_start(&machine->gpus[i]))
			return -ENOMEM;
	}
	for (u32 i = 0; i < machine->container_count; i++) {
		struct sim_container *container = &machine->containers[i];

		machine->running++;
		container->actor =
			eng_spawn(container->cfg->name, sim_container_main, container);
		if (!container->actor)
			return -ENOMEM;
	}
	for (size_t i = 0; i < machine->config->event_count; i++)
		machine->restarts_due += machine->config->events[i].restart;
	timeline_start(machine);
	machine->end_timer.fire = machine_time_is_up;
	eng_timer_set(&machine->end_timer, machine->config->duration);
	return 0;
}

/*
 * Close the results: sample the rest of the last interval, and copy the counters of each
 * container. Simulated time may pass until all actors have ended; it is recorded nowhere.
 */
static void machine_close_books(struct machine *machine)
{
	machine->end_ns = eng_now();
	eng_timer_cancel(&machine->sample_timer);
	eng_timer_cancel(&machine->end_timer);
	for (u32 i = 0; i < machine->gpu_count; i++) {
		fifo_update(&machine->gpus[i].fifo);
		machine->gpu_usage[i] = fifo_usage(&machine->gpus[i].fifo);
	}
	if (machine->end_ns)
		timeline_sample(machine);
	record_end(machine);
	for (u32 i = 0; i < machine->container_count; i++) {
		machine->containers[i].env.end_ns = machine->end_ns;
		if (sim_container_close_books(&machine->containers[i]))
			machine->status = -ENOMEM;
	}
}

static void machine_interrupt_all(struct machine *machine)
{
	for (u32 i = 0; i < machine->container_count; i++)
		if (machine->containers[i].actor)
			eng_interrupt(machine->containers[i].actor);
}

/* Wait for the applications, which are interrupted, and check that they left nothing behind. */
static void machine_stop_all(struct machine *machine)
{
	for (u32 i = 0; i < machine->container_count; i++)
		if (machine->containers[i].actor)
			eng_join(machine->containers[i].actor);
	for (u32 i = 0; i < machine->gpu_count; i++) {
		cuda_device_stop(&machine->devices[i]);
		sim_gpu_stop(&machine->gpus[i]);
		GVM_ASSERT(gvm_check(&machine->gpus[i].device) == 0);
		GVM_ASSERT(machine->gpus[i].device.bound_chunks == 0);
	}
}

static void supervisor_main(void *data)
{
	struct machine *machine = data;
	struct eng_actor *events, *policy, *recorder;

	machine->status = machine_start_all(machine);
	events = eng_spawn("events", machine_events_main, machine);
	policy = eng_spawn("gvmd", policy_main, machine);
	recorder = eng_spawn("recorder", record_main, machine);
	if (machine->status || !events || !policy || !recorder) {
		machine->status = -ENOMEM;
		eng_stop();
		return;
	}
	while ((machine->running || machine->restarts_due) && !machine->time_is_up &&
	       !machine->interrupted && !machine->status)
		eng_wait(&machine->finished, ENG_NEVER, false);
	machine_close_books(machine);
	/* No event or step of this date begins any more. */
	eng_interrupt(events);
	eng_interrupt(policy);
	eng_interrupt(recorder);
	/*
	 * A write, a stop or a sample that is under way may take long. Applications that went on
	 * until it ends would have results from after the end of the run.
	 */
	machine_interrupt_all(machine);
	eng_join(events);
	eng_join(policy);
	eng_join(recorder);
	machine_stop_all(machine);
}

static void machine_poll(void *data)
{
	struct machine *machine = data;

	if (*machine->interrupt_flag && !machine->interrupted) {
		machine->interrupted = true;
		eng_wake_all(&machine->finished);
	}
	machine->wall_ns = wall_clock_ns() - machine->wall_start_ns;
	if (machine->progress)
		machine->progress(machine);
}

/* Run the supervisor to its end. Returns 0, or an error: no memory, or a deadlock. */
static int machine_simulate(struct machine *machine, struct sim_error *err)
{
	struct eng_actor *supervisor;
	enum eng_end end;
	int status;

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
	status = machine->status;
	for (u32 i = 0; i < machine->container_count; i++)
		if (machine->containers[i].status == -ENOMEM)
			status = -ENOMEM;
	if (status)
		return sim_runtime_error(err, "out of memory");
	for (u32 i = 0; i < machine->container_count; i++)
		if (machine->containers[i].status == -ELOOP)
			return sim_user_error(err,
					      "%s:containers.%s.app: an iteration takes no "
					      "time, so the run would never end",
					      machine->config->file,
					      machine->containers[i].cfg->name);
	if (end == ENG_END_DONE)
		return 0;
	return sim_runtime_error(err,
				 "deadlock: nothing can happen any more at %llu.%09llu s, and "
				 "not all actors have ended",
				 (u64)eng_now() / NS_PER_S, (u64)eng_now() % NS_PER_S);
}

int machine_run(struct machine *machine, const struct config *config, const char *scratch,
		void (*advise)(const char *line),
		void (*progress)(const struct machine *machine),
		const volatile int *interrupted, struct sim_error *err)
{
	int status;

	*machine = (struct machine){
		.config = config,
		.system = sim_system_of(config->system),
		.scratch = scratch,
		.progress = progress,
		.interrupt_flag = interrupted,
	};
	status = machine_build(machine, err);
	if (!status && advise)
		machine_advise(machine, advise);
	return status ? status : machine_simulate(machine, err);
}

void machine_destroy(struct machine *machine)
{
	for (u32 i = 0; i < machine->gpu_count; i++) {
		if (machine->devices[i].library)
			machine->devices[i].library->destroy(&machine->devices[i]);
		sim_gpu_destroy(&machine->gpus[i]);
	}
	for (u32 i = 0; i < machine->container_count; i++) {
		struct sim_container *container = &machine->containers[i];

		app_log_destroy(&container->log);
		if (container->app && container->app->discard)
			container->app->discard(&container->env);
	}
	record_destroy(machine);
	policy_destroy(machine);
	free(machine->timeline);
	free(machine->missed);
	free(machine->containers);
	free(machine->views);
	free(machine->gpus);
	free(machine->gpu_usage);
	free(machine->devices);
}
