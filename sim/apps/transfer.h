/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The keys of an application that moves data over a PCIe fabric, and the fabric that they name. */
#ifndef SIM_APPS_TRANSFER_H
#define SIM_APPS_TRANSFER_H

#include <stdbool.h>

#include "config/config.h"
#include "engine/types.h"
#include "fabric/lending.h"

struct sim_error;

#define TRANSFER_JSON_MAX  16384
#define TRANSFER_WRONG_MAX 512

/* In the borrower's memory: a page of numbers, and the data of a round behind it. */
#define TRANSFER_BUFFER_OFFSET 4096u

/* What one round is. */
enum transfer_operation {
	TRANSFER_WRITE,	    /* the device writes to its target */
	TRANSFER_READ,	    /* the device reads from its target */
	TRANSFER_PING_PONG, /* a counter goes from the device to the peer and back */
	TRANSFER_COMMAND,   /* a command of a disk: it writes to its target */
};

/* Keys under "containers.<name>.app.". Times are ns, sizes are bytes. */
struct cfg_transfer {
	char fabric[TRANSFER_JSON_MAX]; /* hosts, elements and cables, as JSON */
	char borrower[CFG_NAME_MAX];	/* the host whose driver uses the device */
	char device[CFG_NAME_MAX];
	char target[CFG_NAME_MAX]; /* "memory" of the borrower, or a device */
	char peer[CFG_NAME_MAX];   /* of ping-pong: the other device */
	u64 operation;		   /* enum transfer_operation */
	u64 bytes;		   /* of a round */
	bool virtual;		   /* a virtual machine of the borrower has the device */
	bool iommu;		   /* of the hosts that lend */
	u64 dma_window;
	u64 start;	 /* host time of a round, before it begins */
	u64 round_trips; /* of the driver with the device, for a round */
	u64 device_time; /* of a command: the disk's own work */
	u64 interrupt;	 /* more, of an interrupt that goes to a virtual machine */
	u64 request;	 /* bytes that a read asks for at once; 0: read_request */
	u64 in_flight;	 /* reads in flight at most; 0: read_tags */
	bool fence;	 /* the kernel that accesses is fenced */
	/* The constants of the fabric: struct fabric_config. */
	u64 switch_time, root_time, ntb_time, memory_time, store_time, device_read_time;
	u64 payload, read_request, read_tags, completion;
	u64 root_read, root_tags, root_write;
	u64 link_overhead; /* ppm */
};

/*
 * Build the fabric that @cfg declares. False: *ret_key is the key that is wrong, below "app",
 * and @ret_wrong says why.
 */
bool transfer_fabric_build(const struct cfg_transfer *cfg, struct fabric *fabric,
			   const char **ret_key, char ret_wrong[TRANSFER_WRONG_MAX]);

#endif
