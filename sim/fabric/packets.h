/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * TLPs on their way over the links of a transfer's path, below reads and writes (traffic.c).
 *
 * There is one event for each TLP and link: it is ready to be sent. Then the link says when it
 * begins, and the next event is its head at the next link. At its last step it arrives with its
 * tail.
 */
#ifndef SIM_FABRIC_PACKETS_H
#define SIM_FABRIC_PACKETS_H

#include "fabric/types.h"

/* A read, or a piece of one behind a root. */
struct fabric_request {
	struct eng_timer event; /* it ends, as there was no memory to send it */
	struct fabric_transfer *transfer;
	struct fabric_request *parent; /* whose piece it is, or NULL */
	struct fabric_request *next;   /* in the queue for a tag */
	u32 owner;		       /* the element whose tag it takes */
	u32 cuts;	/* roots that have cut it: 0 for what a device asks for */
	u32 first, end; /* its steps on the transfer's path */
	u32 bytes;
	u32 answered;
};

struct fabric_packet {
	struct eng_timer event;
	struct fabric_packet *next; /* in fabric_transfer.thinking */
	void (*arrive)(struct fabric *fabric, struct fabric_packet *packet);
	struct fabric_transfer *transfer;
	struct fabric_request *request; /* NULL: a write */
	u32 step;			/* the next one */
	u32 end;			/* after the last one; on the way back, the last one */
	bool back;			/* a completion, against the direction of the path */
	u32 data;
	u32 header;
	u64 slowest_ps; /* its longest time on a link so far: its tail comes so much later */
};

/*
 * A zeroed packet or request, or NULL: there is no memory. free gives it back. fabric_destroy()
 * frees all.
 */
struct fabric_packet *fabric_packet_new(struct fabric *fabric);
void fabric_packet_free(struct fabric *fabric, struct fabric_packet *packet);
struct fabric_request *fabric_request_new(struct fabric *fabric);
void fabric_request_free(struct fabric *fabric, struct fabric_request *request);

/*
 * Let a packet begin at @date, in ps: over the steps from @first to before @end of its
 * transfer's path, or back from @end - 1 to @first. Then its arrive() is called.
 */
void fabric_packet_send(struct fabric *fabric, struct fabric_packet *packet, u32 first, u32 end,
			u64 date);

/* Call arrive() of a packet at @date, with no way to go before. */
void fabric_packet_wait(struct fabric *fabric, struct fabric_packet *packet, u64 date);

/* Handle what is due now. Events set others, also for now. */
void fabric_advance(struct fabric *fabric);

/* Set the engine's timer to the first event. After events were set outside of one. */
void fabric_set_timer(struct fabric *fabric);

#endif
