// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The rate controller of TGS; see tgs_rate.h.
 *
 * It is limit_manager() and update_rate_limit() of the public code (github.com/pkusys/TGS,
 * e1c6a31, hijack/src/low_priority_hijack_call.c; numbers are lines of that file). There, rates
 * are doubles; here, integers: a product is rounded down.
 */
#include "systems/tgs_rate.h"

#define INITIAL_LIMIT 20000ull		   /* 45 */
#define STEP_MIN      1000ull		   /* 46: RATE_MIN */
#define UPPER_LIMIT   100000000000000ull   /* 262, 381 */
#define SLOW_LIMIT    (1ull << 40)	   /* 274 */
#define CONTROL_LIMIT (1ull << 32)	   /* 286, 291, 502 */
#define NEAR_PPM      30000		   /* 263: of the highest rate */
#define FAR_PPM	      120000		   /* 303 */
#define FAR_MESSAGES  20		   /* 305 */
#define PROFILE_COUNT 5			   /* 413 */
#define ZERO_RATE     1000ull		   /* 488: less counts as none */
#define ZEROS_MAX     (TGS_WINDOW / 5 * 2) /* 493 */
#define SETTLE_COUNT  15		   /* 493 */
#define PPM	      1000000
#define DEVIATION_MAX (1000ll * PPM)

/*
 * By how much @rate is above @from, in ppm of @from. At most DEVIATION_MAX, which is beyond all
 * thresholds; a rate above 0 is that far from 0.
 */
static s64 deviation_ppm(u64 rate, u64 from)
{
	u64 distance = rate > from ? rate - from : from - rate;
	s64 ppm;

	if (!distance)
		return 0;
	if (!from || distance / from >= DEVIATION_MAX / PPM)
		return DEVIATION_MAX;
	ppm = (s64)((unsigned __int128)distance * PPM / from);
	return rate > from ? ppm : -ppm;
}

static void rate_start(struct tgs_rate *rate, u64 limit)
{
	rate->limit = limit; /* 248 */
	rate->state = TGS_SLOW_START;
}

/* 365: the newest rate is not in it. */
u64 tgs_shift_window(u64 *rates, u64 rate)
{
	u64 most = 0;

	for (u32 i = TGS_WINDOW - 1; i > 0; i--) {
		most = max(most, (rates[i] + rates[i - 1]) / 2);
		rates[i] = rates[i - 1];
	}
	rates[0] = rate;
	return most;
}

void tgs_rate_connect(struct tgs_rate *rate, u64 max_rate)
{
	*rate = (struct tgs_rate){ .max_rate = max_rate }; /* 399 to 415 */
}

/* Move the highest rate towards @most, the highest of the window, where they differ much. */
static void rate_follow(struct tgs_rate *rate, u64 most, s64 deviation)
{
	if (deviation > 0)
		rate->max_rate = max(rate->max_rate, most * 975 / 1000); /* 439, 469 */
	else
		rate->max_rate = min(rate->max_rate, most * 1025 / 1000); /* 443, 473 */
}

/* 418 to 448 */
static void rate_profile(struct tgs_rate *rate, u64 most)
{
	s64 deviation = deviation_ppm(most, rate->max_rate);
	bool same = rate->max_rate && deviation >= -50000 && deviation <= 50000;

	if (same) {
		rate->max_rate = max(rate->max_rate, most);
		rate->profile_on = rate->max_rate == most;
	} else {
		rate_follow(rate, most, deviation);
		rate->profile_on = true;
	}
	if (++rate->profiled >= PROFILE_COUNT && !rate->profile_on)
		rate->mode = TGS_CONTROL;
}

/* In 261 to 320: the limit grows by halves, until the rate is no longer near the highest. */
static void rate_start_slowly(struct tgs_rate *rate, u64 ppm, u64 launched)
{
	if (ppm <= NEAR_PPM) {
		rate->limit = min(rate->limit * 3 / 2 + 1, max(3 * launched, SLOW_LIMIT));
		return;
	}
	rate->limit = rate->limit * 2 / 3;
	rate->rose = false;
	rate->state = TGS_CONGESTION_AVOIDANCE;
}

/* In 261 to 320: the limit goes up by a small step, or down by a large one. */
static void rate_avoid_congestion(struct tgs_rate *rate, u64 ppm, u64 launched)
{
	bool near = rate->rose ? ppm < NEAR_PPM : ppm <= NEAR_PPM;

	if (near)
		rate->limit += max(rate->max_rate / 4000, STEP_MIN);
	else
		rate->limit -= min(rate->limit, max(rate->limit * 8 / 100, STEP_MIN));
	rate->limit = min(rate->limit, max(3 * launched, CONTROL_LIMIT));
	rate->rose = near;
	if (ppm >= 3 * NEAR_PPM) {
		rate->state = TGS_SLOW_START;
		rate->limit /= 10;
	}
}

/* 261 to 320 */
static void rate_update(struct tgs_rate *rate, u64 blocks, u64 launched)
{
	s64 signed_ppm = deviation_ppm(blocks, rate->max_rate);
	u64 ppm = (u64)(signed_ppm < 0 ? -signed_ppm : signed_ppm);

	if (rate->state == TGS_SLOW_START)
		rate_start_slowly(rate, ppm, launched);
	else
		rate_avoid_congestion(rate, ppm, launched);
	rate->limit = min(rate->limit, UPPER_LIMIT);
	rate->far_in_a_row = ppm >= FAR_PPM ? rate->far_in_a_row + 1 : 0;
	if (rate->far_in_a_row == FAR_MESSAGES) {
		rate->far_in_a_row = 0;
		rate->max_rate = rate->max_rate * 8 / 10;
		rate_start(rate, rate->limit / 2);
	}
}

/* 463 to 505 */
static void rate_control(struct tgs_rate *rate, u64 most, u64 blocks, u64 launched)
{
	s64 deviation = deviation_ppm(most, rate->max_rate);
	u32 zeros = 0;

	if (deviation >= -100000 && deviation <= 100000) {
		rate->max_rate = max(rate->max_rate, most);
	} else if (deviation > 200000 || deviation < -200000) {
		rate_follow(rate, most, deviation);
		rate->mode = TGS_PROFILE;
		rate->profiled = 0;
		return;
	}
	if (++rate->controlled == 1) {
		rate_start(rate, INITIAL_LIMIT);
		return;
	}
	for (u32 i = 0; i < TGS_WINDOW; i++)
		zeros += rate->rates[i] < ZERO_RATE;
	if (zeros > ZEROS_MAX && rate->controlled >= SETTLE_COUNT)
		rate_start(rate, min(UPPER_LIMIT, max(3 * launched, CONTROL_LIMIT)));
	else if (zeros == 2 && rate->controlled > SETTLE_COUNT)
		rate_start(rate, INITIAL_LIMIT);
	else
		rate_update(rate, blocks, launched);
}

void tgs_rate_message(struct tgs_rate *rate, u64 blocks, u64 launched)
{
	u64 most;

	blocks = max(blocks, 1ull); /* 428, 460 */
	most = tgs_shift_window(rate->rates, blocks);
	if (rate->mode == TGS_PROFILE)
		rate_profile(rate, most);
	else
		rate_control(rate, most, blocks, launched);
}
