/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The rate controller of TGS: how many thread blocks the low-priority process may launch in a
 * window, by the blocks that the high-priority process launches. Pure arithmetic, in integers.
 */
#ifndef SIM_SYSTEMS_TGS_RATE_H
#define SIM_SYSTEMS_TGS_RATE_H

#include "gvm/port.h"

/* Rates that both sides remember. low_priority_hijack_call.c:411 */
#define TGS_WINDOW 5

enum tgs_mode {
	TGS_PROFILE, /* the highest rate of the high-priority process is being measured */
	TGS_CONTROL,
};

enum tgs_state {
	TGS_START, /* no limit was set yet */
	TGS_SLOW_START,
	TGS_CONGESTION_AVOIDANCE,
};

/* All-zero, then tgs_rate_connect(). Rates are blocks in 5 s. */
struct tgs_rate {
	u64 limit;	       /* blocks in a window of 50 ms */
	u64 max_rate;	       /* of the high-priority process, alone */
	u64 rates[TGS_WINDOW]; /* the last ones, the newest first */
	enum tgs_mode mode;
	enum tgs_state state;
	u32 profiled;	  /* messages in this profile */
	bool profile_on;  /* it goes on after as many messages as it takes */
	u32 controlled;	  /* messages since the connection, outside of profiles */
	bool rose;	  /* the last step of congestion avoidance raised the limit */
	u32 far_in_a_row; /* messages whose rate is far from the highest */
};

/* The highest mean of two rates in a row; then @rate becomes the newest one. */
u64 tgs_shift_window(u64 *rates, u64 rate);

/* The high-priority process connects and says its highest rate so far. */
void tgs_rate_connect(struct tgs_rate *rate, u64 max_rate);

/*
 * It says how many blocks it has launched in the last 5 s. @launched: by the low-priority
 * process, in its last window.
 */
void tgs_rate_message(struct tgs_rate *rate, u64 blocks, u64 launched);

#endif
