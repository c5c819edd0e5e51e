// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * CSV traces: the public BurstGPT files, the public Azure files of 2023 and 2024, the
 * arrivals of the GVM paper's replay, and requests.csv of results folders.
 *
 * Azure's files have dates instead of seconds. Their first row is the zero of the trace.
 *
 * requests.csv has rows of all containers of a run, in nanoseconds. A trace is what one server
 * was asked for, so it has the requests of one container. They need not be in time order, and
 * the first one is the zero. Rows of other kinds, such as images, are no requests. A request
 * that was not completed is counted as a failure: the length of its answer is not known.
 *
 * Columns are found by name, never by position: BurstGPT's second release put its two new
 * columns (Session ID, Elapsed time) after the first one, and a positional reader would take a
 * session for a model and an elapsed time for a prompt. Only the columns that a replay needs
 * are read. The others are not checked: Session ID is blank in 19 rows of 20 of the public
 * file, and Total tokens is a sum of others.
 *
 * These files never quote a field, so a comma is always a border between two fields.
 *
 * A row whose response has 0 tokens records a request that failed on the original server. It
 * is counted and left out. Its time must still be in order.
 */
#include "trace/trace_csv.h"

#include "engine/error.h"
#include "trace/trace.h"
#include "trace/trace_lines.h"
#include "trace/trace_parse.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Real rows have under 100 bytes. Anything near this limit is not a trace. */
#define TRACE_CSV_LINE_MAX 4096

/* The widest public form has 8 columns. */
#define TRACE_CSV_COLUMNS_MAX 32

/* Names of containers are shorter. */
#define TRACE_CSV_NAME_MAX 256

/* The columns that a replay needs. */
enum trace_csv_role {
	TRACE_CSV_TIME,
	TRACE_CSV_PROMPT,
	TRACE_CSV_GENERATED,
	TRACE_CSV_RECORDED,
	TRACE_CSV_CONTAINER, /* this and the next ones: of requests.csv only */
	TRACE_CSV_KIND,
	TRACE_CSV_OUTCOME,
	TRACE_CSV_ROLE_COUNT,
};

/* How a file gives the time of a row. */
enum trace_csv_time {
	TRACE_CSV_SECONDS,
	TRACE_CSV_DATES,
	TRACE_CSV_NANOSECONDS,
};

/* One kind of CSV file. */
struct trace_csv_form {
	/* The name of the column in each role; NULL: the form has no such column. */
	const char *columns[TRACE_CSV_ROLE_COUNT];
	enum trace_csv_time time;
	bool two_responses;	 /* the two response roles differ */
	const char *attribution; /* of a trace that is read from it */
	const char *published;	 /* a column of the published file only; NULL: any has all */
};

static const struct trace_csv_form trace_csv_forms[] = {
	{
		.columns = { "Timestamp", "Request tokens", "Response tokens",
			     "Response tokens" },
		.two_responses = false,
		.attribution = "BurstGPT (Wang et al., CC-BY-4.0)",
		.published = "Log Type",
	},
	{
		.columns = { "TIMESTAMP", "ContextTokens", "GeneratedTokens",
			     "GeneratedTokens" },
		.time = TRACE_CSV_DATES,
		.two_responses = false,
		.attribution = "Azure LLM inference trace, Azure Public Dataset (Microsoft, "
			       "CC-BY-4.0)",
	},
	{
		.columns = { "t_trace_s", "request_tokens", "response_tokens_gvm_generated",
			     "response_tokens_true_est" },
		.two_responses = true,
		.attribution =
			"BurstGPT (Wang et al., CC-BY-4.0), first 3256 valid requests as "
			"replayed in the GVM paper; rebuilt from public leftovers",
	},
	{
		.columns = { "arrival_ns", "prompt_tokens", "output_tokens", "output_tokens",
			     "container", "kind", "outcome" },
		.time = TRACE_CSV_NANOSECONDS,
		.two_responses = false,
		.attribution = "",
	},
};

/* A CSV file while it is read. */
struct trace_csv {
	struct trace_lines lines;
	enum trace_bad_rows bad_rows;	   /* how the caller wants them treated */
	const char *wanted;		   /* container; NULL: the only one with requests */
	const struct trace_csv_form *form; /* of the header */
	int column[TRACE_CSV_ROLE_COUNT];  /* of each role, counted from 0 */
	int columns;			   /* fields of the header */
	const char *attribution;	   /* of the form, or "" */
	u64 last_ns; /* arrival in the last good row, failed or not; of dates, since 1970 */
	u64 zero_ns; /* of dates: of the first good row, which is the trace's zero */
	char buf[TRACE_CSV_LINE_MAX + 1];   /* the line, cut into strings by trace_split() */
	char *cells[TRACE_CSV_COLUMNS_MAX]; /* those strings */
	/* Of requests.csv: */
	char container[TRACE_CSV_NAME_MAX]; /* of its first request */
	bool found;			    /* a request of the wanted container */
	bool several;			    /* requests of two containers, and none is wanted */
};

/* A parsed row. */
struct trace_csv_row {
	struct trace_request request;
	bool failed;	/* a recorded failure: do not replay */
	bool elsewhere; /* nothing that the server was asked for */
};

static int trace_csv_cell_error(const struct trace_csv *csv, enum trace_csv_role role,
				const char *problem, const char *allowed, struct sim_error *err)
{
	char quoted[TRACE_QUOTE_BYTES];

	trace_quote(csv->cells[csv->column[role]], quoted);
	return sim_user_error(err, "%s:%llu: column '%s': '%s' %s, %s", csv->lines.path,
			      csv->lines.line, csv->form->columns[role], quoted, problem,
			      allowed);
}

static bool trace_csv_has(const struct trace_csv *csv, const char *column)
{
	for (int i = 0; i < csv->columns; i++)
		if (!strcmp(csv->cells[i], column))
			return true;
	return false;
}

/* Does the header have all columns of @form? Returns 1, 0, or -SIM_EXIT_USER. */
static int trace_csv_match(struct trace_csv *csv, const struct trace_csv_form *form,
			   struct sim_error *err)
{
	for (int role = 0; role < TRACE_CSV_ROLE_COUNT; role++) {
		int found = 0;

		if (!form->columns[role])
			continue;
		for (int i = 0; i < csv->columns; i++) {
			if (strcmp(csv->cells[i], form->columns[role]) != 0)
				continue;
			csv->column[role] = i;
			found++;
		}
		if (!found)
			return 0;
		if (found > 1)
			return sim_user_error(
				err, "%s:%llu: column '%s': is there twice, allowed is once",
				csv->lines.path, csv->lines.line, form->columns[role]);
	}
	csv->form = form;
	csv->attribution = !form->published || trace_csv_has(csv, form->published) ?
				   form->attribution :
				   "";
	return 1;
}

/*
 * A header that belongs to no form: has it the first column of one? Then say which of the others
 * is missing. Returns 0: it has not.
 */
static int trace_csv_lacks(const struct trace_csv *csv, struct sim_error *err)
{
	for (size_t i = 0; i < sizeof(trace_csv_forms) / sizeof(trace_csv_forms[0]); i++) {
		const struct trace_csv_form *form = &trace_csv_forms[i];

		for (int role = 1;
		     trace_csv_has(csv, form->columns[0]) && role < TRACE_CSV_ROLE_COUNT;
		     role++)
			if (form->columns[role] && !trace_csv_has(csv, form->columns[role]))
				return sim_user_error(err,
						      "%s:%llu: column '%s' is missing, needed "
						      "beside '%s'",
						      csv->lines.path, csv->lines.line,
						      form->columns[role], form->columns[0]);
	}
	return 0;
}

/* Read the first line and find the form that it belongs to. */
static int trace_csv_read_header(struct trace_csv *csv, struct sim_error *err)
{
	char quoted[TRACE_QUOTE_BYTES];
	int status = trace_lines_next(&csv->lines, err);

	if (status < 0)
		return status;
	csv->columns = trace_split(csv->buf, csv->cells, TRACE_CSV_COLUMNS_MAX);
	if (csv->columns > TRACE_CSV_COLUMNS_MAX)
		return sim_user_error(err, "%s:%llu: %d columns, allowed are up to %d",
				      csv->lines.path, csv->lines.line, csv->columns,
				      TRACE_CSV_COLUMNS_MAX);
	for (size_t i = 0; i < sizeof(trace_csv_forms) / sizeof(trace_csv_forms[0]); i++) {
		status = trace_csv_match(csv, &trace_csv_forms[i], err);
		if (status)
			return status < 0 ? status : 0;
	}
	status = trace_csv_lacks(csv, err);
	if (status)
		return status;
	return sim_user_error(
		err,
		"%s:%llu: unknown header, its first column is '%s'; accepted are BurstGPT "
		"(columns 'Timestamp', 'Request tokens', 'Response tokens'), Azure "
		"('TIMESTAMP', 'ContextTokens', 'GeneratedTokens'), GVM arrivals "
		"('t_trace_s', 'request_tokens', 'response_tokens_gvm_generated', "
		"'response_tokens_true_est'), requests.csv of a results folder, Mooncake (JSON "
		"lines), results of vllm bench serve (JSON) and compact traces",
		csv->lines.path, csv->lines.line, trace_quote(csv->cells[0], quoted));
}

static int trace_csv_parse_time(const struct trace_csv *csv, u64 *ret_ns, struct sim_error *err)
{
	static const struct {
		const char *(*parse)(const char *text, u64 *ret_ns);
		const char *allowed;
	} times[] = {
		[TRACE_CSV_SECONDS] = { trace_parse_seconds,
					"allowed are decimal seconds from 0 to "
					"18446744073.709551615" },
		[TRACE_CSV_DATES] = { trace_parse_date, "allowed are dates such as 2023-11-16 "
							"18:15:46.6805900" },
		[TRACE_CSV_NANOSECONDS] = { trace_parse_nanoseconds,
					    "allowed are whole nanoseconds from 0 to "
					    "18446744073709551615" },
	};
	enum trace_csv_time time = csv->form->time;
	const char *problem =
		times[time].parse(csv->cells[csv->column[TRACE_CSV_TIME]], ret_ns);

	if (problem)
		return trace_csv_cell_error(csv, TRACE_CSV_TIME, problem, times[time].allowed,
					    err);
	if (*ret_ns < csv->last_ns && time != TRACE_CSV_NANOSECONDS)
		return trace_csv_cell_error(csv, TRACE_CSV_TIME,
					    "is earlier than the row before",
					    "allowed is the same time or later", err);
	return 0;
}

static int trace_csv_parse_tokens(const struct trace_csv *csv, enum trace_csv_role role,
				  u32 *ret_tokens, struct sim_error *err)
{
	const char *problem, *cell = csv->cells[csv->column[role]];

	problem = trace_parse_tokens(cell, ret_tokens);
	if (problem)
		return trace_csv_cell_error(csv, role, problem,
					    "allowed are whole numbers from 0 to 4294967295",
					    err);
	return 0;
}

/* Of requests.csv: an answer that is not complete is a failure. Its length is not known. */
static int trace_csv_parse_outcome(const struct trace_csv *csv, struct trace_csv_row *row,
				   struct sim_error *err)
{
	const char *cell = csv->cells[csv->column[TRACE_CSV_OUTCOME]];

	row->failed = strcmp(cell, "completed") != 0;
	if (!row->failed || !strcmp(cell, "failed") || !strcmp(cell, "dropped"))
		return 0;
	return trace_csv_cell_error(csv, TRACE_CSV_OUTCOME, "is no outcome",
				    "allowed are completed, failed and dropped", err);
}

/* Of requests.csv: is the row a request to the container of this trace? */
static int trace_csv_choose(struct trace_csv *csv, struct trace_csv_row *row,
			    struct sim_error *err)
{
	const char *container = csv->cells[csv->column[TRACE_CSV_CONTAINER]];
	char problem[TRACE_QUOTE_MAX + 40], first[TRACE_QUOTE_BYTES];

	row->elsewhere = strcmp(csv->cells[csv->column[TRACE_CSV_KIND]], "request") != 0;
	if (row->elsewhere)
		return 0;
	if (!*csv->container)
		snprintf(csv->container, sizeof(csv->container), "%s", container);
	if (csv->wanted) {
		row->elsewhere = strcmp(container, csv->wanted) != 0;
		csv->found |= !row->elsewhere;
		return 0;
	}
	csv->found = true;
	csv->several = strncmp(container, csv->container, sizeof(csv->container) - 1) != 0;
	if (!csv->several)
		return 0;
	snprintf(problem, sizeof(problem), "has requests beside '%s'",
		 trace_quote(csv->container, first));
	return trace_csv_cell_error(csv, TRACE_CSV_CONTAINER, problem,
				    "choose one with 'gvmsim trace import --container NAME'",
				    err);
}

/* Do the numbers of a row fit together? Tells a recorded failure from a request. */
static int trace_csv_judge(const struct trace_csv *csv, struct trace_csv_row *row,
			   struct sim_error *err)
{
	const u32 *response = row->request.response_tokens;
	bool generated = response[TRACE_RESPONSE_GENERATED];
	bool recorded = response[TRACE_RESPONSE_RECORDED];

	row->failed |= !generated && !recorded;
	if (row->failed)
		return 0;
	if (!generated || !recorded)
		return trace_csv_cell_error(
			csv, generated ? TRACE_CSV_RECORDED : TRACE_CSV_GENERATED,
			"contradicts the other response", "allowed is 0 in both or in none",
			err);
	if (!row->request.prompt_tokens)
		return trace_csv_cell_error(csv, TRACE_CSV_PROMPT, "is an empty prompt",
					    "allowed is 0 only where the response is 0 too",
					    err);
	return 0;
}

/* Parse the line in csv->buf. Returns 0 or -SIM_EXIT_USER; csv->last_ns moves only with 0. */
static int trace_csv_parse_row(struct trace_csv *csv, struct trace_csv_row *row,
			       struct sim_error *err)
{
	u32 *response = row->request.response_tokens;
	int fields, status;

	fields = trace_split(csv->buf, csv->cells, TRACE_CSV_COLUMNS_MAX);
	if (fields != csv->columns)
		return sim_user_error(err, "%s:%llu: %d fields, allowed are the header's %d",
				      csv->lines.path, csv->lines.line, fields, csv->columns);
	if (csv->form->columns[TRACE_CSV_CONTAINER]) {
		status = trace_csv_choose(csv, row, err);
		if (status || row->elsewhere)
			return status;
		status = trace_csv_parse_outcome(csv, row, err);
		if (status)
			return status;
	}
	status = trace_csv_parse_time(csv, &row->request.arrival_ns, err);
	if (!status)
		status = trace_csv_parse_tokens(csv, TRACE_CSV_PROMPT,
						&row->request.prompt_tokens, err);
	if (!status)
		status = trace_csv_parse_tokens(csv, TRACE_CSV_GENERATED,
						&response[TRACE_RESPONSE_GENERATED], err);
	if (!status)
		status = trace_csv_parse_tokens(csv, TRACE_CSV_RECORDED,
						&response[TRACE_RESPONSE_RECORDED], err);
	if (!status)
		status = trace_csv_judge(csv, row, err);
	if (status)
		return status;
	if (csv->form->time == TRACE_CSV_DATES && !csv->last_ns)
		csv->zero_ns = row->request.arrival_ns;
	csv->last_ns = row->request.arrival_ns;
	row->request.arrival_ns -= csv->zero_ns;
	return 0;
}

/* Read the next row into @trace. Returns 1; 0 at the end of the file; a negative sim_exit. */
static int trace_csv_read_row(struct trace_csv *csv, struct trace *trace, struct sim_error *err)
{
	struct trace_csv_row row = { 0 };
	int status = trace_lines_next_row(&csv->lines, err);

	if (!status)
		return 0;
	if (status > 0)
		status = trace_csv_parse_row(csv, &row, err);
	if (status == -SIM_EXIT_USER && csv->bad_rows == TRACE_BAD_ROWS_SKIP && !csv->several) {
		trace->bad_rows++;
		return 1;
	}
	if (status)
		return status;
	if (row.elsewhere)
		return 1;
	if (row.failed) {
		trace->failures++;
		return 1;
	}
	/*
	 * The row is sound. Only the limit of a trace or memory can fail here, and no option
	 * skips that.
	 */
	status = csv->form->columns[TRACE_CSV_CONTAINER] ?
			 trace_append_unordered(trace, &row.request, err) :
			 trace_append(trace, &row.request, err);
	return status ? trace_error_at(csv->lines.path, err, status) : 1;
}

int trace_csv_no_containers(const char *path, struct sim_error *err)
{
	return sim_user_error(err,
			      "%s: has no containers to choose from with --container, allowed "
			      "is requests.csv of a results folder",
			      path);
}

/* All rows were read, and none is a request that was completed. */
static int trace_csv_no_requests(const struct trace_csv *csv, const struct trace *trace,
				 struct sim_error *err)
{
	char wanted[TRACE_QUOTE_BYTES], first[TRACE_QUOTE_BYTES];

	if (csv->found || !csv->form->columns[TRACE_CSV_CONTAINER])
		return trace_lines_no_requests(&csv->lines, trace->failures, trace->bad_rows,
					       err);
	if (!*csv->container)
		return sim_user_error(err,
				      "%s:%llu: no rows of kind 'request' (bad rows: %llu), "
				      "allowed are results of at least one LLM server",
				      csv->lines.path, csv->lines.line, trace->bad_rows);
	return sim_user_error(err,
			      "%s:%llu: no requests of container '%s', there are some of '%s'",
			      csv->lines.path, csv->lines.line,
			      trace_quote(csv->wanted, wanted),
			      trace_quote(csv->container, first));
}

int trace_csv_read(FILE *file, const char *path, const char *container,
		   enum trace_bad_rows bad_rows, struct trace *trace, struct sim_error *err)
{
	struct trace_csv csv = { .bad_rows = bad_rows, .wanted = container };
	int status;

	csv.lines = (struct trace_lines){
		.file = file, .path = path, .buf = csv.buf, .max = TRACE_CSV_LINE_MAX
	};
	status = trace_csv_read_header(&csv, err);
	if (!status && container && !csv.form->columns[TRACE_CSV_CONTAINER])
		status = trace_csv_no_containers(path, err);
	if (status)
		return status;
	do {
		status = trace_csv_read_row(&csv, trace, err);
	} while (status > 0);
	if (status)
		return status;
	if (!trace->count)
		return trace_csv_no_requests(&csv, trace, err);
	if (csv.form->columns[TRACE_CSV_CONTAINER])
		trace_order(trace);
	trace->two_responses = csv.form->two_responses;
	strcpy(trace->attribution, csv.attribution);
	return 0;
}
