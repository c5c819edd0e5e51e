// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads and writes as TLPs; see traffic.h.
 *
 * A read is a request of its device with children: at each root that it crosses it is cut, and
 * each piece is a request of that root.
 *
 *     device --request--> root --pieces--> memory
 *     device <--data----- root <--data---- memory
 */
#include "fabric/traffic.h"

#include <errno.h>
#include <stddef.h>

#include "fabric/packets.h"
#include "gvm/port.h"

static bool transfer_begin_more(struct fabric_transfer *transfer);

/* Transfers. */

/* From on_end() on its memory is the caller's. So nothing of it may be left. */
static void transfer_end(struct fabric_transfer *transfer)
{
	struct fabric *fabric = transfer->fabric;

	eng_timers_cancel(&fabric->events, &transfer->pace);
	while (transfer->thinking) {
		struct fabric_packet *packet = transfer->thinking;

		transfer->thinking = packet->next;
		eng_timers_cancel(&fabric->events, &packet->event);
		fabric_packet_free(fabric, packet);
	}
	fabric->elements[transfer->from].transfers--;
	transfer->on_end(transfer);
}

/* Nothing more of it begins; it ends with the last of what is under way. */
static void transfer_fail(struct fabric_transfer *transfer, int status)
{
	if (!transfer->status)
		transfer->status = status;
	transfer->bytes = transfer->begun;
}

/* @bytes of it have come to their end. False: it has ended, and its memory is the caller's. */
static bool transfer_did(struct fabric_transfer *transfer, u32 bytes)
{
	transfer->done += bytes;
	if (transfer->done < transfer->bytes && transfer->done < transfer->path_end)
		return true;
	return transfer_begin_more(transfer);
}

/*
 * Its next bytes go along the path. At its end the path is found anew, once all bytes of the
 * old one have come to their end. False: nothing can begin now.
 */
static bool transfer_has_path(struct fabric_transfer *transfer)
{
	u64 left = transfer->bytes - transfer->begun;
	int status;

	if (!left)
		return false;
	if (transfer->begun < transfer->path_end)
		return true;
	if (transfer->done < transfer->begun)
		return false;
	status = fabric_route(transfer->fabric, transfer->from,
			      transfer->address + transfer->begun, left, &transfer->path);
	if (status) {
		transfer_fail(transfer, status);
		return false;
	}
	transfer->path_end = transfer->begun + transfer->path.bytes;
	return true;
}

/* The next bytes of it: up to @most, and not beyond a multiple of it, nor the path's end. */
static u32 transfer_piece(const struct fabric_transfer *transfer, u32 most)
{
	u64 left = transfer->path_end - transfer->begun;
	u64 to_edge = most - (transfer->address + transfer->begun) % most;

	return (u32)min(left, to_edge);
}

/* Does the path end in the memory of a host, not of a device? */
static bool ends_at_host(const struct fabric *fabric, const struct fabric_path *path)
{
	return fabric->elements[path->target].kind == FABRIC_ROOT;
}

/* Writes. */

static u64 target_store_ps(const struct fabric *fabric, const struct fabric_path *path)
{
	return ends_at_host(fabric, path) ? fabric->config.store_ns * FABRIC_PS_PER_NS : 0;
}

static void write_stored(struct fabric *fabric, struct fabric_packet *packet)
{
	struct fabric_transfer *transfer = packet->transfer;
	u32 bytes = packet->data;

	fabric_packet_free(fabric, packet);
	(void)transfer_did(transfer, bytes);
}

static u32 next_root(const struct fabric_path *path, u32 first)
{
	u32 step = first;

	while (step < path->count && !path->steps[step].root)
		step++;
	return step < path->count ? step + 1 : path->count;
}

/* A write has come to a root, or to its target. A root sends it on in pieces. */
static void write_arrived(struct fabric *fabric, struct fabric_packet *packet)
{
	struct fabric_transfer *transfer = packet->transfer;
	const struct fabric_path *path = &transfer->path;
	u32 at = packet->end, left = packet->data, most = fabric->config.root_write;
	struct fabric_packet *piece = packet;

	if (at == path->count) {
		packet->arrive = write_stored;
		fabric_packet_wait(fabric, packet,
				   fabric->now_ps + target_store_ps(fabric, path));
		return;
	}
	while (left) {
		u32 data = most && left > most ? most : left;

		if (!piece)
			piece = fabric_packet_new(fabric);
		if (!piece) {
			transfer_fail(transfer, -ENOMEM);
			(void)transfer_did(transfer, left);
			return;
		}
		*piece = (struct fabric_packet){
			.transfer = transfer,
			.arrive = write_arrived,
			.data = data,
			.header = FABRIC_REQUEST_HEADER,
		};
		fabric_packet_send(fabric, piece, at, next_root(path, at),
				   fabric->now_ps + path->steps[at - 1].cross_ps);
		left -= data;
		piece = NULL;
	}
}

/* The time between two writes of @data bytes: what the slowest link of the way takes. */
static u64 write_pace_ps(const struct fabric *fabric, const struct fabric_path *path, u32 data)
{
	u32 size = data, most = fabric->config.root_write;
	u64 slowest = 0;

	for (u32 i = 0; i < path->count; i++) {
		u64 time = fabric_wire_ps(path->steps[i].wire, size, FABRIC_REQUEST_HEADER);
		u64 all = time * ((data + size - 1) / size);

		slowest = max(slowest, all);
		if (path->steps[i].root && most && size > most)
			size = most;
	}
	return slowest;
}

/* Send the next TLP of a write; the one after it comes at the pace of the way. */
static void write_send(struct fabric_transfer *transfer)
{
	struct fabric *fabric = transfer->fabric;
	struct fabric_packet *packet;
	u64 pace_ps;
	u32 data;

	if (!transfer_has_path(transfer))
		return;
	data = transfer_piece(transfer, fabric->config.payload);
	packet = fabric_packet_new(fabric);
	if (!packet) {
		transfer_fail(transfer, -ENOMEM);
		return;
	}
	packet->transfer = transfer;
	packet->arrive = write_arrived;
	packet->data = data;
	packet->header = FABRIC_REQUEST_HEADER;
	transfer->begun += data;
	fabric_packet_send(fabric, packet, 0, next_root(&transfer->path, 0), fabric->now_ps);
	pace_ps = write_pace_ps(fabric, &transfer->path, data);
	if (transfer->begun < transfer->bytes)
		eng_timers_set(&fabric->events, &transfer->pace, fabric->now_ps + pace_ps);
}

static void pace_fire(struct eng_timer *timer)
{
	(void)transfer_begin_more(container_of(timer, struct fabric_transfer, pace));
}

/* Reads. */

static u32 tags_of(const struct fabric *fabric, u32 element)
{
	return fabric->elements[element].kind == FABRIC_ROOT ? fabric->config.root_tags :
							       fabric->config.read_tags;
}

static u64 target_read_ps(const struct fabric *fabric, const struct fabric_path *path)
{
	u64 ns = ends_at_host(fabric, path) ? fabric->config.memory_ns :
					      fabric->config.device_ns;

	return ns * FABRIC_PS_PER_NS;
}

static void request_arrived(struct fabric *fabric, struct fabric_packet *packet);

/* Send a request that has a tag. False: there is no memory. */
static bool request_send(struct fabric *fabric, struct fabric_request *request, u64 date)
{
	struct fabric_packet *packet = fabric_packet_new(fabric);

	if (!packet)
		return false;
	packet->transfer = request->transfer;
	packet->request = request;
	packet->arrive = request_arrived;
	packet->header = FABRIC_REQUEST_HEADER;
	fabric_packet_send(fabric, packet, request->first, request->end, date);
	return true;
}

static void request_answer(struct fabric *fabric, struct fabric_request *request, u32 bytes);

/* A request that could not be sent counts as answered. */
static void request_unsent(struct eng_timer *event)
{
	struct fabric_request *request = container_of(event, struct fabric_request, event);

	request_answer(request->transfer->fabric, request, request->bytes);
}

/*
 * Give a request a tag, and send it. Without memory its transfer fails, which may end it: so it
 * does not happen here, where callers still use request and transfer.
 */
static void request_begin(struct fabric *fabric, struct fabric_request *request)
{
	struct fabric_element *element = &fabric->elements[request->owner];
	struct fabric_tags *tags = &element->tags[request->cuts];

	tags->used++;
	element->tags_most = max(element->tags_most, tags->used);
	if (request_send(fabric, request, fabric->now_ps))
		return;
	transfer_fail(request->transfer, -ENOMEM);
	request->event.fire = request_unsent;
	eng_timers_set(&fabric->events, &request->event, fabric->now_ps);
}

/* A request begins if there is a tag for it. Otherwise it waits for one, and its transfer, too. */
static void request_queue(struct fabric *fabric, struct fabric_request *request)
{
	struct fabric_tags *tags = &fabric->elements[request->owner].tags[request->cuts];

	if (!tags->first && tags->used < tags_of(fabric, request->owner)) {
		request_begin(fabric, request);
		return;
	}
	if (!request->parent)
		request->transfer->waits = true;
	if (tags->first)
		tags->last->next = request;
	else
		tags->first = request;
	tags->last = request;
}

/* A tag is free: the first request that waits for one gets it. */
static void tag_give_back(struct fabric *fabric, struct fabric_tags *tags)
{
	struct fabric_request *request = tags->first;

	tags->used--;
	if (!request)
		return;
	tags->first = request->next;
	request->next = NULL;
	request_begin(fabric, request);
	if (request->parent)
		return;
	request->transfer->waits = false;
	(void)transfer_begin_more(request->transfer);
}

static void completion_arrived(struct fabric *fabric, struct fabric_packet *packet)
{
	struct fabric_request *request = packet->request;
	u32 bytes = packet->data;

	fabric_packet_free(fabric, packet);
	request_answer(fabric, request, bytes);
}

/* Send @bytes of the answer to a request back to who made it. */
static void completion_send(struct fabric *fabric, struct fabric_request *request, u32 bytes,
			    u64 date)
{
	struct fabric_packet *packet = fabric_packet_new(fabric);

	if (!packet) {
		transfer_fail(request->transfer, -ENOMEM);
		request_answer(fabric, request, bytes);
		return;
	}
	packet->transfer = request->transfer;
	packet->request = request;
	packet->arrive = completion_arrived;
	packet->back = true;
	packet->data = bytes;
	packet->header = FABRIC_COMPLETION_HEADER;
	fabric_packet_send(fabric, packet, request->first, request->end, date);
}

/* The time after an answer is over: of all that think, the first one's, as all take as long. */
static void read_thought(struct eng_timer *event)
{
	struct fabric_packet *packet = container_of(event, struct fabric_packet, event);
	struct fabric_transfer *transfer = packet->transfer;

	transfer->thinking = packet->next;
	fabric_packet_free(transfer->fabric, packet);
	transfer->in_flight--;
	(void)transfer_begin_more(transfer);
}

/* A thread of a read has its answer, and thinks before it asks again. False: no memory. */
static bool read_think(struct fabric_transfer *transfer)
{
	struct fabric *fabric = transfer->fabric;
	struct fabric_packet *packet = fabric_packet_new(fabric);

	if (!packet)
		return false;
	if (transfer->thinking)
		transfer->thinking_last->next = packet;
	else
		transfer->thinking = packet;
	transfer->thinking_last = packet;
	packet->transfer = transfer;
	packet->event.fire = read_thought;
	eng_timers_set(&fabric->events, &packet->event, fabric->now_ps + transfer->think_ps);
	return true;
}

/* A read's request has all of its data, of which @bytes came last. Ask for more, now or later. */
static void read_answered(struct fabric_transfer *transfer, u32 bytes)
{
	bool thinks = transfer->think_ps && transfer->begun < transfer->bytes;

	if (thinks && !read_think(transfer)) {
		transfer_fail(transfer, -ENOMEM);
		thinks = false;
	}
	if (!thinks)
		transfer->in_flight--;
	if (transfer_did(transfer, bytes) && !thinks)
		(void)transfer_begin_more(transfer);
}

/* Data has come for a request: a root passes it on, and a device has it. */
static void request_answer(struct fabric *fabric, struct fabric_request *request, u32 bytes)
{
	struct fabric_transfer *transfer = request->transfer;
	struct fabric_request *parent = request->parent;
	struct fabric_tags *tags = &fabric->elements[request->owner].tags[request->cuts];

	request->answered += bytes;
	if (parent)
		completion_send(fabric, parent, bytes,
				fabric->now_ps +
					transfer->path.steps[request->first - 1].cross_ps);
	if (request->answered < request->bytes) {
		if (!parent)
			(void)transfer_did(transfer, bytes);
		return;
	}
	fabric_request_free(fabric, request);
	if (!parent)
		read_answered(transfer, bytes);
	tag_give_back(fabric, tags);
}

/* A root cuts a request, and makes each piece with a tag of its own. */
static void request_cut(struct fabric *fabric, struct fabric_request *request)
{
	const struct fabric_path *path = &request->transfer->path;
	u32 most = fabric->config.root_read ? fabric->config.root_read : request->bytes;
	u32 left = request->bytes, at = request->end;

	while (left) {
		struct fabric_request *piece = fabric_request_new(fabric);
		u32 bytes = min(left, most);

		if (!piece) {
			transfer_fail(request->transfer, -ENOMEM);
			request_answer(fabric, request, left);
			return;
		}
		piece->transfer = request->transfer;
		piece->parent = request;
		piece->owner = path->steps[at - 1].element;
		piece->cuts = request->cuts + 1;
		piece->first = at;
		piece->end = next_root(path, at);
		piece->bytes = bytes;
		left -= bytes;
		request_queue(fabric, piece);
	}
}

/* The target answers, as long as its memory takes, in completions. */
static void request_serve(struct fabric *fabric, struct fabric_request *request)
{
	const struct fabric_path *path = &request->transfer->path;
	u32 most =
		ends_at_host(fabric, path) ? fabric->config.completion : fabric->config.payload;
	u64 date = fabric->now_ps + target_read_ps(fabric, path);

	request->transfer->served_ps = fabric->now_ps;
	for (u32 left = request->bytes; left;) {
		u32 bytes = min(left, most);

		left -= bytes;
		completion_send(fabric, request, bytes, date);
	}
}

static void request_at_root(struct fabric *fabric, struct fabric_packet *packet)
{
	struct fabric_request *request = packet->request;

	fabric_packet_free(fabric, packet);
	request_cut(fabric, request);
}

static void request_arrived(struct fabric *fabric, struct fabric_packet *packet)
{
	struct fabric_request *request = packet->request;
	const struct fabric_path *path = &request->transfer->path;

	if (request->end == path->count) {
		fabric_packet_free(fabric, packet);
		request_serve(fabric, request);
		return;
	}
	packet->arrive = request_at_root;
	fabric_packet_wait(fabric, packet,
			   fabric->now_ps + path->steps[request->end - 1].cross_ps);
}

/* Ask for the next bytes of a read, as long as it may have more in flight. */
static void read_ask(struct fabric_transfer *transfer)
{
	struct fabric *fabric = transfer->fabric;
	u32 most =
		transfer->request_bytes ? transfer->request_bytes : fabric->config.read_request;

	while (!transfer->waits && (!transfer->tags || transfer->in_flight < transfer->tags) &&
	       transfer_has_path(transfer)) {
		struct fabric_request *request = fabric_request_new(fabric);

		if (!request) {
			transfer_fail(transfer, -ENOMEM);
			return;
		}
		request->transfer = transfer;
		request->owner = transfer->from;
		request->end = next_root(&transfer->path, 0);
		request->bytes = transfer_piece(transfer, most);
		transfer->begun += request->bytes;
		transfer->in_flight++;
		request_queue(fabric, request);
	}
}

/*
 * Begin what can begin now. False: it has ended, as all of its bytes have come to their end, or
 * as it failed with nothing under way.
 */
static bool transfer_begin_more(struct fabric_transfer *transfer)
{
	if (transfer->read)
		read_ask(transfer);
	else if (!transfer->pace.set)
		write_send(transfer);
	if (transfer->done < transfer->bytes)
		return true;
	transfer_end(transfer);
	return false;
}

void fabric_begin(struct fabric *fabric, struct fabric_transfer *transfer)
{
	fabric_advance(fabric);
	transfer->fabric = fabric;
	transfer->status = 0;
	transfer->path_end = transfer->begun = transfer->done = 0;
	transfer->in_flight = 0;
	transfer->waits = false;
	transfer->thinking = transfer->thinking_last = NULL;
	transfer->pace.fire = pace_fire;
	fabric->elements[transfer->from].transfers++;
	(void)transfer_begin_more(transfer);
	fabric_set_timer(fabric);
}

void fabric_cancel(struct fabric_transfer *transfer)
{
	transfer_fail(transfer, -EINTR);
	if (transfer->done == transfer->bytes)
		transfer_end(transfer);
}

static void waiter_wake(struct fabric_transfer *transfer)
{
	struct fabric_waiter *waiter = transfer->data;

	waiter->ended = true;
	eng_wake_all(&waiter->waitq);
}

void fabric_begin_waited(struct fabric *fabric, struct fabric_transfer *transfer,
			 struct fabric_waiter *waiter)
{
	*waiter = (struct fabric_waiter){ 0 };
	transfer->on_end = waiter_wake;
	transfer->data = waiter;
	fabric_begin(fabric, transfer);
}

int fabric_wait(struct fabric_transfer *transfer)
{
	struct fabric_waiter *waiter = transfer->data;

	while (!waiter->ended && eng_wait(&waiter->waitq, ENG_NEVER, true) != -EINTR)
		;
	if (!waiter->ended)
		fabric_cancel(transfer);
	while (!waiter->ended)
		(void)eng_wait(&waiter->waitq, ENG_NEVER, false);
	return transfer->status;
}

int fabric_do(struct fabric *fabric, struct fabric_transfer *transfer)
{
	struct fabric_waiter waiter;

	fabric_begin_waited(fabric, transfer, &waiter);
	return fabric_wait(transfer);
}

static bool is_free(const struct fabric_wire *wire)
{
	return wire->free_ps <= eng_now() * FABRIC_PS_PER_NS;
}

bool fabric_is_idle(const struct fabric *fabric)
{
	for (u32 i = 0; i < fabric->element_count; i++)
		if (!is_free(&fabric->elements[i].up) || !is_free(&fabric->elements[i].down) ||
		    !is_free(&fabric->elements[i].cable))
			return false;
	return eng_timers_next(&fabric->events) == ENG_NEVER;
}
