/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A PCIe fabric of several hosts
 * ==============================
 *
 * Each host has a root with its memory and its CPU. Below it hang switches, devices and
 * non-transparent bridges (NTBs). A cable joins two NTBs of different hosts. So hosts share a
 * world that is mapped into memory: an address of a host is its own memory, that of a device,
 * or a window of an NTB, behind which lies a part of another host's address space.
 *
 * TLPs are routed by address, on the shortest way. If the IOMMU of a host is on for its devices,
 * what devices and NTBs of that host send goes up to the root, and a device reaches only what
 * its domain has. Its IO addresses are its host's addresses. A host that borrows has IO
 * addresses in any case: its IOMMU leads them to buffers (lending.h).
 *
 * Source: Markussen, Kristiansen, Stensland, Seifert, Griwodz, Halvorsen, "Flexible Device
 * Sharing in PCIe Clusters using Device Lending" (ICPP 2018 Companion), sections 2 and 7.
 *
 * Left out: flow control by credits (writes wait nowhere but at links, and their sender keeps
 * to the pace of the slowest one), relaxed ordering, errors of links, and the time of a look
 * into the IOMMU's tables beside that of the root.
 */
#ifndef SIM_FABRIC_FABRIC_H
#define SIM_FABRIC_FABRIC_H

#include "fabric/types.h"

/*
 * Empty a fabric, which keeps a copy of @config. destroy frees what its traffic has used; no
 * transfer is under way.
 */
void fabric_init(struct fabric *fabric, const struct fabric_config *config);
void fabric_destroy(struct fabric *fabric);

/*
 * Build it. Numbers count from 0 in the order of the calls. A host gets its root. @name is
 * copied. All return the number, or FABRIC_NONE if there is no room.
 *
 * @generation: 1 to 5, @lanes: 1 to 16, of the link to @parent. @bytes: memory of a device, or
 * the window of an NTB, a power of two; an NTB's is cut into @segments equal parts.
 */
u32 fabric_add_host(struct fabric *fabric, const char *name, u64 memory_bytes, bool iommu);
u32 fabric_add_switch(struct fabric *fabric, const char *name, u32 parent, u32 generation,
		      u32 lanes);
u32 fabric_add_device(struct fabric *fabric, const char *name, u32 parent, u32 generation,
		      u32 lanes, u64 bytes);
u32 fabric_add_ntb(struct fabric *fabric, const char *name, u32 parent, u32 generation,
		   u32 lanes, u64 bytes, u32 segments);

/*
 * Join two NTBs of different hosts by a cable, before anything is mapped: addresses of both hosts
 * may change, so that no two of their elements share a segment of the other host's NTB.
 */
void fabric_join(struct fabric *fabric, u32 ntb, u32 other, u32 generation, u32 lanes);

/* The number of a host or of an element; FABRIC_NONE: there is none of this name. */
u32 fabric_find_host(const struct fabric *fabric, const char *name);
u32 fabric_find(const struct fabric *fabric, const char *name);

/* Bytes/s of a link, before its own packets: 984,615,384 a lane of Gen3. */
u64 fabric_link_rate(u32 generation, u32 lanes);

/*
 * The way of an access of @bytes at @address by @from: a device, an NTB, or a root for its CPU.
 * ret_path->bytes are those that go this way: fewer than @bytes if a segment or a mapping ends
 * before. Returns 0; -EFAULT: nothing is mapped there, or it leads to @from itself; or -ELOOP:
 * there are too many NTBs or links on the way.
 */
int fabric_route(struct fabric *fabric, u32 from, u64 address, u64 bytes,
		 struct fabric_path *ret_path);

/* How long a link needs to send a TLP of @data bytes and its @header. */
u64 fabric_wire_ps(const struct fabric_wire *wire, u32 data, u32 header);

/*
 * Let a device access @bytes at @address of its host, where its IOMMU is on; or not any more.
 * Returns 0 or -ENOSPC.
 */
int fabric_domain_add(struct fabric *fabric, u32 device, u64 address, u64 bytes);
void fabric_domain_remove(struct fabric *fabric, u32 device, u64 address);

/*
 * Let @bytes of a host's IO addresses, from @io on, lead to its memory at @address. Returns 0 or
 * -ENOSPC. remove takes away all mappings that begin in @bytes from @io on.
 */
int fabric_io_add(struct fabric *fabric, u32 host, u64 io, u64 address, u64 bytes);
void fabric_io_remove(struct fabric *fabric, u32 host, u64 io, u64 bytes);

/*
 * ntb.c: lead the next free segments of an NTB's window to @target of the other host, and back.
 * *ret_address is where they begin, in the NTB's host; it has the same offset in a segment as
 * @target. Returns 0, -EINVAL for 0 bytes or no cable, or -ENOSPC: so many segments in a row
 * are not free, and none is taken.
 */
int fabric_ntb_map(struct fabric *fabric, u32 ntb, u64 target, u64 bytes, u64 *ret_address);
void fabric_ntb_unmap(struct fabric *fabric, u32 ntb, u64 address, u64 bytes);
/* Bytes of a segment of the window. */
u64 fabric_ntb_segment(const struct fabric *fabric, u32 ntb);
/* Where @address of its window leads to. Returns 0, or -EFAULT: nowhere. */
int fabric_ntb_translate(const struct fabric *fabric, u32 ntb, u64 address, u64 *ret_target,
			 u64 *ret_bytes);

#endif
