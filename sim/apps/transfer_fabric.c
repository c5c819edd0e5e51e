// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The declaration of a PCIe fabric
 * ================================
 *
 *     "hosts": {"borrower": {"memory": "16G"}, "lender": {"memory": "16G"}},
 *     "elements": {
 *       "lender.switch": {"kind": "switch", "below": "lender", "link": "3x16"},
 *       "lender.gpu": {"kind": "device", "below": "lender.switch", "link": "2x16",
 *                      "memory": "256M"},
 *       "lender.ntb": {"kind": "ntb", "below": "lender.switch", "link": "3x16",
 *                      "window": "4G", "segments": 64}, ...},
 *     "cables": {"lender.ntb": {"to": "borrower.ntb", "link": "3x8"}}
 *
 * A link is a generation and lanes. An element comes after the one that it is below. Fields are
 * read as app_fields.h says.
 */
#include "apps/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/app_fields.h"
#include "engine/guess.h"
#include "gvm/port.h"

enum element_kind { ELEMENT_SWITCH, ELEMENT_DEVICE, ELEMENT_NTB, ELEMENT_NONE };

static const char *const kinds[] = { "switch", "device", "ntb", NULL };

/* A host, an element or a cable as it is written. */
struct part {
	u64 kind;
	char below[CFG_NAME_MAX];
	char link[CFG_NAME_MAX];
	char to[CFG_NAME_MAX];
	u64 memory;
	u64 window;
	u64 segments;
};

static const struct cfg_key host_fields[] = {
	APP_FIELD(part, "memory", SIZE, memory, CFG_RANGE(CFG_MIB, FABRIC_MMIO_BASE)),
	{ 0 },
};

static const struct cfg_key element_fields[] = {
	APP_FIELD(part, "kind", ENUM, kind, .words = kinds),
	APP_FIELD(part, "below", STRING, below, ),
	APP_FIELD(part, "link", STRING, link, ),
	APP_FIELD(part, "memory", SIZE, memory, CFG_RANGE(4096, CFG_TIB / 2)),
	APP_FIELD(part, "window", SIZE, window, CFG_RANGE(4096, CFG_TIB / 2)),
	APP_FIELD(part, "segments", INTEGER, segments, CFG_RANGE(1, FABRIC_SEGMENTS_MAX)),
	{ 0 },
};

static const struct cfg_key cable_fields[] = {
	APP_FIELD(part, "to", STRING, to, ),
	APP_FIELD(part, "link", STRING, link, ),
	{ 0 },
};

static const char *const no_others[] = { NULL };

static bool is_power_of_two(u64 bytes)
{
	return bytes && !(bytes & (bytes - 1));
}

/* "3x16". */
static bool read_link(const struct app_fields_wrong *wrong, const char *where,
		      const struct part *part, u32 *ret_generation, u32 *ret_lanes)
{
	char again[CFG_NAME_MAX];

	if (sscanf(part->link, "%1ux%2u", ret_generation, ret_lanes) == 2 &&
	    snprintf(again, sizeof(again), "%ux%u", *ret_generation, *ret_lanes) &&
	    !strcmp(again, part->link) && *ret_generation >= 1 && *ret_generation <= 5 &&
	    *ret_lanes <= 16 && is_power_of_two(*ret_lanes))
		return true;
	return app_fields_reject(wrong, where,
				 "link \"%.32s\" is none, allowed: generation 1 to 5 and 1, 2, "
				 "4, 8 or 16 lanes, such as \"3x16\"",
				 part->link);
}

static bool is_name(const struct app_fields_wrong *wrong, const struct fabric *fabric,
		    const char *name)
{
	if (!*name || strlen(name) >= FABRIC_NAME_MAX)
		return app_fields_reject(wrong, "",
					 "\"%.64s\" is no name, allowed: 1 to %d bytes", name,
					 FABRIC_NAME_MAX - 1);
	if (!strcmp(name, "memory") || fabric_find(fabric, name) != FABRIC_NONE)
		return app_fields_reject(wrong, name, "is taken, allowed: another name");
	return true;
}

static bool no_room(const struct app_fields_wrong *wrong, const char *where)
{
	return app_fields_reject(wrong, where,
				 "is one too many, allowed: %u hosts and %u elements in all",
				 FABRIC_HOSTS_MAX, FABRIC_ELEMENTS_MAX);
}

static bool read_hosts(const struct app_fields_wrong *wrong, const json_t *json,
		       struct fabric *fabric)
{
	const char *name;
	json_t *child;

	if (!json_is_object(json))
		return app_fields_reject(wrong, "hosts",
					 "are no object, allowed: hosts by their names");
	json_object_foreach((json_t *)json, name, child) {
		struct part part = { 0 };

		if (!is_name(wrong, fabric, name) ||
		    !app_fields_read(wrong, name, child, host_fields, no_others, &part))
			return false;
		if (!part.memory)
			return app_fields_reject(wrong, name, "has no memory, allowed: a size");
		if (fabric_add_host(fabric, name, part.memory, false) == FABRIC_NONE)
			return no_room(wrong, name);
	}
	return true;
}

/* "did you mean ...?", or all names of elements. */
static void describe_elements(const struct fabric *fabric, const char *name, char *text,
			      size_t size)
{
	char known[TRANSFER_WRONG_MAX] = "";
	size_t length = 0;

	for (u32 i = 0; i < fabric->element_count && length < sizeof(known) - 1; i++)
		length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%s",
					   i ? ", " : "", fabric->elements[i].name);
	guess_describe(name, known, text, size);
}

/* The element @name, or FABRIC_NONE: there is none, which *wrong says. */
static u32 find_element(const struct app_fields_wrong *wrong, const char *where,
			const struct fabric *fabric, const char *name)
{
	u32 number = fabric_find(fabric, name);
	char right[TRANSFER_WRONG_MAX];

	if (number != FABRIC_NONE)
		return number;
	describe_elements(fabric, name, right, sizeof(right));
	app_fields_reject(wrong, where, "no host or element \"%.64s\", %s", name, right);
	return FABRIC_NONE;
}

static bool add_element(const struct app_fields_wrong *wrong, const char *name,
			const struct part *part, u32 parent, u32 generation, u32 lanes,
			struct fabric *fabric)
{
	u32 number;

	if (part->kind == ELEMENT_DEVICE && !is_power_of_two(part->memory))
		return app_fields_reject(
			wrong, name, "memory is no power of two, allowed: such as \"256M\"");
	if (part->kind == ELEMENT_NTB && (!is_power_of_two(part->window) || !part->segments ||
					  part->window % part->segments))
		return app_fields_reject(wrong, name,
					 "window or segments are missing or no power of two, "
					 "allowed: such as \"4G\" and 64");
	if (part->kind == ELEMENT_SWITCH)
		number = fabric_add_switch(fabric, name, parent, generation, lanes);
	else if (part->kind == ELEMENT_DEVICE)
		number = fabric_add_device(fabric, name, parent, generation, lanes,
					   part->memory);
	else
		number = fabric_add_ntb(fabric, name, parent, generation, lanes, part->window,
					(u32)part->segments);
	return number != FABRIC_NONE || no_room(wrong, name);
}

static bool read_elements(const struct app_fields_wrong *wrong, const json_t *json,
			  struct fabric *fabric)
{
	const char *name;
	json_t *child;

	if (!json_is_object(json))
		return app_fields_reject(wrong, "elements",
					 "are no object, allowed: elements by their names");
	json_object_foreach((json_t *)json, name, child) {
		struct part part = { .kind = ELEMENT_NONE };
		u32 generation, lanes, parent;

		if (!is_name(wrong, fabric, name) ||
		    !app_fields_read(wrong, name, child, element_fields, no_others, &part))
			return false;
		if (part.kind == ELEMENT_NONE)
			return app_fields_reject(wrong, name,
						 "has no kind, allowed: switch, device, ntb");
		parent = find_element(wrong, name, fabric, part.below);
		if (parent == FABRIC_NONE ||
		    !read_link(wrong, name, &part, &generation, &lanes))
			return false;
		if (fabric->elements[parent].kind != FABRIC_ROOT &&
		    fabric->elements[parent].kind != FABRIC_SWITCH)
			return app_fields_reject(wrong, name,
						 "is below \"%.64s\", allowed: a host or a "
						 "switch",
						 part.below);
		if (!add_element(wrong, name, &part, parent, generation, lanes, fabric))
			return false;
	}
	return true;
}

static bool read_cables(const struct app_fields_wrong *wrong, const json_t *json,
			struct fabric *fabric)
{
	const char *name;
	json_t *child;

	if (json && !json_is_object(json))
		return app_fields_reject(wrong, "cables",
					 "are no object, allowed: cables by the NTB of an end");
	json_object_foreach((json_t *)json, name, child) {
		struct part part = { 0 };
		u32 generation, lanes, ends[2];

		if (!app_fields_read(wrong, name, child, cable_fields, no_others, &part) ||
		    !read_link(wrong, name, &part, &generation, &lanes))
			return false;
		ends[0] = find_element(wrong, name, fabric, name);
		ends[1] = ends[0] == FABRIC_NONE ? FABRIC_NONE :
						   find_element(wrong, name, fabric, part.to);
		if (ends[1] == FABRIC_NONE)
			return false;
		for (u32 i = 0; i < 2; i++)
			if (fabric->elements[ends[i]].kind != FABRIC_NTB ||
			    fabric->elements[ends[i]].far != FABRIC_NONE ||
			    fabric->elements[ends[0]].host == fabric->elements[ends[1]].host)
				return app_fields_reject(wrong, name,
							 "joins no two NTBs, allowed: NTBs of "
							 "two hosts, each with one cable");
		fabric_join(fabric, ends[0], ends[1], generation, lanes);
	}
	return true;
}

static struct fabric_config fabric_constants(const struct cfg_transfer *cfg)
{
	return (struct fabric_config){
		.switch_ns = cfg->switch_time,
		.root_ns = cfg->root_time,
		.ntb_ns = cfg->ntb_time,
		.memory_ns = cfg->memory_time,
		.store_ns = cfg->store_time,
		.device_ns = cfg->device_read_time,
		.payload = (u32)cfg->payload,
		.read_request = (u32)cfg->read_request,
		.read_tags = (u32)cfg->read_tags,
		.completion = (u32)cfg->completion,
		.root_read = (u32)cfg->root_read,
		.root_tags = (u32)cfg->root_tags,
		.root_write = (u32)cfg->root_write,
		.link_overhead = (u32)cfg->link_overhead,
	};
}

/* The names that keys give: a host, and devices. */
static bool check_names(const struct cfg_transfer *cfg, const struct fabric *fabric,
			const struct app_fields_wrong *wrong, const char **ret_key)
{
	const struct {
		const char *key, *name;
		bool given;
	} devices[] = {
		{ "device", cfg->device, true },
		{ "target", cfg->target, strcmp(cfg->target, "memory") != 0 },
		{ "peer", cfg->peer, cfg->operation == TRANSFER_PING_PONG },
	};

	*ret_key = "borrower";
	if (fabric_find_host(fabric, cfg->borrower) == FABRIC_NONE)
		return app_fields_reject(wrong, "", "\"%.64s\" is no host of app.fabric",
					 cfg->borrower);
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		u32 number;

		*ret_key = devices[i].key;
		if (!devices[i].given)
			continue;
		if (!*devices[i].name)
			return app_fields_reject(
				wrong, "",
				"is missing, allowed: the other device of a ping-pong");
		number = find_element(wrong, "", fabric, devices[i].name);
		if (number == FABRIC_NONE)
			return false;
		if (fabric->elements[number].kind != FABRIC_DEVICE)
			return app_fields_reject(wrong, "",
						 "\"%.64s\" is no device of app.fabric",
						 devices[i].name);
	}
	return true;
}

/* A device does not move data to or from itself, nor count with itself. */
static bool check_others(const struct cfg_transfer *cfg, const struct app_fields_wrong *wrong,
			 const char **ret_key)
{
	bool counts = cfg->operation == TRANSFER_PING_PONG;
	const char *other = counts ? cfg->peer : cfg->target;

	*ret_key = counts ? "peer" : "target";
	if (!strcmp(other, cfg->device))
		return app_fields_reject(wrong, "",
					 "\"%.64s\" is app.device, allowed: %sanother "
					 "device",
					 other, counts ? "" : "\"memory\" or ");
	return true;
}

/* The data of a round fits into what it goes to or comes from. */
static bool check_bytes(const struct cfg_transfer *cfg, const struct fabric *fabric,
			const struct app_fields_wrong *wrong, const char **ret_key)
{
	const struct fabric_element *elements = fabric->elements;
	u32 host = fabric_find_host(fabric, cfg->borrower);
	u64 room;

	*ret_key = "bytes";
	if (cfg->operation == TRANSFER_PING_PONG)
		return true;
	if (strcmp(cfg->target, "memory") != 0) {
		room = elements[fabric_find(fabric, cfg->target)].bytes;
		if (cfg->bytes > room)
			return app_fields_reject(wrong, "",
						 "does not fit into \"%.64s\", allowed: "
						 "up to its %llu bytes",
						 cfg->target, room);
		return true;
	}
	room = elements[fabric->hosts[host].root].bytes - TRANSFER_BUFFER_OFFSET;
	if (cfg->bytes > room)
		return app_fields_reject(wrong, "",
					 "does not fit into the memory of \"%.64s\", "
					 "allowed: up to %llu bytes",
					 cfg->borrower, room);
	return true;
}

bool transfer_fabric_build(const struct cfg_transfer *cfg, struct fabric *fabric,
			   const char **ret_key, char ret_wrong[TRANSFER_WRONG_MAX])
{
	static const char *const parts[] = { "hosts", "elements", "cables", NULL };
	const struct app_fields_wrong wrong = { ret_wrong, TRANSFER_WRONG_MAX };
	const struct fabric_config config = fabric_constants(cfg);
	static const struct cfg_key none[] = { { 0 } };
	json_t *json = json_loads(cfg->fabric, 0, NULL);
	bool right;

	*ret_key = "fabric";
	fabric_init(fabric, &config);
	right = app_fields_read(&wrong, "", json, none, parts, NULL) &&
		read_hosts(&wrong, json_object_get(json, "hosts"), fabric) &&
		read_elements(&wrong, json_object_get(json, "elements"), fabric) &&
		read_cables(&wrong, json_object_get(json, "cables"), fabric);
	json_decref(json);
	return right && check_names(cfg, fabric, &wrong, ret_key) &&
	       check_others(cfg, &wrong, ret_key) && check_bytes(cfg, fabric, &wrong, ret_key);
}
