/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The table that "gvmsim run" prints: statistics of every container. */
#ifndef SIM_CLI_RUN_TABLE_H
#define SIM_CLI_RUN_TABLE_H

#include "results/summary.h"

struct cfg_override;
struct config;
struct sim_error;

/*
 * Print the @count overrides of the scenario, the statistics, the keys that the system ignored,
 * and where the results are. Returns 0 or a negative enum sim_exit.
 */
int run_table_print(const struct summary *summary, const struct config *config,
		    const struct cfg_override *overrides, size_t count, const char *folder,
		    struct sim_error *err);

#endif
