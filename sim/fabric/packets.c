// SPDX-License-Identifier: MIT OR GPL-2.0
#include "fabric/packets.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "gvm/port.h"

#define BLOCK_SIZE 512u /* packets or requests that are allocated at once */

/* Memory: free packets and free requests, each a list whose links are the first bytes. */

static void entry_free(void **list, void *entry)
{
	*(void **)entry = *list;
	*list = entry;
}

/* Put a block of free entries on a list. False: there is no memory. */
static bool add_block(struct fabric *fabric, void **list, size_t entry_bytes)
{
	void **blocks = realloc(fabric->blocks, (fabric->block_count + 1) * sizeof(*blocks));
	char *block;

	if (!blocks)
		return false;
	fabric->blocks = blocks;
	block = calloc(BLOCK_SIZE, entry_bytes);
	if (!block)
		return false;
	blocks[fabric->block_count++] = block;
	for (u32 i = 0; i < BLOCK_SIZE; i++)
		entry_free(list, block + i * entry_bytes);
	return true;
}

static void *entry_new(struct fabric *fabric, void **list, size_t bytes)
{
	void *entry;

	if (!*list && !add_block(fabric, list, bytes))
		return NULL;
	entry = *list;
	*list = *(void **)entry;
	return memset(entry, 0, bytes);
}

struct fabric_packet *fabric_packet_new(struct fabric *fabric)
{
	return entry_new(fabric, &fabric->packets, sizeof(struct fabric_packet));
}

void fabric_packet_free(struct fabric *fabric, struct fabric_packet *packet)
{
	entry_free(&fabric->packets, packet);
}

struct fabric_request *fabric_request_new(struct fabric *fabric)
{
	return entry_new(fabric, &fabric->requests, sizeof(struct fabric_request));
}

void fabric_request_free(struct fabric *fabric, struct fabric_request *request)
{
	entry_free(&fabric->requests, request);
}

void fabric_destroy(struct fabric *fabric)
{
	for (u32 i = 0; i < fabric->block_count; i++)
		free(fabric->blocks[i]);
	free(fabric->blocks);
	fabric->blocks = NULL;
	fabric->block_count = 0;
	fabric->packets = NULL;
	fabric->requests = NULL;
}

/* Events. */

static void timer_fire(struct eng_timer *timer)
{
	fabric_advance(container_of(timer, struct fabric, timer));
}

/* The first ns that is not before the event. */
void fabric_set_timer(struct fabric *fabric)
{
	u64 next = eng_timers_next(&fabric->events);

	if (next == ENG_NEVER) {
		eng_timer_cancel(&fabric->timer);
		return;
	}
	fabric->timer.fire = timer_fire;
	eng_timer_set(&fabric->timer, (next + FABRIC_PS_PER_NS - 1) / FABRIC_PS_PER_NS);
}

void fabric_advance(struct fabric *fabric)
{
	u64 now = eng_now() * FABRIC_PS_PER_NS;
	struct eng_timer *event;

	while (eng_timers_next(&fabric->events) <= now) {
		fabric->now_ps = eng_timers_next(&fabric->events);
		event = eng_timers_pop_due(&fabric->events, now);
		event->fire(event);
	}
	fabric->now_ps = now;
	fabric_set_timer(fabric);
}

/* Packets. */

/* Its tail is at the end of its way. */
static void packet_arrived(struct eng_timer *event)
{
	struct fabric_packet *packet = container_of(event, struct fabric_packet, event);

	packet->arrive(packet->transfer->fabric, packet);
}

/*
 * Put a TLP of @data bytes and its header on a link as soon as the link is free. Returns when its
 * head leaves, and how long the link is busy with it.
 */
static u64 wire_send(struct fabric *fabric, struct fabric_wire *wire, u32 data, u32 header,
		     u64 *ret_length_ps)
{
	u64 start = max(wire->free_ps, fabric->now_ps);

	*ret_length_ps = fabric_wire_ps(wire, data, header);
	wire->free_ps = start + *ret_length_ps;
	wire->packets++;
	wire->data += data;
	wire->total += data + header;
	return start;
}

/* Its head is at its next link. */
static void packet_ready(struct eng_timer *event)
{
	struct fabric_packet *packet = container_of(event, struct fabric_packet, event);
	struct fabric_transfer *transfer = packet->transfer;
	struct fabric *fabric = transfer->fabric;
	const struct fabric_step *steps = transfer->path.steps;
	const struct fabric_step *step = &steps[packet->step];
	struct fabric_wire *wire = packet->back ? step->back : step->wire;
	u64 length_ps, date = wire_send(fabric, wire, packet->data, packet->header, &length_ps);

	packet->slowest_ps = max(packet->slowest_ps, length_ps);
	date += step->wire_ps;
	if (packet->back ? packet->step == packet->end : packet->step + 1 == packet->end) {
		event->fire = packet_arrived;
		date += packet->slowest_ps;
	} else if (packet->back) {
		packet->step--;
		date += steps[packet->step].cross_ps;
	} else {
		packet->step++;
		date += step->cross_ps;
	}
	eng_timers_set(&fabric->events, event, date);
}

void fabric_packet_send(struct fabric *fabric, struct fabric_packet *packet, u32 first, u32 end,
			u64 date)
{
	packet->step = packet->back ? end - 1 : first;
	packet->end = packet->back ? first : end;
	packet->event.fire = packet_ready;
	eng_timers_set(&fabric->events, &packet->event, date);
}

void fabric_packet_wait(struct fabric *fabric, struct fabric_packet *packet, u64 date)
{
	packet->event.fire = packet_arrived;
	eng_timers_set(&fabric->events, &packet->event, date);
}
