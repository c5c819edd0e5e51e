/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The GPU profile of a card's name, as the driver reports it. */
#ifndef SIM_IMPORT_CARD_H
#define SIM_IMPORT_CARD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The one profile of scenarios/gpus whose card this is, or its own name. False: there is none,
 * or several.
 */
bool card_profile(const char *card, char *ret_profile, size_t size);

#endif
