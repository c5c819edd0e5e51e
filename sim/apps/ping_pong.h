/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Two devices that count over a fabric: each waits for the other one's number, and writes the
 * next one. A device whose numbers lie in the borrower's memory polls there all the time. A
 * device that polls its own memory sees a number as soon as it is there.
 *
 * Source: Device Lending (ICPP 2018 Companion), section 7.3.2.
 */
#ifndef SIM_APPS_PING_PONG_H
#define SIM_APPS_PING_PONG_H

#include "fabric/traffic.h"

#define PING_PONG_BYTES 8u /* of a number */

struct ping_pong_side {
	u32 device;
	u64 write; /* where it writes the number for the other one */
	u64 poll;  /* where it polls for its own number */
};

/* All-zero has no transfer under way. */
struct ping_pong {
	struct fabric *fabric;
	bool polls; /* over the fabric; false: each device polls its own memory */
	struct fabric_transfer write[2];
	struct fabric_transfer poll[2];
	u64 written_ps[2]; /* the number for this one is there since; 0: it is not */
	u32 under_way;	   /* transfers */
	bool seen;	   /* the first one has seen the answer */
	bool stops;	   /* no transfer begins again */
	int status;	   /* of the first transfer that failed */
	struct eng_waitq waitq;
};

/* Begin to poll, if @polls. Nothing of an earlier game is under way. */
void ping_pong_begin(struct ping_pong *play, struct fabric *fabric, bool polls,
		     const struct ping_pong_side sides[2]);

/*
 * Blocking: a number goes from the first device to the second one, and the next one back. Returns
 * 0, -EINTR, or the status of a transfer that failed.
 */
int ping_pong_round(struct ping_pong *play);

/* Blocking: stop, and wait until the last write and the last poll have ended. */
void ping_pong_end(struct ping_pong *play);

#endif
