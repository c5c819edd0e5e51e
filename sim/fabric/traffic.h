/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads and writes over a fabric, TLP by TLP.
 *
 * A write is posted: its TLPs go one after the other, and nobody answers. A read is a request
 * that its target answers with completions. A requester has so many tags, and a request holds
 * one until all of its data has come. So a long way and small requests make reads slow:
 * tags * size / round trip.
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

struct fabric_transfer {
	u32 from; /* a device, or a root for a CPU */
	u64 address;
	u64 bytes; /* after an error: those that had begun */
	bool read;
	u32 request_bytes; /* of a read, at once; 0: fabric_config.read_request */
	u32 tags;	   /* reads in flight at most; 0: as many as the requester has */
	u64 think_ps;	   /* with tags: after an answer, before that tag asks again */
	/* Called last, with the status in .status. May begin another transfer. */
	void (*on_end)(struct fabric_transfer *transfer);
	void *data;
	int status;    /* 0; -EFAULT: an access led nowhere; -ENOMEM; -EINTR: cancelled */
	u64 served_ps; /* its last request of a read was at its target then: it sees that moment */

	/* traffic.c's own. */
	struct fabric *fabric;
	struct fabric_path path;
	u64 path_end;			/* bytes of the transfer up to the end of the path */
	u64 begun;			/* bytes that were sent or asked for */
	u64 done;			/* bytes that have come to their end */
	u32 in_flight;			/* requests of a read */
	bool waits;			/* a read has a request in the queue for a tag */
	struct fabric_packet *thinking; /* tags of a read in the time after an answer */
	struct fabric_packet *thinking_last;
	struct eng_timer pace;
};

/*
 * Begin a transfer, whose memory belongs to the caller until on_end is called. The engine runs.
 */
void fabric_begin(struct fabric *fabric, struct fabric_transfer *transfer);

/*
 * Begin nothing more of a transfer. It ends with -EINTR when what is under way has come to its
 * end. So on_end may be called in here.
 */
void fabric_cancel(struct fabric_transfer *transfer);

/*
 * Blocking: begin it and wait for its end. An interrupt cancels it; what is under way still comes
 * to its end. Returns its status.
 */
int fabric_do(struct fabric *fabric, struct fabric_transfer *transfer);

/* Free what the traffic has used. No transfer is under way. */
void fabric_destroy(struct fabric *fabric);

#endif
