/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Fixed turns: a scheduler above the hardware's that keeps each entry's turn for it.
 *
 *     turn    [  a  ][  b  ][  -  ][  -  ][  a  ][  b  ]...  four turns in a round, two entries
 *     runs     aaaaaa   bb                 aaaaaa
 *
 * Turns have one length, and begin at multiples of it. In its turn an entry is switched to when
 * it has work, and nothing else runs. The switch is a part of the turn. At the end of its turn
 * an entry leaves, also if the next one has no work; its state is saved in the next turn then.
 * So an entry has its share of the time, and no more. An entry with unserviced faults cannot
 * leave: what it takes is missing in the turns that follow.
 *
 * With fifo_turns.count there are that many turns in a round: an entry has the lowest free
 * number, and turns without an entry pass in idleness. Else there is a turn for each entry, in
 * the order of the runlist. An entry that comes or goes changes whose turns follow. The rest of
 * the turn of one that goes passes in idleness.
 *
 * A runlist without work has no events: turns that have passed are counted when work comes.
 */
#ifndef SIM_FIFO_TURNS_H
#define SIM_FIFO_TURNS_H

#include "fifo/types.h"

/* Has this runlist fixed turns? */
bool turns_are_fixed(const struct fifo_runlist *runlist);

/* Set whose turn it is now. Call before an entry is added or removed. */
void turns_advance(struct fifo_runlist *runlist);

/* An entry has been added to its runlist; or is about to be removed. */
void turns_add(struct fifo_entry *entry);
void turns_remove(struct fifo_entry *entry);

#endif
