// SPDX-License-Identifier: MIT OR GPL-2.0
#include "timeline/timeline_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"
#include "timeline/perfetto.h"

#define NAME_ROOM	(2 * CFG_NAME_MAX)
#define WORST_MARGIN_NS 1000000000ull

/* A trace while it is written. */
struct trace {
	const struct machine *machine;
	struct perfetto perfetto;
	u64 from_ns, to_ns; /* the window */
	u64 *groups;	    /* by container */
};

/* The container's own name, or that of the one with an index. */
static const char *name_of(const struct trace *trace, u32 container)
{
	return trace->machine->containers[container].cfg->name;
}

/* Does [from, to) meet the window? Cut it to the window. */
static bool clip(const struct trace *trace, u64 *from_ns, u64 *to_ns)
{
	*from_ns = max(*from_ns, trace->from_ns);
	*to_ns = min(*to_ns, trace->to_ns);
	return *from_ns < *to_ns;
}

static bool in_window(const struct trace *trace, u64 date_ns)
{
	return date_ns >= trace->from_ns && date_ns <= trace->to_ns;
}

/* When a record of a log ended, or the run. */
static u64 record_end_ns(const struct trace *trace, const struct app_record *record)
{
	return record->finish_ns ? record->finish_ns : trace->machine->end_ns;
}

/*
 * The window around the record that waited longest for its first answer, of requests if there
 * are any.
 */
static void find_worst(struct trace *trace)
{
	u64 worst_ns = 0;
	bool tokens = false;

	for (u32 i = 0; i < trace->machine->container_count; i++) {
		const struct sim_container *container = &trace->machine->containers[i];

		if (!container->app->report)
			continue;
		for (size_t k = 0; k < container->log.record_count; k++) {
			const struct app_record *record = &container->log.records[k];
			u64 end_ns = record_end_ns(trace, record);
			u64 answer_ns = record->first_ns ? record->first_ns : end_ns;
			u64 wait_ns = answer_ns - min(record->arrival_ns, answer_ns);

			if (tokens > container->app->report->has_tokens ||
			    (tokens == container->app->report->has_tokens &&
			     wait_ns <= worst_ns))
				continue;
			tokens = container->app->report->has_tokens;
			worst_ns = wait_ns;
			trace->from_ns = record->arrival_ns -
					 min(record->arrival_ns, (u64)WORST_MARGIN_NS);
			trace->to_ns = end_ns + WORST_MARGIN_NS;
		}
	}
}

/* The name of an activity, and the container that is waited for. */
static void activity_name(const struct trace *trace, const struct record_activity *row,
			  char text[NAME_ROOM])
{
	static const char *const names[] = {
		[FIFO_RUNS] = "runs",
		[FIFO_STALLED] = "page faults",
		[FIFO_SWITCHING] = "context switch",
		[FIFO_BLOCKED] = "waits for page faults of",
		[FIFO_WAITS] = "waits for",
		[FIFO_IDLE] = "idle",
	};

	if (row->activity != FIFO_BLOCKED && row->activity != FIFO_WAITS)
		snprintf(text, NAME_ROOM, "%s", names[row->activity]);
	else if (row->by == RECORD_NO_ONE)
		snprintf(text, NAME_ROOM, "held");
	else
		snprintf(text, NAME_ROOM, "%s %s", names[row->activity],
			 name_of(trace, row->by));
}

/* Evictions of one container, with an arrow each; the arrows end at its next page faults. */
struct arrows {
	size_t next; /* eviction that was not looked at */
	u64 track;   /* of evictions */
	u64 *open;   /* flows of evictions since the last page faults */
	size_t count;
};

/* Put the evictions of a container up to a date, and remember their arrows. */
static void put_evictions(struct trace *trace, struct arrows *arrows, u32 container,
			  u64 until_ns)
{
	const struct record *record = &trace->machine->record;

	for (; arrows->next < record->eviction_count; arrows->next++) {
		const struct record_eviction *row = &record->evictions[arrows->next];
		struct perfetto_more more = {
			.category = "eviction",
			.numbers = { { "pages", row->pages } },
		};

		if (row->time_ns > until_ns)
			return;
		if (row->container != container || !in_window(trace, row->time_ns))
			continue;
		more.flow = ++trace->perfetto.last_flow;
		arrows->open[arrows->count++] = more.flow;
		perfetto_instant(&trace->perfetto, arrows->track, row->time_ns, "eviction",
				 &more);
	}
}

/* What a container did on its GPU, and its evictions. */
static void put_activity(struct trace *trace, u32 container, u64 track, struct arrows *arrows)
{
	const struct record *record = &trace->machine->record;

	for (size_t i = 0; i < record->activity_count; i++) {
		const struct record_activity *row = &record->activities[i];
		u64 from_ns = row->from_ns, to_ns = row->to_ns;
		struct perfetto_more more = { .category = "gpu" };
		char name[NAME_ROOM];

		if (row->container != container || row->activity == FIFO_IDLE ||
		    !clip(trace, &from_ns, &to_ns))
			continue;
		activity_name(trace, row, name);
		if (row->activity == FIFO_RUNS && from_ns == row->from_ns &&
		    to_ns == row->to_ns) {
			more.numbers[0] = (struct perfetto_number){ "busy_ns", row->busy_ns };
			if (row->slow_ns)
				more.numbers[1] =
					(struct perfetto_number){ "slow_ns", row->slow_ns };
		}
		if (row->by != RECORD_NO_ONE) {
			more.key = "by";
			more.text = name_of(trace, row->by);
		}
		if (row->activity == FIFO_STALLED) {
			put_evictions(trace, arrows, container, from_ns);
			more.flows_end = arrows->open;
			more.flows_end_count = arrows->count;
			arrows->count = 0;
		}
		perfetto_slice_begin(&trace->perfetto, track, from_ns, name, &more);
		perfetto_slice_end(&trace->perfetto, track, to_ns);
	}
	put_evictions(trace, arrows, container, trace->to_ns);
}

static void put_copies(struct trace *trace, u32 gpu, enum pcie_direction direction, u64 track)
{
	const struct record *record = &trace->machine->record;

	for (size_t i = 0; i < record->copy_count; i++) {
		const struct record_copy *row = &record->copies[i];
		u64 from_ns = row->from_ns, to_ns = row->to_ns;
		struct perfetto_more more = { .category = "copy" };

		if (row->gpu != gpu || row->direction != direction ||
		    !clip(trace, &from_ns, &to_ns))
			continue;
		/* A copy that is cut, or was under way at the end of the run, has no bytes. */
		if (from_ns == row->from_ns && to_ns == row->to_ns)
			more.numbers[0] = (struct perfetto_number){ "bytes", row->bytes };
		perfetto_slice_begin(&trace->perfetto, track, from_ns, "copy", &more);
		perfetto_slice_end(&trace->perfetto, track, to_ns);
	}
}

/* The batches of a GPU's fault handler. */
static void put_batches(struct trace *trace, u32 gpu, u64 track)
{
	const struct record *record = &trace->machine->record;

	for (size_t i = 0; i < record->batch_count; i++) {
		const struct record_batch *row = &record->batches[i];
		bool ended = row->to_ns;
		u64 from_ns = row->from_ns, to_ns = ended ? row->to_ns : trace->machine->end_ns;
		struct perfetto_more more = { .category = "batch",
					      .numbers = { { "faults", row->faults } } };

		if (row->gpu != gpu || !clip(trace, &from_ns, &to_ns))
			continue;
		if (ended)
			more.numbers[1] = (struct perfetto_number){ "distinct", row->distinct };
		perfetto_slice_begin(&trace->perfetto, track, from_ns, "batch", &more);
		perfetto_slice_end(&trace->perfetto, track, to_ns);
	}
}

/* A GPU: its containers, its fault handler, then its link. Returns 0 or -ENOMEM. */
static int put_gpu(struct trace *trace, u32 gpu)
{
	const struct machine *machine = trace->machine;
	u64 group = perfetto_group(&trace->perfetto, machine->gpus[gpu].name);

	for (u32 i = 0; i < machine->container_count; i++) {
		struct arrows arrows = { 0 };
		u64 track;

		if (machine->containers[i].gpu != &machine->gpus[gpu])
			continue;
		arrows.open = calloc(machine->record.eviction_count + 1, sizeof(*arrows.open));
		if (!arrows.open)
			return -ENOMEM;
		track = perfetto_track(&trace->perfetto, group, name_of(trace, i));
		arrows.track = perfetto_track(&trace->perfetto, trace->groups[i], "evictions");
		put_activity(trace, i, track, &arrows);
		free(arrows.open);
	}
	put_batches(trace, gpu, perfetto_track(&trace->perfetto, group, "fault handler"));
	put_copies(trace, gpu, PCIE_H2D,
		   perfetto_track(&trace->perfetto, group, "copies to the GPU"));
	put_copies(trace, gpu, PCIE_D2H,
		   perfetto_track(&trace->perfetto, group, "copies to the host"));
	return 0;
}

/* One request and its phases, cut to the window. */
static void put_request(struct trace *trace, u64 track, const char *kind,
			const struct app_record *record)
{
	u64 end_ns = record_end_ns(trace, record);
	u64 dates[] = { record->arrival_ns, record->start_ns ? record->start_ns : end_ns,
			record->first_ns ? record->first_ns : end_ns, end_ns };
	static const char *const phases[] = { "queue", "prefill", "decode" };
	struct perfetto_more more = { .category = "request",
				      .numbers = { { "id", record->id } } };
	u64 from_ns = dates[0], to_ns = end_ns;

	if (!clip(trace, &from_ns, &to_ns))
		return;
	perfetto_slice_begin(&trace->perfetto, track, from_ns, kind, &more);
	for (int i = 0; i < 3; i++) {
		u64 begin_ns = dates[i], stop_ns = dates[i + 1];

		if ((!record->start_ns && !record->first_ns) ||
		    !clip(trace, &begin_ns, &stop_ns))
			continue;
		perfetto_slice_begin(&trace->perfetto, track, begin_ns, phases[i], NULL);
		perfetto_slice_end(&trace->perfetto, track, stop_ns);
	}
	perfetto_slice_end(&trace->perfetto, track, to_ns);
}

/* Requests that overlap are on different tracks. Returns 0 or -ENOMEM. */
static int put_requests(struct trace *trace, u32 container)
{
	const struct sim_container *ran = &trace->machine->containers[container];
	struct {
		u64 track, end_ns;
	} *lanes = NULL, *grown;
	size_t count = 0;

	if (!ran->app->report)
		return 0;
	for (size_t i = 0; i < ran->log.record_count; i++) {
		const struct app_record *record = &ran->log.records[i];
		u64 from_ns = record->arrival_ns, to_ns = record_end_ns(trace, record);
		size_t lane = 0;
		char name[NAME_ROOM];

		if (!clip(trace, &from_ns, &to_ns))
			continue;
		while (lane < count && lanes[lane].end_ns > from_ns)
			lane++;
		if (lane == count) {
			grown = reallocarray(lanes, count + 1, sizeof(*lanes));
			if (!grown) {
				free(lanes);
				return -ENOMEM;
			}
			lanes = grown;
			snprintf(name, sizeof(name), "%ss %zu", ran->app->report->record,
				 ++count);
			lanes[lane].track = perfetto_track(&trace->perfetto,
							   trace->groups[container], name);
		}
		lanes[lane].end_ns = to_ns;
		put_request(trace, lanes[lane].track, ran->app->report->record, record);
	}
	free(lanes);
	return 0;
}

/* Writes to control files: at the start and by events of the scenario. */
static void put_writes(struct trace *trace, u32 container)
{
	const struct sim_container *ran = &trace->machine->containers[container];
	const struct config *config = trace->machine->config;
	u64 track =
		perfetto_track(&trace->perfetto, trace->groups[container], "control writes");

	for (size_t i = 0; i < ran->cfg->control_count; i++) {
		const struct cfg_control *control = &ran->cfg->controls[i];
		struct perfetto_more more = { .category = "control",
					      .key = "value",
					      .text = control->text };

		if (*control->text && in_window(trace, ran->cfg->start))
			perfetto_instant(&trace->perfetto, track, ran->cfg->start,
					 control->file, &more);
	}
	for (size_t i = 0; i < config->event_count; i++) {
		const struct cfg_event *event = &config->events[i];
		struct perfetto_more more = { .category = "control",
					      .key = "value",
					      .text = event->value };

		if (*event->file && !strcmp(event->container, ran->cfg->name) &&
		    !trace->machine->missed[i] && event->at <= trace->machine->end_ns &&
		    in_window(trace, event->at))
			perfetto_instant(&trace->perfetto, track, event->at, event->file,
					 &more);
	}
}

/* Pressure events: what a container was told that it is about to lose. */
static void put_pressure(struct trace *trace, u32 container)
{
	const struct record *record = &trace->machine->record;
	u64 track = perfetto_track(&trace->perfetto, trace->groups[container], "pressure");

	for (size_t i = 0; i < record->pressure_count; i++) {
		const struct record_pressure *row = &record->pressures[i];
		struct perfetto_more more = { .category = "pressure",
					      .numbers = { { "bytes", row->bytes },
							   { "listeners", row->listeners } } };

		if (row->container == container && in_window(trace, row->time_ns))
			perfetto_instant(&trace->perfetto, track, row->time_ns, "pressure",
					 &more);
	}
}

static void put_counters(struct trace *trace, u32 container)
{
	const struct machine *machine = trace->machine;
	u64 group = trace->groups[container];
	u64 resident =
		perfetto_counter(&trace->perfetto, group, "memory on the GPU", PERFETTO_BYTES);
	u64 swapped =
		perfetto_counter(&trace->perfetto, group, "memory on the host", PERFETTO_BYTES);
	u64 in = perfetto_counter(&trace->perfetto, group, "bytes in, by sample",
				  PERFETTO_BYTES);
	u64 out = perfetto_counter(&trace->perfetto, group, "bytes out, by sample",
				   PERFETTO_BYTES);

	for (size_t i = 0; i < machine->row_count; i++) {
		const struct timeline_row *row = &machine->timeline[i];

		if (row->container != container || !in_window(trace, row->time_ns))
			continue;
		perfetto_value(&trace->perfetto, resident, row->time_ns, row->resident_bytes);
		perfetto_value(&trace->perfetto, swapped, row->time_ns, row->swapped_bytes);
		perfetto_value(&trace->perfetto, in, row->time_ns, row->usage.bytes_h2d);
		perfetto_value(&trace->perfetto, out, row->time_ns, row->usage.bytes_d2h);
	}
}

static void put_policy(struct trace *trace)
{
	const struct policy_report *report = &trace->machine->policy_report;
	u64 track;

	if (!report->write_count)
		return;
	track = perfetto_track(&trace->perfetto, perfetto_group(&trace->perfetto, "gvmd"),
			       "writes");
	for (size_t i = 0; i < report->write_count; i++) {
		const struct policy_write *row = &report->writes[i];
		struct perfetto_more more = { .category = "policy",
					      .key = "value",
					      .text = row->text };
		char name[NAME_ROOM + GVMD_NAME_MAX];

		snprintf(name, sizeof(name), "%s of %s%s", row->file,
			 name_of(trace, row->container), row->status ? " (refused)" : "");
		if (in_window(trace, row->time_ns))
			perfetto_instant(&trace->perfetto, track, row->time_ns, name, &more);
	}
}

static int put_all(struct trace *trace)
{
	const struct machine *machine = trace->machine;
	int status = 0;

	for (u32 i = 0; i < machine->container_count; i++)
		trace->groups[i] = perfetto_group(&trace->perfetto, name_of(trace, i));
	for (u32 i = 0; !status && i < machine->gpu_count; i++)
		status = put_gpu(trace, i);
	for (u32 i = 0; !status && i < machine->container_count; i++) {
		status = put_requests(trace, i);
		put_writes(trace, i);
		put_pressure(trace, i);
		put_counters(trace, i);
	}
	put_policy(trace);
	return status;
}

int timeline_trace_write(const struct machine *machine, FILE *stream)
{
	const struct config *config = machine->config;
	struct trace trace = {
		.machine = machine,
		.from_ns = config->trace.from,
		.to_ns = config->trace.to ? config->trace.to : machine->end_ns,
		.groups = calloc(machine->container_count + 1, sizeof(*trace.groups)),
	};
	int status, error;

	if (!trace.groups)
		return ENOMEM;
	if (config->trace.worst)
		find_worst(&trace);
	perfetto_begin(&trace.perfetto, stream, config->trace.form == CFG_TRACE_ZSTD);
	status = put_all(&trace);
	error = perfetto_end(&trace.perfetto);
	free(trace.groups);
	return status ? -status : error;
}
