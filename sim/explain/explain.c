// SPDX-License-Identifier: MIT OR GPL-2.0
#include "explain/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "gvm/port.h"
#include "results/requests_read.h"
#include "results/results.h"

const char *const explain_phases[EXPLAIN_PHASES] = {
	[EXPLAIN_QUEUE] = "queue",
	[EXPLAIN_PREFILL] = "prefill",
	[EXPLAIN_DECODE] = "decode",
};

static const char *const explain_causes[EXPLAIN_CAUSES] = {
	[EXPLAIN_COMPUTE] = "compute",	 [EXPLAIN_SLOW] = "part_of_gpu",
	[EXPLAIN_FAULTS] = "own_faults", [EXPLAIN_SWITCHING] = "switching",
	[EXPLAIN_HELD] = "held",	 [EXPLAIN_HOST] = "host",
};

/* What the user asked for. */
struct wanted {
	char container[CFG_NAME_MAX]; /* empty: any */
	bool worst;
	u64 id;
	const char *text;
};

static int parse_wanted(struct wanted *wanted, const char *text, struct sim_error *err)
{
	const char *colon = strchr(text, ':');
	const char *rest = colon ? colon + 1 : text;
	char *end;

	/* A name that is too long is cut, and still is no container's. */
	*wanted = (struct wanted){ .text = text };
	if (colon)
		snprintf(wanted->container, sizeof(wanted->container), "%.*s",
			 (int)(colon - text), text);
	wanted->worst = !strcmp(rest, "worst");
	wanted->id = strtoull(rest, &end, 10);
	if (colon != text && (wanted->worst || (*rest >= '0' && *rest <= '9' && !*end)))
		return 0;
	return sim_user_error(err,
			      "\"%s\" is no request, allowed: a number, CONTAINER:NUMBER, "
			      "worst or CONTAINER:worst",
			      text);
}

/* How long a request waited for its first token, or has waited at the end of the run. */
static u64 wait_ns(const struct explain *explain, u64 run_end_ns)
{
	u64 until = explain->first_ns ? explain->first_ns : explain->finish_ns;

	return (until ? until : run_end_ns) - explain->arrival_ns;
}

/*
 * Is @row rather meant than @found? Requests are, before images and rounds. Of several worst
 * ones, and of equal ids in several containers, the first is.
 */
static bool is_preferred(const struct explain *row, const struct explain *found,
			 const struct wanted *wanted, u64 run_end_ns)
{
	bool row_is_request = !strcmp(row->kind, "request");

	if (row_is_request != !strcmp(found->kind, "request"))
		return row_is_request;
	return wanted->worst && wait_ns(row, run_end_ns) > wait_ns(found, run_end_ns);
}

/* Are the dates of a request in order? One that did not happen is 0. */
static bool is_in_order(const struct explain *row, u64 run_end_ns)
{
	const u64 dates[] = { row->start_ns, row->first_ns,
			      row->finish_ns ? row->finish_ns : run_end_ns };
	u64 last_ns = row->arrival_ns;

	for (size_t i = 0; i < ARRAY_SIZE(dates); i++) {
		if (dates[i] && dates[i] < last_ns)
			return false;
		last_ns = max(last_ns, dates[i]);
	}
	return true;
}

/* A row of requests.csv says when a request was where; what the GPU did follows later. */
static struct explain explain_of(const struct requests_row *row)
{
	struct explain explain = {
		.id = row->record.id,
		.arrival_ns = row->record.arrival_ns,
		.start_ns = row->record.start_ns,
		.first_ns = row->record.first_ns,
		.finish_ns = row->record.finish_ns,
		.tokens_in = row->record.prompt_tokens,
		.tokens_out = row->record.output_tokens,
		.preemptions = row->record.preemptions,
	};

	snprintf(explain.kind, sizeof(explain.kind), "%s", row->kind);
	snprintf(explain.container, sizeof(explain.container), "%s", row->container);
	snprintf(explain.outcome, sizeof(explain.outcome), "%s", row->outcome);
	return explain;
}

/* Find the wanted request in requests.csv. */
static int find_request(struct explain *found, const char *path, const struct wanted *wanted,
			u64 run_end_ns, struct sim_error *err)
{
	char file[PATH_MAX];
	struct requests_row request;
	bool any = false;
	struct csv csv;
	int status;

	snprintf(file, sizeof(file), "%s/" RESULTS_REQUESTS, path);
	status = requests_open(&csv, file, err);
	if (status)
		return status;
	while ((status = requests_next(&csv, &request, err)) == 1) {
		struct explain row;

		if (*wanted->container && strcmp(request.container, wanted->container) != 0)
			continue;
		row = explain_of(&request);
		if (!wanted->worst && row.id != wanted->id)
			continue;
		if (!is_in_order(&row, run_end_ns)) {
			status = sim_user_error(err, "%s:%zu: has dates that are not in order",
						csv.file, csv.line);
			break;
		}
		if (any && !is_preferred(&row, found, wanted, run_end_ns))
			continue;
		*found = row;
		any = true;
	}
	csv_close(&csv);
	if (!status && !any && wanted->worst && *wanted->container)
		return sim_user_error(err, "%s: has no request of container \"%s\"", file,
				      wanted->container);
	if (!status && !any && wanted->worst)
		return sim_user_error(err, "%s: has no request: none arrived in the run", file);
	if (!status && !any)
		return sim_user_error(
			err, "%s: has no request \"%s\", allowed: an id in it, or worst", file,
			wanted->text);
	return status;
}

/* The dates at which a phase begins and ends. */
static void phase_span(const struct explain *explain, enum explain_phase phase, u64 *ret_from,
		       u64 *ret_to)
{
	u64 start = explain->start_ns ? explain->start_ns : explain->end_ns;
	u64 first = explain->first_ns ? explain->first_ns : explain->end_ns;

	/* A record without a queue, such as an image, begins at once and has one phase. */
	if (!explain->start_ns && strcmp(explain->kind, "request") != 0)
		start = explain->arrival_ns;
	*ret_from = phase == EXPLAIN_QUEUE   ? explain->arrival_ns :
		    phase == EXPLAIN_PREFILL ? start :
					       first;
	*ret_to = phase == EXPLAIN_QUEUE   ? start :
		  phase == EXPLAIN_PREFILL ? first :
					     explain->end_ns;
}

u64 explain_phase_ns(const struct explain *explain, enum explain_phase phase)
{
	u64 from, to;

	phase_span(explain, phase, &from, &to);
	return to - from;
}

static size_t name_index(struct explain *explain, const char *name)
{
	size_t i = 0;

	while (i < explain->name_count && strcmp(explain->names[i], name) != 0)
		i++;
	if (i == explain->name_count && i < CFG_CONTAINERS_MAX)
		snprintf(explain->names[explain->name_count++], CFG_NAME_MAX, "%s", name);
	return min(i, (size_t)CFG_CONTAINERS_MAX - 1);
}

/* A row of activity.csv. */
struct row {
	u64 from_ns, to_ns, busy_ns, slow_ns;
	const char *activity, *by;
};

static u64 in_proportion(u64 value, u64 part, u64 whole)
{
	return (u64)((unsigned __int128)value * part / whole);
}

/* Book the part of a row that is in a phase. All of it gets a cause. */
static void book(struct explain *explain, enum explain_phase phase, const struct row *row,
		 u64 ns)
{
	u64 *causes = explain->causes[phase];
	u64 whole = row->to_ns - row->from_ns, busy, slow;

	if (!strcmp(row->activity, results_activities[FIFO_RUNS])) {
		busy = in_proportion(row->busy_ns, ns, whole);
		slow = min(in_proportion(row->slow_ns, ns, whole), ns - busy);
		causes[EXPLAIN_COMPUTE] += busy;
		causes[EXPLAIN_SLOW] += slow;
		causes[EXPLAIN_HOST] += ns - busy - slow;
	} else if (!strcmp(row->activity, results_activities[FIFO_STALLED])) {
		causes[EXPLAIN_FAULTS] += ns;
	} else if (!strcmp(row->activity, results_activities[FIFO_SWITCHING])) {
		causes[EXPLAIN_SWITCHING] += ns;
	} else if (!strcmp(row->activity, results_activities[FIFO_IDLE])) {
		causes[EXPLAIN_HOST] += ns;
	} else if (!*row->by) {
		causes[EXPLAIN_HELD] += ns;
	} else if (!strcmp(row->activity, results_activities[FIFO_BLOCKED])) {
		explain->others_faults[phase][name_index(explain, row->by)] += ns;
	} else {
		explain->others_compute[phase][name_index(explain, row->by)] += ns;
	}
}

static int check_row(const struct csv *csv, const struct row *row, struct sim_error *err)
{
	for (int i = 0; i < FIFO_ACTIVITIES; i++)
		if (!strcmp(row->activity, results_activities[i]) &&
		    row->from_ns < row->to_ns && row->busy_ns <= row->to_ns - row->from_ns)
			return 0;
	return sim_user_error(err, "%s:%zu: is not a row of " RESULTS_ACTIVITY, csv->file,
			      csv->line);
}

/* Book all rows of the request's container. Time without a row is the host's: no context. */
static int book_rows(struct explain *explain, const char *path, struct sim_error *err)
{
	enum { CONTAINER, FROM, TO, ACTIVITY, BUSY, SLOW, BY, COLUMNS };
	static const char *const columns[COLUMNS] = { "container", "from_ns", "to_ns",
						      "activity",  "busy_ns", "slow_ns",
						      "by" };
	u64 left[EXPLAIN_PHASES];
	char file[PATH_MAX];
	struct csv csv;
	int status;

	for (int phase = 0; phase < EXPLAIN_PHASES; phase++)
		left[phase] = explain_phase_ns(explain, (enum explain_phase)phase);
	snprintf(file, sizeof(file), "%s/" RESULTS_ACTIVITY, path);
	if (!csv_exists(file))
		return sim_user_error(err,
				      "%s: is not there; make the run again with --set "
				      "output.activity=true",
				      file);
	status = csv_open(&csv, file, columns, COLUMNS, err);
	if (status)
		return status;
	while ((status = csv_next(&csv, err)) == 1) {
		struct row row = { .activity = csv_text(&csv, ACTIVITY),
				   .by = csv_text(&csv, BY) };

		if (strcmp(csv_text(&csv, CONTAINER), explain->container) != 0)
			continue;
		status = csv_u64(&csv, FROM, &row.from_ns, err);
		if (!status)
			status = csv_u64(&csv, TO, &row.to_ns, err);
		if (!status)
			status = csv_u64(&csv, BUSY, &row.busy_ns, err);
		if (!status)
			status = csv_u64(&csv, SLOW, &row.slow_ns, err);
		if (!status)
			status = check_row(&csv, &row, err);
		if (status)
			break;
		for (int phase = 0; phase < EXPLAIN_PHASES; phase++) {
			u64 from, to;

			phase_span(explain, (enum explain_phase)phase, &from, &to);
			from = max(from, row.from_ns);
			to = min(to, row.to_ns);
			/* Rows of a container do not overlap; a damaged file's may. */
			if (from >= to || to - from > left[phase])
				continue;
			book(explain, (enum explain_phase)phase, &row, to - from);
			left[phase] -= to - from;
		}
	}
	csv_close(&csv);
	for (int phase = 0; phase < EXPLAIN_PHASES; phase++)
		explain->causes[phase][EXPLAIN_HOST] += left[phase];
	return status;
}

int explain_request(struct explain *explain, const char *path, const char *request,
		    struct sim_error *err)
{
	char file[PATH_MAX];
	struct summary summary;
	struct wanted wanted;
	u64 run_end_ns;
	int status = parse_wanted(&wanted, request, err);

	if (status)
		return status;
	if (strlen(path) > sizeof(file) - WRITER_NAME_MAX)
		return sim_user_error(err, "%.60s...: name of a folder is too long", path);
	snprintf(file, sizeof(file), "%s/" RESULTS_SUMMARY, path);
	status = summary_load(&summary, file, err);
	if (status)
		return status;
	run_end_ns = (u64)(summary.sim_seconds * 1e9 + 0.5);
	status = find_request(explain, path, &wanted, run_end_ns, err);
	if (!status) {
		snprintf(explain->system, CFG_NAME_MAX, "%s", summary.system);
		explain->end_ns = max(explain->finish_ns ? explain->finish_ns : run_end_ns,
				      explain->arrival_ns);
		status = book_rows(explain, path, err);
	}
	summary_destroy(&summary);
	return status;
}

/* The containers of @ns that took any time, by name. */
static json_t *others_json(const struct explain *explain, const u64 *ns)
{
	json_t *others = json_object();

	for (size_t i = 0; i < explain->name_count; i++)
		if (ns[i])
			json_object_set_new(others, explain->names[i],
					    json_integer((json_int_t)ns[i]));
	return others;
}

json_t *explain_json(const struct explain *explain)
{
	json_t *phases = json_object();
	json_t *root = json_pack("{ss ss ss sI sI sI ss}", "container", explain->container,
				 "kind", explain->kind, "system", explain->system, "id",
				 (json_int_t)explain->id, "arrival_ns",
				 (json_int_t)explain->arrival_ns, "end_ns",
				 (json_int_t)explain->end_ns, "outcome", explain->outcome);

	for (int i = 0; i < EXPLAIN_PHASES; i++) {
		json_t *phase = json_object();

		json_object_set_new(phase, "ns",
				    json_integer((json_int_t)explain_phase_ns(
					    explain, (enum explain_phase)i)));
		for (int cause = 0; cause < EXPLAIN_CAUSES; cause++)
			json_object_set_new(
				phase, explain_causes[cause],
				json_integer((json_int_t)explain->causes[i][cause]));
		json_object_set_new(phase, "others_compute",
				    others_json(explain, explain->others_compute[i]));
		json_object_set_new(phase, "others_faults",
				    others_json(explain, explain->others_faults[i]));
		json_object_set_new(phases, explain_phases[i], phase);
	}
	if (!root || json_object_set_new(root, "phases", phases)) {
		json_decref(root);
		return NULL;
	}
	return root;
}
