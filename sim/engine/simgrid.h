/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Nodes under SimGrid: each simulated node is one SimGrid host with one actor on it.
 *
 * SimGrid is for traffic between nodes. All work inside a node is in the node's own event loop
 * and costs no simcall. SimGrid is loaded on request only: in Debian's packaging it brings 29
 * shared objects, ns-3 among them. Their constructors and destructors take 20 ms, four times
 * the rest of a short run.
 */
#ifndef SIM_ENGINE_SIMGRID_H
#define SIM_ENGINE_SIMGRID_H

#include "engine/types.h"

/* Load and start SimGrid, with @count hosts. Returns 0, -ENOENT without SimGrid, or -EIO. */
int eng_simgrid_init(u32 count);

/* Run @node_main(@nodes[i]) in an actor on each host, until all have returned. */
void eng_simgrid_run(void (*node_main)(void *node), void *const *nodes, u32 count);

#endif
