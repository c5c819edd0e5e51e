// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * CSV traces: the public BurstGPT files, the public Azure files of 2023 and 2024, and the
 * arrivals of the GVM paper's replay.
 *
 * Azure's files have dates instead of seconds. Their first row is the zero of the trace.
 *
 * Columns are found by name, never by position: BurstGPT's second release put its two new
 * columns (Session ID, Elapsed time) behind the first one, and a positional reader would take a
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

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Real rows have under 100 bytes. Anything near this limit is not a trace. */
#define TRACE_CSV_LINE_MAX 4096

/* The widest public form has 8 columns. */
#define TRACE_CSV_COLUMNS_MAX 32

/* How much of an offending cell a message quotes. */
#define TRACE_CSV_QUOTE_MAX 32

#define TRACE_NS_PER_SEC    1000000000ull

/* The columns that a replay needs. */
enum trace_csv_role {
	TRACE_CSV_TIME,
	TRACE_CSV_PROMPT,
	TRACE_CSV_GENERATED,
	TRACE_CSV_RECORDED,
	TRACE_CSV_ROLE_COUNT,
};

/* One kind of CSV file. */
struct trace_csv_form {
	const char *columns[TRACE_CSV_ROLE_COUNT]; /* the name of the column in each role */
	bool dates;				   /* times are dates, else seconds */
	bool two_responses;			   /* the two response roles differ */
	const char *attribution;		   /* of a trace that is read from it */
};

static const struct trace_csv_form trace_csv_forms[] = {
	{
		.columns = { "Timestamp", "Request tokens", "Response tokens",
			     "Response tokens" },
		.two_responses = false,
		.attribution = "BurstGPT (Wang et al., CC-BY-4.0)",
	},
	{
		.columns = { "TIMESTAMP", "ContextTokens", "GeneratedTokens",
			     "GeneratedTokens" },
		.dates = true,
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
};

/* A CSV file while it is read. */
struct trace_csv {
	struct trace_lines lines;
	enum trace_bad_rows bad_rows;	   /* how the caller wants them treated */
	const struct trace_csv_form *form; /* of the header */
	int column[TRACE_CSV_ROLE_COUNT];  /* of each role, counted from 0 */
	int columns;			   /* fields of the header */
	u64 last_ns; /* arrival in the last good row, failed or not; of dates, since 1970 */
	u64 zero_ns; /* of dates: of the first good row, which is the trace's zero */
	char buf[TRACE_CSV_LINE_MAX + 1]; /* the line, cut into strings by trace_csv_split() */
	char *cells[TRACE_CSV_COLUMNS_MAX]; /* those strings */
};

/* A parsed row. */
struct trace_csv_row {
	struct trace_request request;
	bool failed; /* a recorded failure: do not replay */
};

static const char *trace_parse_fraction(const char *text, u64 *ret_ns)
{
	u64 unit = TRACE_NS_PER_SEC / 10;
	u64 ns = 0;

	if (!*text)
		return "is not a number";
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return "is not a number";
		if (!unit && *text != '0')
			return "is finer than a nanosecond";
		ns += unit * (u64)(*text - '0');
		unit /= 10;
	}
	*ret_ns = ns;
	return NULL;
}

/* Parse the digits up to the end or a point; *@ret_rest is where they stop. */
static const char *trace_parse_whole(const char *text, u64 *ret_value, const char **ret_rest)
{
	bool overflow = false;
	u64 value = 0;
	const char *p;

	for (p = text; *p >= '0' && *p <= '9'; p++) {
		overflow |= __builtin_mul_overflow(value, 10, &value);
		overflow |= __builtin_add_overflow(value, (u64)(*p - '0'), &value);
	}
	if (p == text && *p == '-' && p[1] >= '0' && p[1] <= '9')
		return "is negative";
	if (p == text || (*p && *p != '.'))
		return "is not a number";
	if (overflow)
		return "is too large";
	*ret_value = value;
	*ret_rest = p;
	return NULL;
}

const char *trace_parse_seconds(const char *text, u64 *ret_ns)
{
	u64 whole, fraction = 0;
	const char *problem, *rest;

	problem = trace_parse_whole(text, &whole, &rest);
	if (!problem && *rest == '.')
		problem = trace_parse_fraction(rest + 1, &fraction);
	if (problem)
		return problem;
	if (__builtin_mul_overflow(whole, TRACE_NS_PER_SEC, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole))
		return "is too large";
	*ret_ns = whole;
	return NULL;
}

static u64 days_of_month(u64 year, u64 month)
{
	static const u8 days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return month == 2 && leap ? 29 : days[month - 1];
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, of 1970 or later. */
static u64 days_since_1970(u64 year, u64 month, u64 day)
{
	/* Years begin in March, so that the leap day is their last one. */
	u64 y = month > 2 ? year : year - 1;
	u64 m = (month + 9) % 12;

	return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719468;
}

/*
 * Parse "2023-11-16 18:15:46.6805900", also with "+00:00" at its end, into nanoseconds since
 * 1970. Returns NULL, or a problem as trace_parse_seconds() does.
 */
static const char *trace_parse_date(const char *text, u64 *ret_ns)
{
	static const char form[] = "dddd-dd-dd dd:dd:dd";
	static const char utc[] = "+00:00";
	u64 part[6] = { 0 }, fraction_ns = 0, days, ns;
	char fraction[32] = "0";
	size_t part_index = 0, length, tail;
	const char *problem;

	for (size_t i = 0; form[i]; i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == 'd' ? !digit : text[i] != form[i])
			return "is not a date";
		if (form[i] == 'd')
			part[part_index] = part[part_index] * 10 + (u64)(text[i] - '0');
		else
			part_index++;
	}
	text += strlen(form);
	length = strlen(text);
	tail = strlen(utc);
	if (length >= tail && !strcmp(text + length - tail, utc))
		length -= tail;
	if (length && (*text != '.' || length >= sizeof(fraction)))
		return "is not a date";
	if (length)
		snprintf(fraction, sizeof(fraction), "%.*s", (int)length - 1, text + 1);
	problem = trace_parse_fraction(fraction, &fraction_ns);
	if (problem)
		return problem;
	if (part[0] < 1970 || part[0] > 2500 || !part[1] || part[1] > 12 || !part[2] ||
	    part[2] > days_of_month(part[0], part[1]) || part[3] > 23 || part[4] > 59 ||
	    part[5] > 60)
		return "is not a date";
	days = days_since_1970(part[0], part[1], part[2]);
	ns = ((days * 24 + part[3]) * 60 + part[4]) * 60 + part[5];
	*ret_ns = ns * TRACE_NS_PER_SEC + fraction_ns;
	return NULL;
}

/* As trace_parse_seconds(), for a whole number below 2^32; zeros behind its point are fine. */
static const char *trace_parse_tokens(const char *text, u32 *ret_tokens)
{
	u64 whole, fraction = 0;
	const char *problem, *rest;

	problem = trace_parse_whole(text, &whole, &rest);
	if (!problem && *rest == '.')
		problem = trace_parse_fraction(rest + 1, &fraction);
	if (!problem && fraction)
		problem = "is not a whole number";
	if (!problem && whole > U32_MAX)
		problem = "is too large";
	if (!problem)
		*ret_tokens = (u32)whole;
	return problem;
}

/*
 * Copy the head of @cell for a message. Control characters, which upset terminals, become "?".
 */
static const char *trace_csv_quote(const char *cell, char quoted[TRACE_CSV_QUOTE_MAX + 4])
{
	size_t i;

	for (i = 0; cell[i] && i < TRACE_CSV_QUOTE_MAX; i++)
		quoted[i] = cell[i] >= ' ' && cell[i] <= '~' ? cell[i] : '?';
	strcpy(quoted + i, cell[i] ? "..." : "");
	return quoted;
}

static int trace_csv_cell_error(const struct trace_csv *csv, enum trace_csv_role role,
				const char *problem, const char *allowed, struct sim_error *err)
{
	char quoted[TRACE_CSV_QUOTE_MAX + 4];

	trace_csv_quote(csv->cells[csv->column[role]], quoted);
	return sim_user_error(err, "%s:%llu: column '%s': '%s' %s, %s", csv->lines.path,
			      csv->lines.line, csv->form->columns[role], quoted, problem,
			      allowed);
}

/* Cut csv->buf at its commas. Returns the number of fields, which may exceed the cells. */
static int trace_csv_split(struct trace_csv *csv)
{
	char *rest = csv->buf;
	int n = 0;

	while (rest) {
		char *cell = strsep(&rest, ",");

		if (n < TRACE_CSV_COLUMNS_MAX)
			csv->cells[n] = cell;
		n++;
	}
	return n;
}

/* Does the header have all columns of @form? Returns 1, 0, or -SIM_EXIT_USER. */
static int trace_csv_match(struct trace_csv *csv, const struct trace_csv_form *form,
			   struct sim_error *err)
{
	for (int role = 0; role < TRACE_CSV_ROLE_COUNT; role++) {
		int found = 0;

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
	return 1;
}

static bool trace_csv_has(const struct trace_csv *csv, const char *column)
{
	for (int i = 0; i < csv->columns; i++)
		if (!strcmp(csv->cells[i], column))
			return true;
	return false;
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
			if (!trace_csv_has(csv, form->columns[role]))
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
	char quoted[TRACE_CSV_QUOTE_MAX + 4];
	int status = trace_lines_next(&csv->lines, err);

	if (status < 0)
		return status;
	/* Spreadsheets put a byte order mark in front of the first name. */
	if (!strncmp(csv->buf, "\xef\xbb\xbf", 3))
		memmove(csv->buf, csv->buf + 3, strlen(csv->buf + 3) + 1);

	csv->columns = trace_csv_split(csv);
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
		"'response_tokens_true_est'), Mooncake (JSON lines) and compact traces",
		csv->lines.path, csv->lines.line, trace_csv_quote(csv->cells[0], quoted));
}

static int trace_csv_parse_time(const struct trace_csv *csv, u64 *ret_ns, struct sim_error *err)
{
	const char *problem, *cell = csv->cells[csv->column[TRACE_CSV_TIME]];

	problem = csv->form->dates ? trace_parse_date(cell, ret_ns) :
				     trace_parse_seconds(cell, ret_ns);
	if (problem)
		return trace_csv_cell_error(
			csv, TRACE_CSV_TIME, problem,
			csv->form->dates ?
				"allowed are dates such as 2023-11-16 18:15:46.6805900" :
				"allowed are decimal seconds from 0 to 18446744073.709551615",
			err);
	if (*ret_ns < csv->last_ns)
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

/* Do the numbers of a row fit together? Tells a recorded failure from a request. */
static int trace_csv_judge(const struct trace_csv *csv, struct trace_csv_row *row,
			   struct sim_error *err)
{
	const u32 *response = row->request.response_tokens;
	bool generated = response[TRACE_RESPONSE_GENERATED];
	bool recorded = response[TRACE_RESPONSE_RECORDED];

	row->failed = !generated && !recorded;
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

	fields = trace_csv_split(csv);
	if (fields != csv->columns)
		return sim_user_error(err, "%s:%llu: %d fields, allowed are the header's %d",
				      csv->lines.path, csv->lines.line, fields, csv->columns);
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
	if (csv->form->dates && !csv->last_ns)
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
	if (status == -SIM_EXIT_USER && csv->bad_rows == TRACE_BAD_ROWS_SKIP) {
		trace->bad_rows++;
		return 1;
	}
	if (status)
		return status;
	if (row.failed) {
		trace->failures++;
		return 1;
	}
	/*
	 * The row is sound. Only the limit of a trace or memory can fail here, and no option
	 * skips that.
	 */
	status = trace_append(trace, &row.request, err);
	return status ? trace_error_at(csv->lines.path, err, status) : 1;
}

int trace_csv_read(FILE *file, const char *path, enum trace_bad_rows bad_rows,
		   struct trace *trace, struct sim_error *err)
{
	struct trace_csv csv = { .bad_rows = bad_rows };
	int status;

	csv.lines = (struct trace_lines){
		.file = file, .path = path, .buf = csv.buf, .max = TRACE_CSV_LINE_MAX
	};
	status = trace_csv_read_header(&csv, err);
	if (status)
		return status;
	do {
		status = trace_csv_read_row(&csv, trace, err);
	} while (status > 0);
	if (status)
		return status;
	if (!trace->count)
		return trace_lines_no_requests(&csv.lines, trace->failures, trace->bad_rows,
					       err);
	trace->two_responses = csv.form->two_responses;
	strcpy(trace->attribution, csv.form->attribution);
	return 0;
}
