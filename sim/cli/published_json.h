/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What "gvmsim validate published" has found, as JSON. */
#ifndef SIM_CLI_PUBLISHED_JSON_H
#define SIM_CLI_PUBLISHED_JSON_H

struct published;
struct sim_error;

/*
 * Write all rows and scores to the file @path, complete or not at all. Returns 0 or
 * a negative enum sim_exit.
 */
int published_write_json(const struct published *published, const char *path,
			 struct sim_error *err);

#endif
