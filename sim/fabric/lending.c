// SPDX-License-Identifier: MIT OR GPL-2.0
#include "fabric/lending.h"

#include <errno.h>
#include <string.h>

/* The NTB of @host whose cable leads to @other; FABRIC_NONE: there is none. */
static u32 find_ntb(const struct fabric *fabric, u32 host, u32 other)
{
	for (u32 i = 0; i < fabric->element_count; i++) {
		const struct fabric_element *element = &fabric->elements[i];

		if (element->kind == FABRIC_NTB && element->host == host &&
		    element->far != FABRIC_NONE && fabric->elements[element->far].host == other)
			return i;
	}
	return FABRIC_NONE;
}

/* Open a window of @host onto @bytes at @target of @other. */
static int window_open(struct fabric *fabric, u32 host, u32 other, u64 target, u64 bytes,
		       struct lending_window *ret_window)
{
	u32 ntb = find_ntb(fabric, host, other);
	u64 address;
	int status;

	if (ntb == FABRIC_NONE)
		return -ENODEV;
	status = fabric_ntb_map(fabric, ntb, target, bytes, &address);
	if (!status)
		*ret_window = (struct lending_window){ ntb, address, bytes };
	return status;
}

static void window_close(struct fabric *fabric, struct lending_window *window)
{
	if (window->bytes && window->ntb != FABRIC_NONE)
		fabric_ntb_unmap(fabric, window->ntb, window->address, window->bytes);
	memset(window, 0, sizeof(*window));
}

static u32 lender_of(const struct lending_loan *loan)
{
	return loan->fabric->elements[loan->device].host;
}

static bool is_own(const struct lending_loan *loan)
{
	return lender_of(loan) == loan->borrower;
}

/* Where the IO addresses of a loan begin: each device has a range of its own. */
static u64 io_base(u32 device, u64 dma_bytes)
{
	u64 base = FABRIC_IO_BASE + ((u64)device << 40);

	return (base + dma_bytes - 1) & ~(dma_bytes - 1);
}

int lending_borrow(struct fabric *fabric, u32 device, u32 borrower, bool virtual, u64 dma_bytes,
		   struct lending_loan *ret_loan)
{
	struct fabric_element *element = &fabric->elements[device];
	struct lending_loan *loan = ret_loan;
	u32 lender = element->host;
	int status;

	memset(loan, 0, sizeof(*loan));
	loan->fabric = fabric;
	loan->device = device;
	loan->borrower = borrower;
	loan->virtual = virtual;
	loan->registers = (struct lending_window){ FABRIC_NONE, element->base, element->bytes };
	loan->dma =
		(struct lending_window){ FABRIC_NONE, io_base(device, dma_bytes), dma_bytes };
	loan->io = loan->dma.address;
	if (element->lent)
		return -EBUSY;
	if (virtual && !fabric->hosts[lender].iommu)
		return -EPERM;
	if (!is_own(loan)) {
		status = window_open(fabric, borrower, lender, element->base, element->bytes,
				     &loan->registers);
		if (status)
			return status;
		status = window_open(fabric, lender, borrower, loan->io, dma_bytes, &loan->dma);
		if (status) {
			window_close(fabric, &loan->registers);
			return status;
		}
	}
	element->lent = true;
	loan->held = true;
	status = virtual ? 0 : lending_enable_master(loan);
	if (status)
		(void)lending_return(loan);
	return status;
}

int lending_enable_master(struct lending_loan *loan)
{
	int status = fabric_domain_add(loan->fabric, loan->device, loan->dma.address,
				       loan->dma.bytes);

	loan->master = !status;
	return status;
}

int lending_map_buffer(struct lending_loan *loan, u64 address, u64 bytes, u64 *ret_address)
{
	int status;

	if (!loan->master)
		return -EACCES;
	/* A host's own device, which no IOMMU translates. */
	if (is_own(loan) && !loan->fabric->hosts[loan->borrower].iommu) {
		*ret_address = address;
		return 0;
	}
	if (bytes > loan->dma.bytes - loan->io_used)
		return -ENOSPC;
	status = fabric_io_add(loan->fabric, loan->borrower, loan->io + loan->io_used, address,
			       bytes);
	if (status)
		return status;
	*ret_address = loan->dma.address + loan->io_used;
	loan->io_used += bytes;
	return 0;
}

/* Open the way of a loan's device to @device, in one of the three ways. */
static int peer_open(struct lending_loan *loan, u32 device, struct lending_window *ret_window)
{
	struct fabric *fabric = loan->fabric;
	const struct fabric_element *peer = &fabric->elements[device];
	u32 lender = lender_of(loan);

	if (peer->host != lender)
		return window_open(fabric, lender, peer->host, peer->base, peer->bytes,
				   ret_window);
	*ret_window = (struct lending_window){ FABRIC_NONE, peer->base, peer->bytes };
	return 0;
}

int lending_map_peer(struct lending_loan *loan, u32 device, u64 *ret_address)
{
	struct lending_window *window = NULL;
	int status;

	if (!loan->master)
		return -EACCES;
	for (u32 i = 0; i < LENDING_PEERS_MAX; i++) {
		if (loan->peers[i].bytes && loan->peer_of[i] == device) {
			*ret_address = loan->peers[i].address;
			return 0;
		}
		if (!loan->peers[i].bytes && !window) {
			window = &loan->peers[i];
			loan->peer_of[i] = device;
		}
	}
	if (!window)
		return -ENOSPC;
	status = peer_open(loan, device, window);
	if (status)
		return status;
	status = fabric_domain_add(loan->fabric, loan->device, window->address, window->bytes);
	if (status)
		window_close(loan->fabric, window);
	else
		*ret_address = window->address;
	return status;
}

u64 lending_registers(const struct lending_loan *loan)
{
	return loan->registers.address;
}

int lending_return(struct lending_loan *loan)
{
	struct fabric *fabric = loan->fabric;

	if (!loan->held)
		return 0;
	if (fabric->elements[loan->device].transfers)
		return -EBUSY;
	for (u32 i = 0; i < LENDING_PEERS_MAX; i++) {
		if (loan->peers[i].bytes)
			fabric_domain_remove(fabric, loan->device, loan->peers[i].address);
		window_close(fabric, &loan->peers[i]);
	}
	fabric_io_remove(fabric, loan->borrower, loan->io, loan->dma.bytes);
	if (loan->master)
		fabric_domain_remove(fabric, loan->device, loan->dma.address);
	window_close(fabric, &loan->dma);
	window_close(fabric, &loan->registers);
	loan->master = false;
	loan->held = false;
	fabric->elements[loan->device].lent = false;
	return 0;
}
