/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmcollect logs": application logs into a folder that was collected. */
#ifndef SIM_COLLECT_CMD_LOGS_H
#define SIM_COLLECT_CMD_LOGS_H

/*
 * Run the command line from the word "logs" on, which is argv[0]. Notes, and one line for an
 * error, go to stderr. Returns an enum sim_exit.
 */
int cmd_logs(int argc, char **argv);

#endif
