/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The link between host and GPU, with one copy engine for each direction.
 *
 * UVM picks one copy engine for each kind of channel. So copies of one direction are served in
 * the order of their doorbells, and the directions run side by side. A copy takes a set-up
 * time, in which no byte moves, and then the time of its bytes at the rate of the link. The
 * set-up is longer for a copy in many pieces. If both directions together carry less than twice
 * one direction (an H100 carries 96 GB/s and not 110), they share the link while both move
 * bytes.
 *
 * Kernels that access host memory use the link beside the copy engines (pcie_claim()). In a
 * direction each of the two gets half, or less if it wants less, and the other one the rest.
 *
 * Measured on an H200 (plots/reference/hardware/h200-580-remote.txt): kernels alone read 93 %
 * and write 96 % of what a copy engine moves. Here it is all of it. Beside copies to the GPU,
 * kernels of 32 blocks, and of one block for each SM, read 50 and 54 % of what both move
 * together: here half. With eight blocks for each SM they read 92 %, kernels that write leave 8
 * to 14 % to copies either way, and reads slow down copies to the host. None of that is here.
 *
 * Why not SimGrid's network model: with one flow in each direction, there are only two cases of
 * sharing, and both are exact in integers. An event costs one timer; a communication of SimGrid
 * costs two switches between actors.
 */
#ifndef SIM_PCIE_LINK_H
#define SIM_PCIE_LINK_H

#include "engine/engine.h"

enum pcie_direction { PCIE_H2D, PCIE_D2H, PCIE_DIRECTIONS };

/* The constants of a link; from the GPU profile. */
struct pcie_config {
	u64 bandwidth;		       /* bytes/s of one direction */
	u64 bandwidth_both;	       /* bytes/s of both together */
	u64 setup_ns;		       /* per copy */
	u64 piece_ns[PCIE_DIRECTIONS]; /* per further piece of one copy */
};

/* One copy. */
struct pcie_copy {
	u64 bytes;
	u64 pieces;	 /* its parts on the host; 0 means 1 */
	u64 doorbell_ns; /* the earliest date of its start; a past date is now */
	u64 after;	 /* number of a copy of the other direction that ends first; 0: none */
	u64 *ret_bytes;	 /* counter to raise by bytes when it is done; may be NULL */
	/* Called last when the copy is done; may be NULL. Must not block or call this room. */
	void (*on_end)(void *data);
	void *data;
};

/* The state of the first copy of a direction. */
enum pcie_phase {
	PCIE_IDLE,  /* there is none */
	PCIE_HELD,  /* it waits for a copy of the other direction */
	PCIE_SETUP, /* no byte moves before setup_end_ns */
	PCIE_MOVING,
};

struct pcie_link;

/* One direction: a queue of copies and the state of the first. */
struct pcie_engine {
	struct pcie_link *link;
	struct pcie_engine *other;
	struct pcie_copy *queue; /* ring of room entries, a power of 2 */
	u32 room;
	u32 first;
	u32 count;
	u64 submitted; /* copies ever queued: the sequence number of the last one */
	u64 completed;
	struct eng_waitq waitq; /* actors that wait for completed to reach wanted */
	u64 wanted;		/* the first copy with a waiter; 0: no waiters */

	enum pcie_phase phase;
	struct eng_timer timer; /* the end of the set-up or of the copy */
	bool alone;		/* in set-up: the timer is at the end of the copy, see link.c */
	u64 start_ns;		/* of the set-up */
	u64 setup_end_ns;
	u64 busy_ns;	/* set-ups and copies that have ended, ever */
	u64 bytes_left; /* as of updated_ns */
	u64 fraction;	/* moved part of the next byte, in units of 1/10^9 */
	u64 updated_ns;
	u64 rate; /* bytes/s since updated_ns */
};

/*
 * A recorder: a copy of @bytes was at work from @from_ns until now. Must not block, nor change
 * anything.
 */
struct pcie_observer {
	void (*copied)(void *data, const struct pcie_link *link, enum pcie_direction direction,
		       u64 from_ns, u64 bytes);
	void *data;
};

/*
 * The kernels on the link: they get another part of what they want, as copies begin or end.
 * Must not block; may call pcie_claim().
 */
struct pcie_kernels {
	void (*changed)(void *data);
	void *data;
	u64 wants[PCIE_DIRECTIONS]; /* bytes/s */
};

/* The link of one GPU. */
struct pcie_link {
	struct pcie_config config;
	u64 shared_rate; /* bytes/s of a direction while both move */
	u64 either_ns;	 /* time with at least one direction at work, up to booked_ns */
	u64 booked_ns;
	struct pcie_engine engines[PCIE_DIRECTIONS];
	struct pcie_kernels kernels;
	struct pcie_observer observer; /* zero: none */
};

/* How long a link has been at work, in ns; set-ups included. */
struct pcie_use {
	u64 in_ns;     /* host to device */
	u64 out_ns;    /* device to host */
	u64 either_ns; /* one of them or both */
};

void pcie_link_init(struct pcie_link *link, const struct pcie_config *config);
void pcie_link_destroy(struct pcie_link *link);

/*
 * Ring the doorbell for a copy, which is copied. Copies of one direction start in this order.
 * @ret_sequence (may be NULL) is the number of the copy in its direction, counted from 1.
 * Returns 0, or -ENOMEM without memory for the queue.
 */
int pcie_copy(struct pcie_link *link, enum pcie_direction direction,
	      const struct pcie_copy *copy, u64 *ret_sequence);

/*
 * From now on kernels want to move so many bytes/s in each direction. @ret_gets: what they get,
 * until pcie_kernels.changed is called.
 */
void pcie_claim(struct pcie_link *link, const u64 *wants, u64 *ret_gets);

/* Is copy number @sequence of a direction done? */
bool pcie_is_done(const struct pcie_link *link, enum pcie_direction direction, u64 sequence);

/* How long the link has been at work so far. */
struct pcie_use pcie_use(struct pcie_link *link);

/* Blocking: wait until copy number @sequence of a direction is done. Returns 0 or -EINTR. */
int pcie_wait(struct pcie_link *link, enum pcie_direction direction, u64 sequence);

/* Blocking, and not interruptible: wait until all copies submitted so far are done. */
void pcie_drain(struct pcie_link *link, enum pcie_direction direction);

#endif
