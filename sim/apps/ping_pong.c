// SPDX-License-Identifier: MIT OR GPL-2.0
#include "apps/ping_pong.h"

static void number_move(struct ping_pong *play, struct fabric_transfer *moved)
{
	if (play->stops)
		return;
	play->under_way++;
	fabric_begin(play->fabric, moved);
}

/* A write or a poll has ended. After a failure none begins again. */
static void number_moved(struct ping_pong *play, const struct fabric_transfer *moved)
{
	play->under_way--;
	if (moved->status && !play->status)
		play->status = moved->status;
	if (play->status)
		play->stops = true;
	if (play->stops)
		eng_wake_all(&play->waitq);
}

/* The number of the other side is where this one looks, or has been told. */
static void number_seen(struct ping_pong *play, u32 side)
{
	play->written_ps[side] = 0;
	if (side) {
		number_move(play, &play->write[side]);
		return;
	}
	play->seen = true;
	eng_wake_all(&play->waitq);
}

static void number_written(struct fabric_transfer *write)
{
	struct ping_pong *play = write->data;
	u32 other = write == &play->write[0];

	number_moved(play, write);
	play->written_ps[other] = play->fabric->now_ps;
	if (!play->polls)
		number_seen(play, other);
}

static void number_polled(struct fabric_transfer *poll)
{
	struct ping_pong *play = poll->data;
	u32 side = poll == &play->poll[1];

	number_moved(play, poll);
	if (play->written_ps[side] && play->written_ps[side] <= poll->served_ps)
		number_seen(play, side);
	number_move(play, poll);
}

void ping_pong_begin(struct ping_pong *play, struct fabric *fabric, bool polls,
		     const struct ping_pong_side sides[2])
{
	*play = (struct ping_pong){ .fabric = fabric, .polls = polls };
	for (u32 i = 0; i < 2; i++) {
		play->write[i] = (struct fabric_transfer){
			.from = sides[i].device,
			.address = sides[i].write,
			.bytes = PING_PONG_BYTES,
			.on_end = number_written,
			.data = play,
		};
		play->poll[i] = (struct fabric_transfer){
			.from = sides[i].device,
			.address = sides[i].poll,
			.bytes = PING_PONG_BYTES,
			.read = true,
			.on_end = number_polled,
			.data = play,
		};
	}
	for (u32 i = 0; polls && i < 2; i++)
		number_move(play, &play->poll[i]);
}

int ping_pong_round(struct ping_pong *play)
{
	int status = 0;

	play->seen = false;
	number_move(play, &play->write[0]);
	while (!status && !play->seen && !play->status)
		status = eng_wait(&play->waitq, ENG_NEVER, true);
	return play->status ? play->status : status;
}

void ping_pong_end(struct ping_pong *play)
{
	play->stops = true;
	while (play->under_way)
		(void)eng_wait(&play->waitq, ENG_NEVER, false);
}
