// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The trees of a fabric, and the way of an access through them.
 *
 * A way is a list of links. Inside of a host it goes up to the lowest element that is above
 * both ends, and down from there. Where it ends at an NTB, it goes on in the other host, with
 * the address to which the NTB's window leads.
 */
#include "fabric/fabric.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "gvm/port.h"

#define PS_PER_S 1000000000000ull
#define PPM	 1000000u

u64 fabric_link_rate(u32 generation, u32 lanes)
{
	/* A lane in bytes/s: 2.5 and 5 GT/s in 8b/10b, then 8, 16 and 32 GT/s in 128b/130b. */
	static const u64 lane[] = {
		0, 250000000, 500000000, 984615384, 1969230769, 3938461538
	};

	return lane[generation] * lanes;
}

void fabric_init(struct fabric *fabric, const struct fabric_config *config)
{
	memset(fabric, 0, sizeof(*fabric));
	fabric->config = *config;
}

static void wire_init(const struct fabric *fabric, struct fabric_wire *wire, u32 generation,
		      u32 lanes)
{
	u64 rate = fabric_link_rate(generation, lanes);

	wire->rate = rate / PPM * (PPM - fabric->config.link_overhead);
}

static u32 add_element(struct fabric *fabric, const char *name, enum fabric_kind kind, u32 host,
		       u32 parent)
{
	struct fabric_element *element = &fabric->elements[fabric->element_count];

	if (fabric->element_count == FABRIC_ELEMENTS_MAX)
		return FABRIC_NONE;
	snprintf(element->name, sizeof(element->name), "%s", name);
	element->kind = kind;
	element->host = host;
	element->parent = parent;
	element->far = FABRIC_NONE;
	return fabric->element_count++;
}

/* Add an element below another one. */
static u32 add_below(struct fabric *fabric, const char *name, enum fabric_kind kind, u32 parent,
		     u32 generation, u32 lanes)
{
	u32 number = add_element(fabric, name, kind, fabric->elements[parent].host, parent);

	if (number != FABRIC_NONE) {
		wire_init(fabric, &fabric->elements[number].up, generation, lanes);
		wire_init(fabric, &fabric->elements[number].down, generation, lanes);
	}
	return number;
}

/*
 * Give an element addresses of its host, aligned to their size, which is a power of two. A device
 * that is smaller than a segment of an NTB that leads here has one of its own, because such a
 * window opens whole segments.
 */
static void give_addresses(struct fabric *fabric, struct fabric_element *element)
{
	struct fabric_host *host = &fabric->hosts[element->host];
	u64 room = element->bytes;

	if (element->kind == FABRIC_DEVICE)
		room = max(room, host->segment);
	element->base = (host->next_mmio + room - 1) & ~(room - 1);
	host->next_mmio = element->base + room;
}

u32 fabric_add_host(struct fabric *fabric, const char *name, u64 memory_bytes, bool iommu)
{
	struct fabric_host *host = &fabric->hosts[fabric->host_count];
	u32 root;

	if (fabric->host_count == FABRIC_HOSTS_MAX)
		return FABRIC_NONE;
	root = add_element(fabric, name, FABRIC_ROOT, fabric->host_count, FABRIC_NONE);
	if (root == FABRIC_NONE)
		return FABRIC_NONE;
	snprintf(host->name, sizeof(host->name), "%s", name);
	host->root = root;
	host->iommu = iommu;
	host->next_mmio = FABRIC_MMIO_BASE;
	fabric->elements[root].bytes = memory_bytes;
	return fabric->host_count++;
}

u32 fabric_add_switch(struct fabric *fabric, const char *name, u32 parent, u32 generation,
		      u32 lanes)
{
	return add_below(fabric, name, FABRIC_SWITCH, parent, generation, lanes);
}

u32 fabric_add_device(struct fabric *fabric, const char *name, u32 parent, u32 generation,
		      u32 lanes, u64 bytes)
{
	u32 number = add_below(fabric, name, FABRIC_DEVICE, parent, generation, lanes);

	if (number != FABRIC_NONE) {
		fabric->elements[number].bytes = bytes;
		give_addresses(fabric, &fabric->elements[number]);
	}
	return number;
}

u32 fabric_add_ntb(struct fabric *fabric, const char *name, u32 parent, u32 generation,
		   u32 lanes, u64 bytes, u32 segments)
{
	u32 number = add_below(fabric, name, FABRIC_NTB, parent, generation, lanes);

	if (number != FABRIC_NONE) {
		fabric->elements[number].bytes = bytes;
		fabric->elements[number].segment_count = segments;
		give_addresses(fabric, &fabric->elements[number]);
	}
	return number;
}

/* An NTB of another host leads to @number now. If its segments are the greatest, all move. */
static void take_segments(struct fabric *fabric, u32 number, u64 segment)
{
	u32 host = fabric->elements[number].host;

	if (segment <= fabric->hosts[host].segment)
		return;
	fabric->hosts[host].segment = segment;
	fabric->hosts[host].next_mmio = FABRIC_MMIO_BASE;
	for (u32 i = 0; i < fabric->element_count; i++)
		if (fabric->elements[i].host == host &&
		    (fabric->elements[i].kind == FABRIC_DEVICE ||
		     fabric->elements[i].kind == FABRIC_NTB))
			give_addresses(fabric, &fabric->elements[i]);
}

void fabric_join(struct fabric *fabric, u32 ntb, u32 other, u32 generation, u32 lanes)
{
	fabric->elements[ntb].far = other;
	fabric->elements[other].far = ntb;
	wire_init(fabric, &fabric->elements[ntb].cable, generation, lanes);
	wire_init(fabric, &fabric->elements[other].cable, generation, lanes);
	take_segments(fabric, ntb, fabric_ntb_segment(fabric, other));
	take_segments(fabric, other, fabric_ntb_segment(fabric, ntb));
}

u32 fabric_find_host(const struct fabric *fabric, const char *name)
{
	for (u32 i = 0; i < fabric->host_count; i++)
		if (!strcmp(fabric->hosts[i].name, name))
			return i;
	return FABRIC_NONE;
}

u32 fabric_find(const struct fabric *fabric, const char *name)
{
	for (u32 i = 0; i < fabric->element_count; i++)
		if (!strcmp(fabric->elements[i].name, name))
			return i;
	return FABRIC_NONE;
}

u64 fabric_wire_ps(const struct fabric_wire *wire, u32 data, u32 header)
{
	return (data + header) * PS_PER_S / wire->rate;
}

/* The range that has @address, or NULL. */
static const struct fabric_range *find_range(const struct fabric_range *ranges, u64 address)
{
	for (u32 i = 0; i < FABRIC_RANGES_MAX; i++)
		if (address >= ranges[i].from && address - ranges[i].from < ranges[i].bytes)
			return &ranges[i];
	return NULL;
}

/* Bytes from @address to the end of the range that has it. */
static u64 range_room(const struct fabric_range *range, u64 address)
{
	return range->from + range->bytes - address;
}

/* Put a mapping into the first free entry of a table. Returns 0 or -ENOSPC. */
static int add_range(struct fabric_range *ranges, u64 from, u64 to, u64 bytes)
{
	for (u32 i = 0; i < FABRIC_RANGES_MAX; i++) {
		if (ranges[i].bytes)
			continue;
		ranges[i] = (struct fabric_range){ from, to, bytes };
		return 0;
	}
	return -ENOSPC;
}

int fabric_domain_add(struct fabric *fabric, u32 device, u64 address, u64 bytes)
{
	return add_range(fabric->elements[device].domain, address, address, bytes);
}

void fabric_domain_remove(struct fabric *fabric, u32 device, u64 address)
{
	struct fabric_range *domain = fabric->elements[device].domain;

	for (u32 i = 0; i < FABRIC_RANGES_MAX; i++)
		if (domain[i].bytes && domain[i].from == address)
			domain[i] = (struct fabric_range){ 0 };
}

int fabric_io_add(struct fabric *fabric, u32 host, u64 io, u64 address, u64 bytes)
{
	return add_range(fabric->hosts[host].io, io, address, bytes);
}

void fabric_io_remove(struct fabric *fabric, u32 host, u64 io, u64 bytes)
{
	struct fabric_range *ranges = fabric->hosts[host].io;

	for (u32 i = 0; i < FABRIC_RANGES_MAX; i++)
		if (ranges[i].bytes && ranges[i].from >= io && ranges[i].from - io < bytes)
			ranges[i] = (struct fabric_range){ 0 };
}

/* How far below its root. */
static u32 depth_of(const struct fabric *fabric, u32 number)
{
	u32 depth = 0;

	while (fabric->elements[number].parent != FABRIC_NONE) {
		number = fabric->elements[number].parent;
		depth++;
	}
	return depth;
}

/* The lowest element that is above both, or one of them. */
static u32 meeting_point(const struct fabric *fabric, u32 a, u32 b)
{
	u32 a_depth = depth_of(fabric, a), b_depth = depth_of(fabric, b);

	for (; a_depth > b_depth; a_depth--)
		a = fabric->elements[a].parent;
	for (; b_depth > a_depth; b_depth--)
		b = fabric->elements[b].parent;
	while (a != b) {
		a = fabric->elements[a].parent;
		b = fabric->elements[b].parent;
	}
	return a;
}

static int path_add(struct fabric_path *path, struct fabric_wire *wire,
		    struct fabric_wire *back, u64 wire_ns, u32 element)
{
	if (path->count == FABRIC_STEPS_MAX)
		return -ELOOP;
	path->steps[path->count++] = (struct fabric_step){
		.wire = wire,
		.back = back,
		.wire_ps = wire_ns * FABRIC_PS_PER_NS,
		.element = element,
	};
	return 0;
}

/* The links from @from to @to, which are in one host. */
static int path_walk(struct fabric *fabric, struct fabric_path *path, u32 from, u32 to)
{
	u32 top = meeting_point(fabric, from, to), way_down[FABRIC_STEPS_MAX], count = 0;
	int status = 0;

	for (u32 at = from; !status && at != top; at = fabric->elements[at].parent)
		status = path_add(path, &fabric->elements[at].up, &fabric->elements[at].down, 0,
				  fabric->elements[at].parent);
	for (u32 at = to; at != top; at = fabric->elements[at].parent) {
		if (count == FABRIC_STEPS_MAX)
			return -ELOOP;
		way_down[count++] = at;
	}
	while (!status && count) {
		struct fabric_element *below = &fabric->elements[way_down[--count]];

		status = path_add(path, &below->down, &below->up, 0, way_down[count]);
	}
	return status;
}

/* What is at @address of a host: its root, a device or an NTB; FABRIC_NONE: nothing. */
static u32 decode(const struct fabric *fabric, u32 host, u64 address)
{
	for (u32 i = 0; i < fabric->element_count; i++) {
		const struct fabric_element *element = &fabric->elements[i];

		if (element->host == host && element->kind != FABRIC_SWITCH &&
		    address >= element->base && address - element->base < element->bytes)
			return i;
	}
	return FABRIC_NONE;
}

/* Say what a TLP takes in the elements that it passes, once all links are known. */
static void path_cross(const struct fabric *fabric, struct fabric_path *path)
{
	for (u32 i = 0; i + 1 < path->count; i++) {
		struct fabric_step *step = &path->steps[i];

		step->root = fabric->elements[step->element].kind == FABRIC_ROOT;
		if (step->root)
			step->cross_ps = fabric->config.root_ns * FABRIC_PS_PER_NS;
		else if (fabric->elements[step->element].kind == FABRIC_SWITCH)
			step->cross_ps = fabric->config.switch_ns * FABRIC_PS_PER_NS;
	}
}

/*
 * Add the links inside of one host, from @from to the element at @address, which is *ret_end.
 * Where the IOMMU is on they lead by the root, and a device reaches only its domain.
 */
static int route_in_host(struct fabric *fabric, u32 from, u64 *address, u64 *bytes,
			 struct fabric_path *path, u32 *ret_end)
{
	const struct fabric_element *element = &fabric->elements[from];
	const struct fabric_host *host = &fabric->hosts[element->host];
	const struct fabric_range *range;
	int status = 0;
	u32 end;

	if (host->iommu && element->kind == FABRIC_DEVICE) {
		range = find_range(element->domain, *address);
		if (!range)
			return -EFAULT;
		*bytes = min(*bytes, range_room(range, *address));
	}
	range = find_range(host->io, *address);
	if (range) {
		*bytes = min(*bytes, range_room(range, *address));
		*address = range->to + (*address - range->from);
	}
	end = decode(fabric, element->host, *address);
	if (end == FABRIC_NONE)
		return -EFAULT;
	if (host->iommu && element->kind != FABRIC_ROOT) {
		status = path_walk(fabric, path, from, host->root);
		from = host->root;
	}
	if (!status)
		status = path_walk(fabric, path, from, end);
	*ret_end = end;
	return status;
}

/* From host to host, until a way ends in memory and not at an NTB. */
static int route(struct fabric *fabric, u32 from, u64 address, u64 bytes,
		 struct fabric_path *path)
{
	for (u32 ntbs = 0; ntbs <= FABRIC_NTBS_MAX; ntbs++) {
		struct fabric_element *element;
		u64 room;
		u32 end;
		int status = route_in_host(fabric, from, &address, &bytes, path, &end);

		if (status)
			return status;
		element = &fabric->elements[end];
		if (element->kind != FABRIC_NTB) {
			path->target = end;
			path->address = address;
			path->bytes = min(bytes, element->base + element->bytes - address);
			return 0;
		}
		if (element->far == FABRIC_NONE ||
		    fabric_ntb_translate(fabric, end, address, &address, &room))
			return -EFAULT;
		bytes = min(bytes, room);
		from = element->far;
		status = path_add(path, &element->cable, &fabric->elements[from].cable,
				  fabric->config.ntb_ns, from);
		if (status)
			return status;
	}
	return -ELOOP;
}

int fabric_route(struct fabric *fabric, u32 from, u64 address, u64 bytes,
		 struct fabric_path *ret_path)
{
	int status;

	memset(ret_path, 0, sizeof(*ret_path));
	status = route(fabric, from, address, bytes, ret_path);
	/* What is in the element itself is reached by no link. */
	if (!status && !ret_path->count)
		status = -EFAULT;
	if (status)
		fabric->elements[from].refused++;
	else
		path_cross(fabric, ret_path);
	return status;
}
