/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Device Lending: a host uses a device of another one as if it were its own
 * =========================================================================
 *
 * The borrower gets a window of its NTB that leads to the device's memory, so that an
 * unmodified driver reads and writes its registers. The lender prepares one DMA window: a
 * window of its NTB that leads to IO addresses of the borrower. When the driver maps a buffer,
 * the borrower's IOMMU leads a part of these addresses to it, and the driver gives the device
 * the lender's address of that part. So the device reaches the buffer without knowing how.
 *
 * Where the lender's IOMMU is on, the device reaches its DMA window, what it was given of other
 * devices, and nothing else. Where it is off, it reaches all of the lender's memory: then the
 * lender trusts the borrower. A virtual machine borrows only with the lender's IOMMU, and its
 * DMA window opens when its driver enables the device as a bus master (section 5).
 *
 * A device reaches another one in one of three ways (section 6): the other one is local to the
 * borrower, local to the same lender, or another lender's. In each the borrower learns the
 * address at which the first one's lender has it.
 *
 * Source: Device Lending (ICPP 2018 Companion), sections 4 to 6. Left out: hot-plug, interrupts,
 * and a lender that crashes.
 */
#ifndef SIM_FABRIC_LENDING_H
#define SIM_FABRIC_LENDING_H

#include "fabric/fabric.h"

#define LENDING_PEERS_MAX 8u

/* A window of an NTB that a loan has taken, or a device's memory where no NTB is needed. */
struct lending_window {
	u32 ntb;     /* FABRIC_NONE: none */
	u64 address; /* in the NTB's host */
	u64 bytes;   /* 0: there is none */
};

/* A device that a host has borrowed, or its own one. The caller owns it, zeroed. */
struct lending_loan {
	struct fabric *fabric;
	u32 device;
	u32 borrower;			 /* the host */
	bool held;			 /* it has been borrowed, and not returned */
	bool virtual;			 /* a virtual machine of the borrower has it */
	bool master;			 /* its DMA window is open */
	struct lending_window registers; /* the device's memory, for the borrower's CPU */
	struct lending_window dma;	 /* IO addresses of the borrower, for the device */
	u64 io;				 /* where these begin, in the borrower */
	u64 io_used;			 /* bytes of them that lead somewhere */
	struct lending_window peers[LENDING_PEERS_MAX]; /* memory of other devices, for it */
	u32 peer_of[LENDING_PEERS_MAX];
};

/*
 * Lend the device to a host, with a DMA window of @dma_bytes, a power of two. A host that
 * borrows its own device gets no windows. Returns 0; -EBUSY: the device is lent; -ENODEV: no
 * cable joins the hosts; -ENOSPC: an NTB has no segments left; -EPERM: a virtual machine, and
 * the lender's IOMMU is off. After an error nothing is left behind.
 */
int lending_borrow(struct fabric *fabric, u32 device, u32 borrower, bool virtual, u64 dma_bytes,
		   struct lending_loan *ret_loan);

/* The driver of a virtual machine enables the device as a bus master. Returns 0 or -ENOSPC. */
int lending_enable_master(struct lending_loan *loan);

/*
 * The driver maps a buffer of the borrower's memory for DMA. *ret_address is what the device
 * has to use. Returns 0; -EACCES: the device is no bus master yet; -ENOSPC.
 */
int lending_map_buffer(struct lending_loan *loan, u64 address, u64 bytes, u64 *ret_address);

/*
 * The driver maps the memory of another device for this one. Returns 0, -ENODEV, -ENOSPC or
 * -EACCES.
 */
int lending_map_peer(struct lending_loan *loan, u32 device, u64 *ret_address);

/* Where the borrower's CPU has the device's memory. */
u64 lending_registers(const struct lending_loan *loan);

/*
 * Give the device back. Returns 0, or -EBUSY while transfers of the device are under way: then
 * nothing changes. Does nothing for a loan that failed, or that has been returned.
 */
int lending_return(struct lending_loan *loan);

#endif
