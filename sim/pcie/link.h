/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The link between host and GPU, with one copy engine for each direction.
 *
 * UVM picks one copy engine for each kind of channel, so copies of one direction are served in
 * the order of their doorbells, and the directions run side by side. A copy costs a set-up time,
 * in which no byte moves and which is longer for one in many pieces, and then its bytes at the
 * rate of the link. Where both directions
 * together carry less than twice one (an H100 carries 96 GB/s and not 110), they share what
 * there is while both move bytes.
 *
 * Why not SimGrid's network model: with one flow a direction, the shares are two cases and exact
 * in integers, and an event costs one timer where a communication costs two actors' handoffs.
 */
#ifndef SIM_PCIE_LINK_H
#define SIM_PCIE_LINK_H

#include "engine/engine.h"

enum pcie_direction { PCIE_H2D, PCIE_D2H, PCIE_DIRECTIONS };

/* What a link is made of; from the GPU profile. */
struct pcie_config {
	uint64_t bandwidth;	 /* bytes/s of one direction */
	uint64_t bandwidth_both; /* bytes/s of both together */
	uint64_t setup_ns;	 /* per copy */
	uint64_t piece_ns;	 /* per further piece of one copy */
};

/* One copy waiting for its engine. */
struct pcie_copy {
	uint64_t bytes;
	uint64_t pieces;      /* at least 1: what it is scattered into on the host */
	uint64_t doorbell_ns; /* it cannot start earlier, */
	uint64_t after;	      /* nor before this copy of the other direction is done; 0: none */
	uint64_t *ret_bytes;  /* counter to raise when it is done; may be NULL */
};

/* One direction: a queue of copies and how far the first of them is. */
struct pcie_engine {
	struct pcie_link *link;
	struct pcie_copy *queue; /* ring of room entries */
	uint32_t room;
	uint32_t first;
	uint32_t count;
	uint64_t submitted; /* copies ever queued: the sequence number of the last one */
	uint64_t completed;
	struct eng_waitq waitq; /* for completed to reach wanted */
	uint64_t wanted;	/* the first copy that anybody waits for; 0: nobody does */
	struct eng_timer timer; /* next change of the first copy */
	bool held;		/* the first copy waits for one of the other direction */
	bool moving;		/* past its set-up: bytes are on the wire */
	uint64_t start_ns;	/* of the first copy's set-up, unless it is held */
	uint64_t busy_ns;	/* set-ups and copies that have ended, ever */
	uint64_t setup_end_ns;
	uint64_t bytes_left;
	uint64_t fraction;   /* of a byte, in units of 1/rate-second; see link.c */
	uint64_t updated_ns; /* bytes_left is as of this date */
	uint64_t rate;	     /* bytes/s at present */
};

/* The link of one GPU. */
struct pcie_link {
	struct pcie_config config;
	struct pcie_engine engines[PCIE_DIRECTIONS];
};

void pcie_link_init(struct pcie_link *link, const struct pcie_config *config);
void pcie_link_destroy(struct pcie_link *link);

/*
 * Ring the doorbell for a copy of @bytes at @doorbell_ns (now or later). It starts once copy number
 * @after of the other direction is done (0: at once): the order of copies of the same memory.
 * @ret_bytes is raised by @bytes when it is done. Returns the copy's sequence number in its
 * direction, counted from 1.
 */
uint64_t pcie_copy(struct pcie_link *link, enum pcie_direction direction, uint64_t bytes,
		   uint64_t doorbell_ns, uint64_t after, uint64_t *ret_bytes);

/* The same of a copy in @pieces (0 is 1, too): one push with a CE copy for each. */
uint64_t pcie_copy_pieces(struct pcie_link *link, enum pcie_direction direction, uint64_t bytes,
			  uint64_t pieces, uint64_t doorbell_ns, uint64_t after,
			  uint64_t *ret_bytes);

/* Is copy number @sequence of a direction done? */
bool pcie_is_done(const struct pcie_link *link, enum pcie_direction direction,
		  uint64_t sequence);

/* For how long a direction has been at work so far, in ns. */
uint64_t pcie_busy_ns(const struct pcie_link *link, enum pcie_direction direction);

/* Blocking: wait until copy number @sequence of a direction is done. Returns 0 or -EINTR. */
int pcie_wait(struct pcie_link *link, enum pcie_direction direction, uint64_t sequence);

/* Blocking, also for who is interrupted: wait until all copies rung so far are done. */
void pcie_drain(struct pcie_link *link, enum pcie_direction direction);

#endif
