/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A scenario from a run on real hardware, of which gvmcollect has left a results folder.
 *
 * What the folder knows goes into the scenario: the length, the card, the system, containers
 * with their settings, every later change of a setting as an event, and each server's requests
 * as a trace. What no folder can know, such as which model a server has, is a text "TODO" in
 * its key, and a line for the user.
 *
 *     collection            0                        end
 *     scenario   0 - lead - start of containers ---- end
 *
 * A server loads before its first work. So all dates are later by a lead.
 */
#ifndef SIM_IMPORT_MEASURED_H
#define SIM_IMPORT_MEASURED_H

#include "import/measured_parts.h"

struct sim_error;

/*
 * Make the scenario of a folder. Nothing is written. Returns 0 or a negative enum sim_exit; the
 * caller closes *measured in any case.
 */
int measured_open(struct measured *measured, const struct measured_request *request,
		  struct sim_error *err);
void measured_close(struct measured *measured);

/*
 * Write the traces beside the scenario, and the scenario. Each file appears whole. Returns 0 or
 * a negative enum sim_exit.
 */
int measured_write(struct measured *measured, struct sim_error *err);

#endif
