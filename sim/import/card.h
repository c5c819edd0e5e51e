/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The GPU profile of a card's name, as the driver reports it. */
#ifndef SIM_IMPORT_CARD_H
#define SIM_IMPORT_CARD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is @card, "NVIDIA A100-SXM4-40GB", the one of the profile "a100-40g"? Words of vendors, sockets
 * and kinds of memory do not count. The size of the memory counts where the card names it, and
 * all other words have to be the same: "NVIDIA H100 NVL" is no "h100-80g".
 */
bool card_is(const char *card, const char *profile);

/*
 * The one profile of scenarios/gpus whose card this is, or its own name. False: there is none,
 * or several.
 */
bool card_profile(const char *card, char *ret_profile, size_t size);

#endif
