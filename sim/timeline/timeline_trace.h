/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The timeline of a run as a trace that Perfetto opens (output.timeline).
 *
 * Groups and tracks:
 *
 *     a GPU        a track for each container: it runs, switches, waits for its page faults, for its
 *                  turn or for faults of another, by name; batches of the fault handler; copies
 *                  of each direction
 *     a container  requests with queue, prefill and decode, in as many tracks as overlap; writes
 *                  to its control files; evictions, each with an arrow to the container's next
 *                  page faults; pressure events; counters of memory, swapped memory and bytes
 *                  on the link
 *     gvmd         writes that a policy asked for
 *
 * A slice of a container that runs may hold pauses in which the host did not launch: it is up
 * to 10 ms long and has its GPU time ("busy_ns").
 */
#ifndef SIM_TIMELINE_TIMELINE_TRACE_H
#define SIM_TIMELINE_TIMELINE_TRACE_H

#include <stdio.h>

struct machine;

/*
 * Write the trace of a finished run into @stream, compressed if the configuration says so.
 * Returns 0 or an errno.
 */
int timeline_trace_write(const struct machine *machine, FILE *stream);

#endif
