/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Fields of objects in an application's JSON: rows of tables, as keys of a scenario are, and
 * read and checked by the same functions. In place of a value there may be
 * {"value": ..., "source": "..."}.
 */
#ifndef SIM_APPS_APP_FIELDS_H
#define SIM_APPS_APP_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/schema.h"

/* A row of a table of fields, which ends with an empty row. */
#define APP_FIELD(struct_, name_, type_, member_, ...)           \
	{                                                        \
		.path = (name_), .type = CFG_TYPE_##type_,       \
		CFG_MEMBER(struct struct_, member_), __VA_ARGS__ \
	}

/* Room for the reason why a declaration is refused, without its file and key. Borrowed. */
struct app_fields_wrong {
	char *text;
	size_t size;
};

/* Write "WHERE: what is wrong". Returns false. */
bool app_fields_reject(const struct app_fields_wrong *wrong, const char *where, const char *fmt,
		       ...) __attribute__((format(printf, 3, 4)));

/* The value, if it stands beside its source. */
const json_t *app_fields_value(const json_t *json);

/*
 * Read the fields of @json that are in @fields into @base. A field of a name in @others, which
 * ends with NULL, is another's. False: *wrong says what is wrong.
 */
bool app_fields_read(const struct app_fields_wrong *wrong, const char *where,
		     const json_t *json, const struct cfg_key *fields,
		     const char *const *others, void *base);

#endif
