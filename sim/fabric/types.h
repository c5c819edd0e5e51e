/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The structs of a PCIe fabric, below all of its parts; see fabric.h.
 *
 * Dates and times inside of the room are picoseconds: a TLP of 280 bytes takes 35.5 ns on a
 * Gen3 x8 link. Its callers count in nanoseconds.
 */
#ifndef SIM_FABRIC_TYPES_H
#define SIM_FABRIC_TYPES_H

#include <stdbool.h>

#include "engine/engine.h"

#define FABRIC_PS_PER_NS    1000ull

#define FABRIC_NONE	    0xffffffffu
#define FABRIC_HOSTS_MAX    8u
#define FABRIC_ELEMENTS_MAX 48u
#define FABRIC_SEGMENTS_MAX 64u			  /* of the window of one NTB */
#define FABRIC_STEPS_MAX    32u			  /* links on one way */
#define FABRIC_NTBS_MAX	    4u			  /* cables on one way */
#define FABRIC_ROOTS_MAX    (FABRIC_NTBS_MAX + 1) /* roots that one way crosses */
#define FABRIC_RANGES_MAX   16u /* of a device's domain, and of a host's IO addresses */
#define FABRIC_NAME_MAX	    64

/* Memory of devices and windows of NTBs lie from here on, in the address space of each host. */
#define FABRIC_MMIO_BASE (1ull << 40)
/* IO addresses, which the IOMMU of a host translates to addresses of its memory. */
#define FABRIC_IO_BASE (1ull << 46)

enum fabric_kind { FABRIC_ROOT, FABRIC_SWITCH, FABRIC_DEVICE, FABRIC_NTB };

/* Constants of all elements of a kind. Times are ns, sizes are bytes. */
struct fabric_config {
	u64 switch_ns;	   /* a TLP's way through a switch */
	u64 root_ns;	   /* through a root, from a port to another */
	u64 ntb_ns;	   /* through both NTBs of a cable */
	u64 memory_ns;	   /* a read of a host's memory, from root port to root port */
	u64 store_ns;	   /* a write, from the root port until a CPU can see it */
	u64 device_ns;	   /* a read of a device's memory */
	u32 payload;	   /* most data of a write, and of a device's completion */
	u32 read_request;  /* most data that a device asks for at once */
	u32 read_tags;	   /* reads that a device has in flight */
	u32 completion;	   /* data of a completion by a host's memory */
	u32 root_read;	   /* a root sends reads on in pieces of this size; 0: as they are */
	u32 root_tags;	   /* reads that a root has in flight, of one number of cuts before */
	u32 root_write;	   /* a root sends writes on in pieces of this size; 0: as they are */
	u32 link_overhead; /* ppm of a link's time for its own packets */
};

/* One direction of a link. TLPs go one after the other. */
struct fabric_wire {
	u64 rate;    /* bytes/s, less what its own packets take */
	u64 free_ps; /* its last TLP has been sent then */
	u64 packets; /* TLPs so far */
	u64 data;    /* bytes of data so far */
	u64 total;   /* bytes so far, with headers */
};

/* A mapping: an access to @from reaches @to. An entry of a table is free if bytes is 0. */
struct fabric_range {
	u64 from;
	u64 to;
	u64 bytes;
};

/* A part of the window of an NTB: where it leads to, in the address space of the other host. */
struct fabric_segment {
	bool used;
	u64 target;
};

/* Tags of reads, and the reads that wait for one. */
struct fabric_tags {
	u32 used;
	struct fabric_request *first;
	struct fabric_request *last;
};

/* A root, a switch, a device or an NTB. */
struct fabric_element {
	char name[FABRIC_NAME_MAX];
	enum fabric_kind kind;
	u32 host;
	u32 parent;		 /* the element above; FABRIC_NONE: it is a root */
	struct fabric_wire up;	 /* to the parent */
	struct fabric_wire down; /* from the parent */
	u64 base;		 /* of its memory or its window, in its host's address space */
	u64 bytes;		 /* of a root: of the host's memory, whose base is 0 */
	/* An NTB. */
	u32 far;		  /* the NTB at the other end of its cable; FABRIC_NONE: none */
	struct fabric_wire cable; /* to it */
	u32 segment_count;
	struct fabric_segment segments[FABRIC_SEGMENTS_MAX];
	/* A device: what it may access where its host's IOMMU is on. */
	struct fabric_range domain[FABRIC_RANGES_MAX];
	/*
	 * A device or a root. Tags are by the number of roots that have cut the read before. So
	 * a read that holds one waits only for tags of a higher number, and reads that cross
	 * two roots in opposite directions never wait for each other's tags.
	 */
	struct fabric_tags tags[FABRIC_ROOTS_MAX + 1];
	u32 tags_most; /* ever in use, of one number */
	u32 transfers; /* that it has begun, and that have not ended */
	bool lent;     /* a device: there is a loan of it */
	u64 refused;   /* its accesses that led nowhere: unsupported requests */
};

struct fabric_host {
	char name[FABRIC_NAME_MAX];
	u32 root;
	bool iommu;    /* on for its devices: what they and NTBs send goes by the root */
	u64 next_mmio; /* free addresses */
	u64 segment; /* the greatest of the NTBs that lead here from other hosts; 0: none does */
	struct fabric_range io[FABRIC_RANGES_MAX]; /* IO addresses of its own memory */
};

struct fabric {
	struct fabric_config config;
	struct fabric_host hosts[FABRIC_HOSTS_MAX];
	struct fabric_element elements[FABRIC_ELEMENTS_MAX];
	u32 host_count;
	u32 element_count;
	/* traffic.c */
	struct eng_timers events; /* by ps */
	struct eng_timer timer;	  /* the first of them, by ns */
	u64 now_ps;
	void *packets;	/* free ones */
	void *requests; /* free ones */
	void **blocks;	/* memory of both */
	u32 block_count;
};

/* A link on a way, and the element at its end. */
struct fabric_step {
	struct fabric_wire *wire; /* in the direction of the way */
	struct fabric_wire *back;
	u64 wire_ps;  /* what its length takes, beside its rate: a cable between NTBs */
	u64 cross_ps; /* through the element at its end, if the way goes on there */
	u32 element;
	bool root; /* that is a root which the way crosses: reads and writes are cut there */
};

/* The way of an access. */
struct fabric_path {
	u32 count;
	struct fabric_step steps[FABRIC_STEPS_MAX];
	u32 target;  /* a root, for its host's memory, or a device */
	u64 address; /* in the target's host */
	u64 bytes;   /* that go this way, as many as were asked for at most */
};

/*
 * A read or a write; see traffic.h. Zeroed before its first use. The first part is the caller's.
 */
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

#endif
