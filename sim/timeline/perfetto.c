// SPDX-License-Identifier: MIT OR GPL-2.0
#include "timeline/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "trace.pb-c.h"

#define ZSTD_LEVEL 3
#define OUT_ROOM   65536
#define SEQUENCE   1 /* all packets are of one sequence */
#define CLEARED	   1 /* SEQ_INCREMENTAL_STATE_CLEARED, of its first packet */

/* Write bytes, by way of zstd if the trace is compressed. @last: end the frame. */
static void put(struct perfetto *perfetto, const void *bytes, size_t size, bool last)
{
	ZSTD_inBuffer in = { bytes, size, 0 };
	char room[OUT_ROOM];
	size_t left = 0;

	if (!perfetto->zstd) {
		if (fwrite(bytes, 1, size, perfetto->stream) != size && !perfetto->error)
			perfetto->error = errno ? errno : EIO;
		return;
	}
	do {
		ZSTD_outBuffer out = { room, sizeof(room), 0 };

		left = ZSTD_compressStream2(perfetto->zstd, &out, &in,
					    last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left)) {
			if (!perfetto->error)
				perfetto->error = ENOMEM;
			return;
		}
		if (fwrite(room, 1, out.pos, perfetto->stream) != out.pos && !perfetto->error)
			perfetto->error = errno ? errno : EIO;
	} while (in.pos < in.size || (last && left));
}

/*
 * Write one packet. A trace with one packet has the same bytes as that packet in a longer
 * trace.
 */
static void put_packet(struct perfetto *perfetto, Perfetto__Protos__TracePacket *packet)
{
	Perfetto__Protos__Trace trace = PERFETTO__PROTOS__TRACE__INIT;
	size_t size;

	if (perfetto->error)
		return;
	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = SEQUENCE;
	trace.n_packet = 1;
	trace.packet = &packet;
	size = perfetto__protos__trace__get_packed_size(&trace);
	if (size > perfetto->packet_room) {
		u8 *grown = realloc(perfetto->packet, 2 * size);

		if (!grown) {
			perfetto->error = ENOMEM;
			return;
		}
		perfetto->packet = grown;
		perfetto->packet_room = 2 * size;
	}
	perfetto__protos__trace__pack(&trace, perfetto->packet);
	put(perfetto, perfetto->packet, size, false);
}

void perfetto_begin(struct perfetto *perfetto, FILE *stream, bool compress)
{
	*perfetto = (struct perfetto){ .stream = stream };
	if (!compress)
		return;
	perfetto->zstd = ZSTD_createCStream();
	if (!perfetto->zstd)
		perfetto->error = ENOMEM;
	else
		ZSTD_CCtx_setParameter(perfetto->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
}

int perfetto_end(struct perfetto *perfetto)
{
	if (perfetto->zstd && !perfetto->error)
		put(perfetto, "", 0, true);
	ZSTD_freeCStream(perfetto->zstd);
	free(perfetto->packet);
	return perfetto->error;
}

/* Make a track of any kind. */
static u64 put_descriptor(struct perfetto *perfetto, u64 group, const char *name,
			  Perfetto__Protos__ProcessDescriptor *process,
			  Perfetto__Protos__CounterDescriptor *counter)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	track.has_uuid = true;
	track.uuid = ++perfetto->tracks;
	track.name = (char *)name;
	track.has_parent_uuid = group != 0;
	track.parent_uuid = group;
	track.process = process;
	track.counter = counter;
	packet.track_descriptor = &track;
	packet.has_sequence_flags = track.uuid == 1;
	packet.sequence_flags = CLEARED;
	put_packet(perfetto, &packet);
	return track.uuid;
}

u64 perfetto_group(struct perfetto *perfetto, const char *name)
{
	Perfetto__Protos__ProcessDescriptor process =
		PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;

	process.has_pid = true;
	process.pid = (int32_t)perfetto->tracks + 1;
	process.process_name = (char *)name;
	return put_descriptor(perfetto, 0, name, &process, NULL);
}

u64 perfetto_track(struct perfetto *perfetto, u64 group, const char *name)
{
	return put_descriptor(perfetto, group, name, NULL, NULL);
}

u64 perfetto_counter(struct perfetto *perfetto, u64 group, const char *name,
		     enum perfetto_unit unit)
{
	Perfetto__Protos__CounterDescriptor counter =
		PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;

	counter.has_unit = true;
	counter.unit = unit == PERFETTO_BYTES ?
			       PERFETTO__PROTOS__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES :
			       PERFETTO__PROTOS__COUNTER_DESCRIPTOR__UNIT__UNIT_COUNT;
	return put_descriptor(perfetto, group, name, NULL, &counter);
}

static void put_event(struct perfetto *perfetto, u64 date_ns,
		      Perfetto__Protos__TrackEvent *event, u64 track,
		      Perfetto__Protos__TrackEvent__Type type)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	event->has_type = true;
	event->type = type;
	event->has_track_uuid = true;
	event->track_uuid = track;
	packet.has_timestamp = true;
	packet.timestamp = date_ns;
	packet.track_event = event;
	put_packet(perfetto, &packet);
}

static void put_named(struct perfetto *perfetto, u64 track, u64 date_ns, const char *name,
		      const struct perfetto_more *more, Perfetto__Protos__TrackEvent__Type type)
{
	Perfetto__Protos__TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	Perfetto__Protos__DebugAnnotation text = PERFETTO__PROTOS__DEBUG_ANNOTATION__INIT;
	Perfetto__Protos__DebugAnnotation numbers[PERFETTO_NUMBERS];
	Perfetto__Protos__DebugAnnotation *annotations[1 + PERFETTO_NUMBERS];
	static const struct perfetto_more nothing;
	char *category;
	uint64_t flow;

	more = more ? more : &nothing;
	category = (char *)more->category;
	flow = more->flow;
	event.name = (char *)name;
	event.debug_annotations = annotations;
	if (more->key) {
		text.name = (char *)more->key;
		text.string_value = (char *)more->text;
		annotations[event.n_debug_annotations++] = &text;
	}
	for (int i = 0; i < PERFETTO_NUMBERS && more->numbers[i].key; i++) {
		perfetto__protos__debug_annotation__init(&numbers[i]);
		numbers[i].name = (char *)more->numbers[i].key;
		numbers[i].has_uint_value = true;
		numbers[i].uint_value = more->numbers[i].value;
		annotations[event.n_debug_annotations++] = &numbers[i];
	}
	if (category) {
		event.n_categories = 1;
		event.categories = &category;
	}
	if (flow) {
		event.n_flow_ids = 1;
		event.flow_ids = &flow;
	}
	event.n_terminating_flow_ids = more->flows_end_count;
	event.terminating_flow_ids = (uint64_t *)more->flows_end;
	put_event(perfetto, date_ns, &event, track, type);
}

void perfetto_slice_begin(struct perfetto *perfetto, u64 track, u64 date_ns, const char *name,
			  const struct perfetto_more *more)
{
	put_named(perfetto, track, date_ns, name, more,
		  PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN);
}

void perfetto_slice_end(struct perfetto *perfetto, u64 track, u64 date_ns)
{
	Perfetto__Protos__TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;

	put_event(perfetto, date_ns, &event, track,
		  PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END);
}

void perfetto_instant(struct perfetto *perfetto, u64 track, u64 date_ns, const char *name,
		      const struct perfetto_more *more)
{
	put_named(perfetto, track, date_ns, name, more,
		  PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT);
}

void perfetto_value(struct perfetto *perfetto, u64 counter, u64 date_ns, u64 value)
{
	Perfetto__Protos__TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;

	event.has_counter_value = true;
	event.counter_value = (int64_t)value;
	put_event(perfetto, date_ns, &event, counter,
		  PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER);
}
