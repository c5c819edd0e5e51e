// SPDX-License-Identifier: MIT OR GPL-2.0
/* The files of a results folder; see results.h. Fractions are computed in integers. */
#include "results/results.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/error.h"
#include "results/fixed.h"
#include "results/packed.h"
#include "results/requests_read.h"
#include "results/rows.h"

static const char *const result_files[] = {
	RESULTS_CONFIG,	    RESULTS_REQUESTS, RESULTS_TIMELINE, RESULTS_CONTROLS,
	RESULTS_EVICTIONS,  RESULTS_ACTIVITY, RESULTS_POLICY,	RESULTS_TRACE,
	RESULTS_TRACE_ZSTD, RESULTS_SUMMARY,
};

/* The text @key of the JSON file @name in @writer's folder. False: there is none. */
static bool read_text(const struct writer *writer, const char *name, const char *key,
		      char ret_text[SUMMARY_HASH_MAX])
{
	struct sim_error ignored = { 0 };
	char file[PATH_MAX];
	const char *text;
	json_t *root;

	snprintf(file, sizeof(file), "%s/%s", writer->folder, name);
	if (access(file, F_OK) || results_load_json(file, "", &root, &ignored))
		return false;
	text = json_string_value(json_object_get(root, key));
	snprintf(ret_text, SUMMARY_HASH_MAX, "%s", text ? text : "");
	json_decref(root);
	return text;
}

/*
 * Does @writer's folder have results, of any version? Then take their hash. summary.json is put
 * in place last: a killed run may have left others alone.
 */
static bool results_are_there(const struct writer *writer, char ret_hash[SUMMARY_HASH_MAX])
{
	char file[PATH_MAX];

	snprintf(file, sizeof(file), "%s/" RESULTS_SUMMARY, writer->folder);
	if (access(file, F_OK))
		return read_text(writer, RESULTS_CONFIG, "hash", ret_hash);
	return read_text(writer, RESULTS_SUMMARY, "version", ret_hash) &&
	       read_text(writer, RESULTS_SUMMARY, "config_hash", ret_hash);
}

bool results_differ(const struct writer *writer, const char *config_hash)
{
	char hash[SUMMARY_HASH_MAX];

	return results_are_there(writer, hash) && (!config_hash || strcmp(hash, config_hash));
}

/*
 * A user's file of the same name is not replaced: a model's config.json, a trace. @name may be
 * there in either form.
 */
static int check_users_file(const struct writer *writer, const char *name,
			    struct sim_error *err)
{
	static const char *const endings[] = { "", PACKED_ENDING };
	char file[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		snprintf(file, sizeof(file), "%s/%s%s", writer->folder, name, endings[i]);
		if (!access(file, F_OK))
			return sim_user_error(err,
					      "%s: is no result of gvmsim and would be "
					      "replaced, allowed: another folder",
					      file);
	}
	return 0;
}

int results_prepare(struct writer *writer, const char *folder, struct sim_error *err)
{
	char hash[SUMMARY_HASH_MAX];
	int status = writer_open(writer, folder, err);

	for (size_t i = 0; !status && i < ARRAY_SIZE(result_files); i++)
		status = writer_check(writer, result_files[i], err);
	if (!status && !results_are_there(writer, hash))
		for (size_t i = 0; !status && i < ARRAY_SIZE(result_files); i++)
			status = check_users_file(writer, result_files[i], err);
	if (status)
		writer_abort(writer);
	else
		writer_remove_stale(writer);
	return status;
}

int results_commit(struct writer *writer, struct sim_error *err)
{
	writer_exclude(writer);
	writer_remove(writer, RESULTS_SUMMARY);
	for (size_t i = 0; i < ARRAY_SIZE(result_files); i++)
		if (!writer_has(writer, result_files[i]))
			writer_remove(writer, result_files[i]);
	return writer_commit(writer, err);
}

/* Write @root with so many digits of its real numbers. */
static int write_json(struct writer *writer, const char *name, const json_t *root,
		      size_t precision, struct sim_error *err)
{
	char *text = root ? json_dumps(root, JSON_INDENT(2) | precision) : NULL;
	int status;

	if (!text)
		return sim_runtime_error(err, "out of memory for %s", name);
	status = writer_begin(writer, name, err);
	if (!status) {
		writer_printf(writer, "%s\n", text);
		status = writer_end(writer, err);
	}
	free(text);
	return status;
}

int results_write_json(struct writer *writer, const char *name, const json_t *root,
		       struct sim_error *err)
{
	return write_json(writer, name, root, JSON_REAL_PRECISION(12), err);
}

int results_write_summary(struct writer *writer, const struct summary *summary,
			  struct sim_error *err)
{
	json_t *root = summary_json(summary);
	int status = results_write_json(writer, RESULTS_SUMMARY, root, err);

	json_decref(root);
	return status;
}

/* Write config.json: the resolved configuration, with the hash that summary.json has, too. */
static int write_config(struct writer *writer, const struct config *config,
			struct sim_error *err)
{
	json_t *root = json_copy(config->resolved);
	int status;

	if (json_object_set_new(root, "hash", json_string(config->hash)))
		status = sim_runtime_error(err, "out of memory for " RESULTS_CONFIG);
	else
		status = write_json(writer, RESULTS_CONFIG, root, CFG_JSON_PRECISION, err);
	json_decref(root);
	return status;
}

static const struct results_column requests_columns[] = {
	{ "container", "its name" },
	{ "id", "number of the record in its container" },
	{ "kind", "request, image or round" },
	{ "arrival_ns", "date of arrival" },
	{ "first_ns", "date of the first token" },
	{ "finish_ns", "date of the end" },
	{ "prompt_tokens", "tokens of the prompt" },
	{ "output_tokens", "tokens of the answer" },
	{ "start_ns", "date at which its server began with it" },
	{ "preemptions", "times that its server took its KV blocks and began again" },
	{ "reason",
	  "of a failed one: refused, too_long, out_of_memory, killed, stopped or error" },
	{ "outcome", "completed, failed or dropped" },
	{ NULL, NULL },
};

static const struct results_column timeline_columns[] = {
	{ "time_ns", "end of the interval" },
	{ "container", "its name" },
	{ "resident_bytes", "memory on the GPU: gmem.current" },
	{ "swapped_bytes", "memory on the host only: gmem.swap.current" },
	{ "gpu_busy_ns", "its kernels executed" },
	{ "gpu_share", "gpu_busy_ns over the interval" },
	{ "stall_cpu_ns", "its faults waited for the CPU or for memory to be cleared" },
	{ "stall_d2h_ns", "its faults waited for copies to host memory" },
	{ "stall_h2d_ns", "its faults waited for copies from host memory" },
	{ "blocked_ns", "it had work while faults of others held the GPU" },
	{ "evictions", "chunks that were taken from it" },
	{ "h2d_bytes", "copied in" },
	{ "d2h_bytes", "copied out" },
	{ "link_h2d_use", "h2d_bytes over the most that the link could have moved" },
	{ "link_d2h_use", "the same of d2h_bytes" },
	{ "pending_kernels", "launched and not ended" },
	{ NULL, NULL },
};

static const struct results_column controls_columns[] = {
	{ "time_ns", "date of the sample that found the change" },
	{ "container", "its name" },
	{ "file", "control file, by its name in the core" },
	{ "value", "its content; lines are joined by blanks" },
	{ NULL, NULL },
};

static const struct results_column evictions_columns[] = {
	{ "time_ns", "date of the eviction" },	    { "container", "that lost the block" },
	{ "va", "virtual address of the block" },   { "chunk", "that it left" },
	{ "pages", "of 64 KB that were resident" }, { NULL, NULL },
};

static const struct results_column policy_columns[] = {
	{ "time_ns", "date of the step that asked for the write" },
	{ "container", "its name" },
	{ "file", "control file" },
	{ "value", "text of the write" },
	{ "error", "errno of a refused write; 0: it was done" },
	{ "restored", "1: the policy had failed, and this puts back the text from before it" },
	{ NULL, NULL },
};

static const struct results_column activity_columns[] = {
	{ "container", "its name" },
	{ "from_ns", "begin" },
	{ "to_ns", "end" },
	{ "activity",
	  "runs, stalled (own faults), switching, blocked (faults of another), waits "
	  "(for its turn) or idle (nothing to execute)" },
	{ "busy_ns", "of runs: GPU time at full speed that its kernels executed" },
	{ "slow_ns", "of runs: how much longer that took with a part of the GPU" },
	{ "by", "of blocked and waits: the container that held the GPU" },
	{ NULL, NULL },
};

const char *const results_activities[FIFO_ACTIVITIES] = {
	[FIFO_RUNS] = "runs",	    [FIFO_STALLED] = "stalled", [FIFO_SWITCHING] = "switching",
	[FIFO_BLOCKED] = "blocked", [FIFO_WAITS] = "waits",	[FIFO_IDLE] = "idle",
};

const struct results_file results_files[] = {
	{ RESULTS_REQUESTS, requests_columns },
	{ RESULTS_TIMELINE, timeline_columns },
	{ RESULTS_CONTROLS, controls_columns },
	{ RESULTS_EVICTIONS, evictions_columns },
	{ RESULTS_POLICY, policy_columns },
	{ RESULTS_ACTIVITY, activity_columns },
	{ NULL, NULL },
};

/* Begin a CSV file with its header. Returns 0 or -SIM_EXIT_RUNTIME. */
static int begin_file(struct writer *writer, const char *name,
		      const struct results_column *columns, struct sim_error *err)
{
	int status = writer_begin(writer, name, err);

	for (size_t i = 0; !status && columns[i].name; i++)
		writer_printf(writer, "%s%s", i ? "," : "", columns[i].name);
	if (!status)
		writer_printf(writer, "\n");
	return status;
}

/* A number and the comma after it. */
static void put_number(struct rows *rows, u64 number)
{
	rows_number(rows, number);
	rows_char(rows, ',');
}

/* A date and a comma. The date 0 did not happen and is an empty field. */
static void put_date(struct rows *rows, u64 ns)
{
	if (ns)
		rows_number(rows, ns);
	rows_char(rows, ',');
}

/* A text and the character after it. */
static void put_text(struct rows *rows, const char *text, char end)
{
	rows_text(rows, text);
	rows_char(rows, end);
}

int results_begin_requests(struct writer *writer, struct sim_error *err)
{
	return begin_file(writer, RESULTS_REQUESTS, requests_columns, err);
}

void results_put_log(struct writer *writer, const char *container,
		     const struct app_report *report, const struct app_log *log)
{
	static const char *const reasons[APP_REASONS] = {
		[APP_NO_REASON] = "",	     [APP_REFUSED] = "refused",
		[APP_TOO_LONG] = "too_long", [APP_OUT_OF_MEMORY] = "out_of_memory",
		[APP_KILLED] = "killed",     [APP_STOPPED] = "stopped",
		[APP_ERROR] = "error",
	};
	struct app_log_reader reader = { .log = log };
	const struct app_record *record;
	struct rows rows;

	rows.writer = writer;
	rows.length = 0;
	while (report && (record = app_log_next(&reader))) {
		put_text(&rows, container, ',');
		put_number(&rows, record->id);
		put_text(&rows, report->record, ',');
		put_number(&rows, record->arrival_ns);
		put_date(&rows, record->first_ns);
		put_date(&rows, record->finish_ns);
		if (report->has_tokens) {
			put_number(&rows, record->prompt_tokens);
			put_number(&rows, record->output_tokens);
		} else {
			rows_text(&rows, ",,");
		}
		put_date(&rows, record->start_ns);
		if (log->has_server)
			rows_number(&rows, record->preemptions);
		rows_char(&rows, ',');
		put_text(&rows, reasons[record->reason], ',');
		put_text(&rows, requests_outcomes[record->outcome], '\n');
	}
	rows_flush(&rows);
	if (reader.failed && !writer->error)
		writer->error = EIO;
}

static int write_requests(struct writer *writer, const struct machine *machine,
			  struct sim_error *err)
{
	int status = results_begin_requests(writer, err);

	if (status)
		return status;
	for (u32 t = 0; t < machine->container_count; t++) {
		const struct sim_container *container = &machine->containers[t];

		results_put_log(writer, container->cfg->name, container->app->report,
				&container->log);
	}
	return writer_end(writer, err);
}

int results_begin_timeline(struct writer *writer, struct sim_error *err)
{
	return begin_file(writer, RESULTS_TIMELINE, timeline_columns, err);
}

/* Write @bytes over the bytes that a link of @bandwidth bytes/s can move in @interval_ns. */
static void link_use(u64 bytes, u64 bandwidth, u64 interval_ns, char *ret_text)
{
	fixed_format((unsigned __int128)bytes * FIXED_NS_PER_S,
		     (unsigned __int128)bandwidth * interval_ns, ret_text);
}

/*
 * Write a number and the character after it. The field is empty if the sample does not know
 * @what.
 */
static void put_known(struct writer *writer, const struct results_sample *sample,
		      unsigned int what, u64 value, char end)
{
	if (sample->known & what)
		writer_printf(writer, "%llu", value);
	writer_printf(writer, "%c", end);
}

void results_put_sample(struct writer *writer, const struct results_sample *sample)
{
	const struct sim_usage *usage = &sample->usage;
	char share[FIXED_MAX], h2d[FIXED_MAX], d2h[FIXED_MAX];

	writer_printf(writer, "%llu,%s,", sample->time_ns, sample->container);
	put_known(writer, sample, RESULTS_RESIDENT, sample->resident_bytes, ',');
	put_known(writer, sample, RESULTS_SWAPPED, sample->swapped_bytes, ',');
	fixed_format(usage->busy_ns, sample->interval_ns, share);
	link_use(usage->bytes_h2d, sample->link_bandwidth, sample->interval_ns, h2d);
	link_use(usage->bytes_d2h, sample->link_bandwidth, sample->interval_ns, d2h);
	if (sample->known & RESULTS_USAGE)
		writer_printf(writer, "%llu,%s,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%s,%s,",
			      usage->busy_ns, share, sim_usage_cpu_ns(usage),
			      usage->stall_d2h_ns, usage->stall_h2d_ns, usage->blocked_ns,
			      usage->evictions, usage->bytes_h2d, usage->bytes_d2h, h2d, d2h);
	else
		writer_printf(writer, ",,,,,,,,,,,");
	put_known(writer, sample, RESULTS_PENDING, sample->pending_kernels, '\n');
}

static int write_timeline(struct writer *writer, const struct machine *machine,
			  struct sim_error *err)
{
	u64 sampled_ns[CFG_CONTAINERS_MAX] = { 0 };
	int status = results_begin_timeline(writer, err);

	if (status)
		return status;
	for (size_t i = 0; i < machine->row_count; i++) {
		const struct timeline_row *row = &machine->timeline[i];
		struct results_sample sample = {
			.container = machine->containers[row->container].cfg->name,
			.known = RESULTS_ALL,
			.time_ns = row->time_ns,
			.interval_ns = row->time_ns - sampled_ns[row->container],
			.link_bandwidth =
				machine->containers[row->container].config->gpu.link.bandwidth,
			.resident_bytes = row->resident_bytes,
			.swapped_bytes = row->swapped_bytes,
			.pending_kernels = row->pending_kernels,
			.usage = row->usage,
		};

		results_put_sample(writer, &sample);
		sampled_ns[row->container] = row->time_ns;
	}
	return writer_end(writer, err);
}

int results_begin_controls(struct writer *writer, struct sim_error *err)
{
	return begin_file(writer, RESULTS_CONTROLS, controls_columns, err);
}

void results_put_control(struct writer *writer, u64 time_ns, const char *container,
			 const char *file, const char *value)
{
	writer_printf(writer, "%llu,%s,%s,%s\n", time_ns, container, file, value);
}

static int write_controls(struct writer *writer, const struct machine *machine,
			  struct sim_error *err)
{
	int status;

	if (!machine->config->record_controls)
		return 0;
	status = results_begin_controls(writer, err);
	if (status)
		return status;
	for (size_t i = 0; i < machine->record.control_count; i++) {
		const struct record_control *row = &machine->record.controls[i];

		results_put_control(writer, row->time_ns,
				    machine->containers[row->container].cfg->name, row->file,
				    row->text);
	}
	return writer_end(writer, err);
}

static int write_evictions(struct writer *writer, const struct machine *machine,
			   struct sim_error *err)
{
	int status;

	if (!machine->config->record_evictions)
		return 0;
	status = begin_file(writer, RESULTS_EVICTIONS, evictions_columns, err);
	if (status)
		return status;
	for (size_t i = 0; i < machine->record.eviction_count; i++) {
		const struct record_eviction *row = &machine->record.evictions[i];

		writer_printf(writer, "%llu,%s,0x%llx,%u,%u\n", row->time_ns,
			      machine->containers[row->container].cfg->name, row->va,
			      row->chunk, row->pages);
	}
	return writer_end(writer, err);
}

static int write_activity(struct writer *writer, const struct machine *machine,
			  struct sim_error *err)
{
	const struct record *record = &machine->record;
	struct rows rows;
	int status;

	if (!machine->config->record_activity)
		return 0;
	status = begin_file(writer, RESULTS_ACTIVITY, activity_columns, err);
	if (status)
		return status;
	rows.writer = writer;
	rows.length = 0;
	for (size_t i = 0; i < record->activity_count; i++) {
		const struct record_activity *row = &record->activities[i];
		const char *by =
			row->by == RECORD_NO_ONE ? "" : machine->containers[row->by].cfg->name;

		put_text(&rows, machine->containers[row->container].cfg->name, ',');
		put_number(&rows, row->from_ns);
		put_number(&rows, row->to_ns);
		put_text(&rows, results_activities[row->activity], ',');
		put_number(&rows, row->busy_ns);
		put_number(&rows, row->slow_ns);
		put_text(&rows, by, '\n');
	}
	rows_flush(&rows);
	return writer_end(writer, err);
}

const char *const results_trace_names[] = {
	[CFG_TRACE_PLAIN] = RESULTS_TRACE,
	[CFG_TRACE_ZSTD] = RESULTS_TRACE_ZSTD,
};

static int write_policy(struct writer *writer, const struct machine *machine,
			struct sim_error *err)
{
	const struct policy_report *report = &machine->policy_report;
	int status;

	if (!machine->policy)
		return 0;
	status = begin_file(writer, RESULTS_POLICY, policy_columns, err);
	if (status)
		return status;
	for (size_t i = 0; i < report->write_count; i++) {
		const struct policy_write *row = &report->writes[i];

		writer_printf(writer, "%llu,%s,%s,%s,%d,%d\n", row->time_ns,
			      machine->containers[row->container].cfg->name, row->file,
			      row->text, -row->status, row->restored);
	}
	return writer_end(writer, err);
}

/* config.json comes first and summary.json last; see results_commit(). */
int results_write(struct writer *writer, const struct machine *machine,
		  const struct summary *summary,
		  int (*write_more)(struct writer *writer, const struct machine *machine,
				    struct sim_error *err),
		  struct sim_error *err)
{
	int status = write_config(writer, machine->config, err);

	if (!status)
		status = write_requests(writer, machine, err);
	if (!status)
		status = write_timeline(writer, machine, err);
	if (!status)
		status = write_controls(writer, machine, err);
	if (!status)
		status = write_evictions(writer, machine, err);
	if (!status)
		status = write_activity(writer, machine, err);
	if (!status)
		status = write_policy(writer, machine, err);
	if (!status && write_more)
		status = write_more(writer, machine, err);
	if (!status)
		status = results_write_summary(writer, summary, err);
	if (!status)
		status = results_commit(writer, err);
	if (status)
		writer_abort(writer);
	return status;
}
