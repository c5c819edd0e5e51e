/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads and writes over a fabric, TLP by TLP.
 *
 * Nobody answers a write: PCIe calls it posted. A read is answered: its target sends the data
 * back in completions. A requester has a fixed number of tags, and each read holds one until all
 * of its data has come. So reads get at most tags * size / round trip.
 *
 * A TLP cuts through: a link may begin to send it when its head has come. Each direction of a
 * link sends its TLPs in the order in which they come. So a read never passes a write that was
 * posted before it on the same way.
 *
 * A root cuts what crosses it. A read of 256 bytes goes on as four of 64, which a tracer showed
 * (Device Lending, section 7.1). A root has tags of its own for them. That is what makes reads
 * through a root slow, and no property of the IOMMU (section 8).
 */
#ifndef SIM_FABRIC_TRAFFIC_H
#define SIM_FABRIC_TRAFFIC_H

#include "fabric/fabric.h"

/* Headers, with framing and checksums: 3 double words and 64-bit addresses. */
#define FABRIC_COMPLETION_HEADER 20u
#define FABRIC_REQUEST_HEADER	 24u /* of writes, too */

/*
 * Begin a transfer, whose memory belongs to the caller until on_end is called. The engine runs.
 */
void fabric_begin(struct fabric *fabric, struct fabric_transfer *transfer);

/*
 * Begin nothing more of a transfer. It ends with -EINTR when what is under way has come to its
 * end. So on_end may be called in here.
 */
void fabric_cancel(struct fabric_transfer *transfer);

/* The caller of a transfer, which waits for its end. */
struct fabric_waiter {
	struct eng_waitq waitq;
	bool ended;
};

/*
 * fabric_begin() for a caller that goes on and waits later. The transfer's on_end and data are
 * the waiter's. Both must stay until fabric_wait() has returned.
 */
void fabric_begin_waited(struct fabric *fabric, struct fabric_transfer *transfer,
			 struct fabric_waiter *waiter);

/*
 * Blocking: wait for the end of a transfer of fabric_begin_waited(). An interrupt cancels the
 * transfer: it sends no more, and ends when its TLPs on the links have arrived. Returns its status.
 */
int fabric_wait(struct fabric_transfer *transfer);

/* Blocking: begin a transfer, and wait as fabric_wait() does. */
int fabric_do(struct fabric *fabric, struct fabric_transfer *transfer);

/* Is nothing under way? Then what begins now takes as long as it takes at any other time. */
bool fabric_is_idle(const struct fabric *fabric);

#endif
