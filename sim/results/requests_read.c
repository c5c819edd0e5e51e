// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/requests_read.h"

#include <string.h>

#include "engine/error.h"
#include "gvm/port.h"

enum column {
	CONTAINER,
	ID,
	KIND,
	ARRIVAL,
	FIRST,
	FINISH,
	PROMPT,
	OUTPUT,
	START,
	PREEMPTIONS,
	OUTCOME,
	COLUMNS
};

static const char *const columns[COLUMNS] = {
	[CONTAINER] = "container",
	[ID] = "id",
	[KIND] = "kind",
	[ARRIVAL] = "arrival_ns",
	[FIRST] = "first_ns",
	[FINISH] = "finish_ns",
	[PROMPT] = "prompt_tokens",
	[OUTPUT] = "output_tokens",
	[START] = "start_ns",
	[PREEMPTIONS] = "preemptions",
	[OUTCOME] = "outcome",
};

const char *const requests_outcomes[] = {
	[APP_COMPLETED] = "completed",
	[APP_FAILED] = "failed",
	[APP_DROPPED] = "dropped",
};

int requests_open(struct csv *csv, const char *file, struct sim_error *err)
{
	return csv_open(csv, file, columns, COLUMNS, err);
}

static int read_outcome(const struct csv *csv, enum app_outcome *ret_outcome,
			struct sim_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(requests_outcomes); i++) {
		if (strcmp(csv_text(csv, OUTCOME), requests_outcomes[i]) != 0)
			continue;
		*ret_outcome = (enum app_outcome)i;
		return 0;
	}
	return sim_user_error(err,
			      "%s:%zu: outcome: \"%.40s\", allowed: completed, failed, dropped",
			      csv->file, csv->line, csv_text(csv, OUTCOME));
}

/* A number of 32 bits. */
static int read_u32(const struct csv *csv, enum column column, u32 *ret_value,
		    struct sim_error *err)
{
	u64 value;
	int status = csv_u64(csv, column, &value, err);

	if (!status && value > U32_MAX)
		status = sim_user_error(err, "%s:%zu: %s: %llu, allowed: at most %u", csv->file,
					csv->line, columns[column], value, U32_MAX);
	*ret_value = status ? 0 : (u32)value;
	return status;
}

static int read_record(const struct csv *csv, struct app_record *record, struct sim_error *err)
{
	const struct {
		enum column column;
		u64 *value;
	} numbers[] = {
		{ ID, &record->id },	      { ARRIVAL, &record->arrival_ns },
		{ FIRST, &record->first_ns }, { FINISH, &record->finish_ns },
		{ START, &record->start_ns },
	};
	const struct {
		enum column column;
		u32 *value;
	} counts[] = {
		{ PROMPT, &record->prompt_tokens },
		{ OUTPUT, &record->output_tokens },
		{ PREEMPTIONS, &record->preemptions },
	};
	int status = 0;

	for (size_t i = 0; !status && i < ARRAY_SIZE(numbers); i++)
		status = csv_u64(csv, numbers[i].column, numbers[i].value, err);
	for (size_t i = 0; !status && i < ARRAY_SIZE(counts); i++)
		status = read_u32(csv, counts[i].column, counts[i].value, err);
	return status ? status : read_outcome(csv, &record->outcome, err);
}

int requests_next(struct csv *csv, struct requests_row *ret_row, struct sim_error *err)
{
	int status = csv_next(csv, err);

	if (status != 1)
		return status;
	*ret_row = (struct requests_row){
		.container = csv_text(csv, CONTAINER),
		.kind = csv_text(csv, KIND),
		.outcome = csv_text(csv, OUTCOME),
		.of_server = csv_has(csv, PREEMPTIONS),
	};
	status = read_record(csv, &ret_row->record, err);
	return status ? status : 1;
}
