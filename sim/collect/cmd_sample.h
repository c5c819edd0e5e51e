/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmcollect sample": watch the control files of this host and write a results folder. */
#ifndef SIM_COLLECT_CMD_SAMPLE_H
#define SIM_COLLECT_CMD_SAMPLE_H

/*
 * Run the command line from the word "sample" on, which is argv[0]. News and a table go to
 * stdout; notes, and one line for an error, to stderr. Returns an enum sim_exit.
 */
int cmd_sample(int argc, char **argv);

#endif
