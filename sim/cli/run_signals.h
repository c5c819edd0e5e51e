/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What interrupts a simulation: SIGINT, SIGTERM and SIGHUP, which mean the same here.
 *
 * SimGrid installs a handler of its own for SIGINT, which exits, somewhere inside
 * machine_run(). So the signals are blocked before anything is written. The first call from
 * inside the simulation lets them through, after our handler is in place: no interrupt gets
 * lost or kills at any moment. The handler asks the run to stop in order; a second interrupt,
 * more than a second later, ends the program at once, but not while results are being written.
 */
#ifndef SIM_CLI_RUN_SIGNALS_H
#define SIM_CLI_RUN_SIGNALS_H

/* Set by the handler: the run is to stop. */
extern volatile int run_interrupted;

/* Block the signals, or let them through. */
void run_signals_block(void);
void run_signals_unblock(void);

/* Put our handler in place, again after the simulation. */
void run_signals_catch(void);

/*
 * From inside the simulation, as often as one likes: the first call lets the signals through.
 */
void run_signals_let_in(void);

#endif
