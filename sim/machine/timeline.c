// SPDX-License-Identifier: MIT OR GPL-2.0
/* The timeline: what each container had and used, sampled every output.timeline_interval. */
#include "machine/parts.h"

#include <stdlib.h>

/*
 * The row of a container at the present date, a new one in most cases. If the run ends right
 * after a sample, the row exists already. NULL: no memory; the run ends.
 */
static struct timeline_row *timeline_row_now(struct sim_container *container)
{
	struct machine *machine = container->machine;

	if (machine->row_count && machine->sampled_ns == eng_now())
		return &machine->timeline[machine->row_count - machine->container_count +
					  container->index];
	if (machine->row_count == machine->row_room) {
		size_t room = machine->row_room ? 2 * machine->row_room : 4096;
		struct timeline_row *rows =
			realloc(machine->timeline, room * sizeof(*machine->timeline));

		if (!rows) {
			machine_fail(machine, -ENOMEM);
			return NULL;
		}
		machine->timeline = rows;
		machine->row_room = room;
	}
	machine->timeline[machine->row_count] = (struct timeline_row){ 0 };
	return &machine->timeline[machine->row_count++];
}

/* Add the difference of the counters @from and @to to @usage. */
static void usage_add(struct sim_usage *usage, const struct sim_usage *from,
		      const struct sim_usage *to)
{
	usage->busy_ns += to->busy_ns - from->busy_ns;
	usage->slow_ns += to->slow_ns - from->slow_ns;
	usage->stall_ns += to->stall_ns - from->stall_ns;
	usage->stall_h2d_ns += to->stall_h2d_ns - from->stall_h2d_ns;
	usage->stall_d2h_ns += to->stall_d2h_ns - from->stall_d2h_ns;
	usage->blocked_ns += to->blocked_ns - from->blocked_ns;
	usage->switching_ns += to->switching_ns - from->switching_ns;
	usage->waited_ns += to->waited_ns - from->waited_ns;
	usage->evictions += to->evictions - from->evictions;
	usage->bytes_h2d += to->bytes_h2d - from->bytes_h2d;
	usage->bytes_d2h += to->bytes_d2h - from->bytes_d2h;
}

static void container_sample(struct sim_container *container)
{
	struct timeline_row *row = timeline_row_now(container);
	struct sim_process *process = &container->process;
	struct sim_usage usage;
	u64 ended;

	if (!row)
		return;
	*row = (struct timeline_row){
		.time_ns = eng_now(),
		.container = container->index,
		.usage = row->usage,
	};
	if (process->running) {
		fifo_update(process->tsg.fifo);
		row->resident_bytes = gvm_charged_bytes(process->container);
		row->swapped_bytes = process->container->swapped_bytes;
		row->pending_kernels = fifo_pending_kernels(&process->tsg);
	}
	if (container->log.warming)
		container->launches = (struct launches){ 0 };
	launches_sample(&container->launches, eng_now(),
			sim_container_launched(container, &ended));
	usage = sim_container_usage(container);
	usage_add(&row->usage, &container->usage, &usage);
	container->usage = usage;
}

void timeline_sample(struct machine *machine)
{
	for (u32 i = 0; i < machine->container_count; i++)
		container_sample(&machine->containers[i]);
	machine->sampled_ns = eng_now();
}

static void timeline_fire(struct eng_timer *timer)
{
	struct machine *machine = container_of(timer, struct machine, sample_timer);

	timeline_sample(machine);
	eng_timer_set(timer, eng_now() + machine->config->timeline_interval);
}

void timeline_start(struct machine *machine)
{
	machine->sample_timer.fire = timeline_fire;
	eng_timer_set(&machine->sample_timer, machine->config->timeline_interval);
}
