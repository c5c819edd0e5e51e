/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Reading JSON files as editors write them. */
#ifndef SIM_CONFIG_JSON_READ_H
#define SIM_CONFIG_JSON_READ_H

#include <jansson.h>
#include <stdio.h>

/*
 * Read a JSON file from @stream, whose byte order mark is skipped. NULL: *ret_bad says why, and
 * its text is empty for a lack of memory. A key that is given twice is a mistake. The caller owns
 * the JSON.
 */
json_t *cfg_json_read(FILE *stream, json_error_t *ret_bad);

/* Likewise, of a text in memory, which may give a key twice. */
json_t *cfg_json_parse(const char *text, size_t size, json_error_t *ret_bad);

#endif
