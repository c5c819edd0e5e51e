// SPDX-License-Identifier: MIT OR GPL-2.0
/* Shares of kernels that run side by side; see beside.h for the rules. */
#include "fifo/beside.h"

#include "fifo/memory.h"

/* Does a loaded TSG execute, or wait for its faults, right now? */
static bool tsg_is_active(const struct fifo_tsg *tsg)
{
	return tsg->first && !tsg->entry->runlist->switching &&
	       (tsg->stalled || tsg_work_date(tsg) <= eng_now());
}

/*
 * Max-min: share @total among @count users that want @wants, and replace each want by its
 * share. Users that want no more than their part of the rest, by @weights, get all they want.
 * When no such user is left, the others get their parts, in whole ppm. Weights are at least 1.
 */
static void share_max_min(u32 total, u32 *wants, const u64 *weights, u32 count)
{
	u64 satisfied = 0;	      /* set of the users that have got all they want */
	unsigned __int128 weight = 0; /* of the others */
	u64 wanted = 0;
	bool again = true;

	for (u32 i = 0; i < count; i++) {
		weight += weights[i];
		wanted += wants[i];
	}
	if (wanted <= total)
		return;
	while (again) {
		again = false;
		for (u32 i = 0; i < count; i++) {
			if (satisfied & 1ull << i ||
			    wants[i] * weight > (unsigned __int128)total * weights[i])
				continue;
			satisfied |= 1ull << i;
			total -= wants[i];
			weight -= weights[i];
			again = true;
		}
	}
	for (u32 i = 0; i < count; i++)
		if (!(satisfied & 1ull << i))
			wants[i] = (u32)((unsigned __int128)total * weights[i] / weight);
}

/* A kernel on a partition, and what it is given. */
struct beside_user {
	struct fifo_burst *burst;
	u32 turn;  /* part of what it wants that it is given: of the time, it is on its SMs */
	u32 speed; /* that it is given */
	u32 priority;
	u32 sms;      /* that its TSG may have */
	bool limited; /* not all of the partition's */
	bool stalled;
};

/* The part of a burst's time at full speed in which blocks of it run. */
static u64 burst_busy(const struct fifo_burst *burst)
{
	return burst->sm_busy_ppm ? burst->sm_busy_ppm : FIFO_ALL_PPM;
}

/* The part of it in which they only start and end. */
static u32 burst_fixed(const struct fifo_burst *burst)
{
	return min(burst->sm_fixed_ppm, (u32)burst_busy(burst));
}

/* Turns of a burst's kernels, as a mean. */
static u32 burst_turns(const struct fifo_burst *burst)
{
	return burst->sm_turns_ppm ? burst->sm_turns_ppm : FIFO_ALL_PPM;
}

/* The part of a burst's time in which it holds SMs. A small kernel holds hardly any. */
static u64 burst_holds(const struct fifo_burst *burst)
{
	u32 fixed = burst_fixed(burst);

	return burst_busy(burst) - fixed + beside_part(fixed, burst_turns(burst));
}

/*
 * The claim of a kernel that may have @limit of the SMs. For part of its time no block of it
 * runs, and for another part its blocks only start and end. A limit lengthens neither: with
 * less than it needs it takes
 *
 *     (1 - busy) + fixed + (busy - fixed) * need / limit
 *
 * of its time. Its blocks hold what they can fill, which may be more than it needs.
 */
static struct fifo_claim claim_of(const struct fifo_burst *burst, u32 limit, u32 bandwidth)
{
	u32 fills = burst->sm_ppm ? burst->sm_ppm : FIFO_ALL_PPM;
	u32 need = burst->sm_need_ppm ? min(burst->sm_need_ppm, fills) : fills;
	u32 busy = (u32)burst_busy(burst);
	u32 fixed = burst_fixed(burst);
	u64 holds = burst_holds(burst); /* of the time at full speed, for which SMs are held */
	struct fifo_claim claim = {
		.fills = min(fills, limit),
		.need = min(need, limit),
		.wants = max(beside_part(min(fills, limit), (u32)holds), 1u),
		.top = FIFO_ALL_PPM,
		.rate = FIFO_ALL_PPM,
		.fixed = fixed,
	};
	u64 drawn;

	if (limit < need) {
		u64 works = (u64)(busy - fixed) * need / limit;
		u64 time = FIFO_ALL_PPM - busy + fixed + works;

		holds = beside_part(fixed, burst_turns(burst)) + works;
		claim.wants = max((u32)(limit * holds / time), 1u);
		claim.top = (u32)((u64)FIFO_ALL_PPM * FIFO_ALL_PPM / time);
		claim.fixed = beside_part(fixed, claim.top);
		claim.rate = (u32)((u64)limit * FIFO_ALL_PPM / need);
	}
	claim.turn_ns = max(fifo_mul_div(burst->kernel_ns, claim.fills * holds,
					 (u64)FIFO_ALL_PPM * FIFO_ALL_PPM),
			    1ull);
	claim.rate = min(claim.rate, bandwidth);
	drawn = beside_part(burst->bandwidth_ppm, claim.top);
	claim.memory_time = (u32)min(drawn * FIFO_ALL_PPM / claim.rate, (u64)FIFO_ALL_PPM);
	return claim;
}

/* The kernels that are on the SMs. Returns their number. */
static u32 beside_collect(const struct fifo_partition *partition, bool alone,
			  struct beside_user *users)
{
	const struct fifo_share *share = &partition->share;
	const struct fifo_tsg *tsg;
	u32 count = 0;

	fifo_for_each_loaded(partition->runlist.current, tsg) {
		struct fifo_burst *burst = tsg->first;

		if (!burst)
			continue;
		burst->speed_ppm = 0;
		if (!alone && !tsg_is_active(tsg))
			continue;
		if (!burst->claim.turn_ns)
			burst->claim = claim_of(burst, min(tsg->sm_limit_ppm, share->sm_ppm),
						share->bandwidth_ppm);
		users[count++] = (struct beside_user){
			.burst = burst,
			.turn = FIFO_ALL_PPM,
			.priority = tsg->sm_priority,
			.sms = min(tsg->sm_limit_ppm, share->sm_ppm),
			.limited = tsg->sm_limit_ppm < share->sm_ppm,
			.stalled = tsg->stalled,
		};
	}
	return count;
}

/*
 * The weight of @user: for how long it holds the SMs until it has to wait for a turn. A small
 * kernel takes only a part of a turn where the blocks of the others leave room.
 */
static u64 user_weight(const struct beside_user *users, u32 count, u32 i)
{
	const struct fifo_burst *burst = users[i].burst;
	u64 turns = burst_turns(burst);
	unsigned __int128 all_ns = 0, open_ns = 0, weight = burst->claim.turn_ns;

	if (turns < FIFO_ALL_PPM)
		for (u32 j = 0; j < count; j++) {
			u64 turn_ns = j == i ? 0 : users[j].burst->claim.turn_ns;

			all_ns += turn_ns;
			open_ns += (unsigned __int128)turn_ns * users[j].burst->sm_open_ppm;
		}
	if (!all_ns)
		return (u64)weight;
	turns = FIFO_ALL_PPM - (FIFO_ALL_PPM - turns) * (u64)(open_ns / all_ns) / FIFO_ALL_PPM;
	/* A long kernel with a tiny part of a turn would need more than 64 bits. */
	return (u64)min(weight * FIFO_ALL_PPM / turns, (unsigned __int128)U64_MAX);
}

/* The part of @user's time on its SMs in which @other is on its own, too. */
static u32 user_overlap(const struct beside_user *user, const struct beside_user *other)
{
	u32 both = user->turn + other->turn;

	return both > FIFO_ALL_PPM ?
		       (u32)((u64)(both - FIFO_ALL_PPM) * FIFO_ALL_PPM / user->turn) :
		       0;
}

/* SMs of clients with limits are not quite apart: such a kernel is slower beside others. */
static void beside_slow_limited(struct beside_user *users, u32 count, u32 speed)
{
	if (!speed)
		return;
	for (u32 i = 0; i < count; i++) {
		u32 beside = 0;

		if (!users[i].limited)
			continue;
		for (u32 j = 0; j < count; j++)
			if (j != i)
				beside += user_overlap(&users[i], &users[j]);
		beside = min(beside, FIFO_ALL_PPM);
		users[i].speed -=
			beside_part(users[i].speed, beside_part(beside, FIFO_ALL_PPM - speed));
	}
}

/* ppm of its time in which a kernel draws memory: none while it waits for its faults. */
static u32 user_memory_time(const struct beside_user *user)
{
	return user->stalled ? 0 : user->burst->claim.memory_time;
}

/*
 * How much longer a kernel takes, in ppm, as others keep the memory busy, too, while it is on its
 * SMs. @total is the bandwidth. Latencies of its start and its end are twice as long then.
 */
static u64 user_longer_ppm(const struct beside_user *users, u32 count, u32 i, u32 total)
{
	const struct fifo_claim *claim = &users[i].burst->claim;
	u64 longer = 0;	 /* ppm of the time that it draws memory */
	u64 waiting = 0; /* ppm of the time in which it starts and ends */

	for (u32 j = 0; j < count; j++) {
		u32 rates = claim->rate + users[j].burst->claim.rate, both;

		if (j == i)
			continue;
		both = beside_part(user_memory_time(&users[j]),
				   user_overlap(&users[i], &users[j]));
		waiting += both;
		if (rates > total)
			longer += beside_part(both, rates - total);
	}
	/* The memory is busy or it is not, with however many of them. */
	waiting = min(waiting, (u64)FIFO_ALL_PPM);
	return longer * user_memory_time(&users[i]) / FIFO_ALL_PPM +
	       waiting * claim->fixed / FIFO_ALL_PPM;
}

/*
 * A kernel with a limit runs beside those of others all of its time. So it holds its SMs for
 * longer where memory bounds both. Turns are not known yet: all of them count.
 */
static void beside_weigh_limited(const struct beside_user *users, u64 *weights, u32 count,
				 u32 total)
{
	for (u32 i = 0; i < count; i++)
		if (users[i].limited)
			weights[i] = fifo_mul_div(weights[i],
						  FIFO_ALL_PPM + user_longer_ppm(users, count,
										 i, total),
						  FIFO_ALL_PPM);
}

/* Memory, kernel by kernel: each is slower while others keep the memory busy, too. */
static void beside_slow_drawing(struct beside_user *users, u32 count, u32 total)
{
	for (u32 i = 0; i < count; i++)
		users[i].speed =
			(u32)((u64)users[i].speed * FIFO_ALL_PPM /
			      (FIFO_ALL_PPM + user_longer_ppm(users, count, i, total)));
}

/* Memory as a whole: together the kernels draw no more than @total. */
static void beside_share_bandwidth(struct beside_user *users, u32 count, u32 total)
{
	static const u64 equal[FIFO_CHANNELS_MAX] = { [0 ... FIFO_CHANNELS_MAX - 1] = 1 };
	u32 drawn[FIFO_CHANNELS_MAX];

	for (u32 i = 0; i < count; i++)
		drawn[i] = users[i].stalled ?
				   0 :
				   beside_part(users[i].burst->bandwidth_ppm, users[i].speed);
	share_max_min(total, drawn, equal, count);
	for (u32 i = 0; i < count; i++) {
		u32 bandwidth = users[i].burst->bandwidth_ppm;

		if (!users[i].stalled && drawn[i] < beside_part(bandwidth, users[i].speed))
			users[i].speed = (u32)((u64)drawn[i] * FIFO_ALL_PPM / bandwidth);
	}
}

/*
 * How much longer a kernel of @user takes if one of @other holds its SMs when it comes: until
 * the end of that one, half of it as a mean, it runs on what is left of @total.
 */
static u64 user_wait_ns(const struct beside_user *user, const struct beside_user *other,
			u32 total)
{
	const struct fifo_claim *claim = &user->burst->claim;
	u64 rest_ns = fifo_mul_div(other->burst->kernel_ns, burst_busy(other->burst),
				   2ull * FIFO_ALL_PPM);
	u64 own_ns =
		fifo_mul_div(user->burst->kernel_ns, burst_busy(user->burst), FIFO_ALL_PPM);
	u64 left = total > other->burst->claim.fills ? total - other->burst->claim.fills : 0;

	if (left >= claim->need)
		return 0;
	rest_ns = fifo_mul_div(rest_ns, claim->need - left, claim->need);
	return left ? min(rest_ns, fifo_mul_div(own_ns, claim->need - left, left)) : rest_ns;
}

/*
 * The speed of a kernel that comes at any time, beside those that hold SMs for a part of it. One
 * without a pause before it comes when the one before it ends: then kernels take turns.
 */
static u32 user_speed_by_waits(const struct beside_user *users, u32 count, u32 i, u32 total)
{
	u64 kernel_ns = users[i].burst->kernel_ns, wait_ns = 0;

	for (u32 j = 0; j < count; j++)
		if (j != i && users[j].priority <= users[i].priority)
			wait_ns += fifo_mul_div(user_wait_ns(&users[i], &users[j], total),
						burst_busy(users[j].burst), FIFO_ALL_PPM);
	wait_ns =
		fifo_mul_div(wait_ns, FIFO_ALL_PPM - burst_busy(users[i].burst), FIFO_ALL_PPM);
	return (u32)max(fifo_mul_div(kernel_ns, FIFO_ALL_PPM, kernel_ns + wait_ns), 1ull);
}

/* The SMs of @total that the limits of others leave at all times. */
static u32 user_floor(const struct beside_user *users, u32 count, u32 i, u32 total)
{
	for (u32 j = 0; j < count; j++)
		if (j != i && users[j].priority <= users[i].priority)
			total -= min(total, users[j].sms);
	return total;
}

/*
 * Turn and speed of a kernel that gets @sms of the SMs that it wants, as a mean. Without a floor
 * it has all of them for part of the time, and none else. With one it has the floor else.
 */
static void user_take(struct beside_user *user, u32 sms, u32 floor)
{
	const struct fifo_claim *claim = &user->burst->claim;
	struct fifo_claim least;
	u32 all;

	user->turn = max((u32)((u64)sms * FIFO_ALL_PPM / claim->wants), 1u);
	user->speed = beside_part(claim->top, user->turn);
	if (!floor || sms >= claim->wants)
		return;
	least = claim_of(user->burst, min(floor, claim->fills), FIFO_ALL_PPM);
	all = sms > least.wants && claim->wants > least.wants ?
		      (u32)((u64)(sms - least.wants) * FIFO_ALL_PPM /
			    (claim->wants - least.wants)) :
		      0;
	user->turn = FIFO_ALL_PPM;
	user->speed = least.top + beside_part(claim->top - least.top, all);
}

/* SMs: kernels of lower priority share what those of higher priority leave of @total. */
static void beside_share_sms(struct beside_user *users, const u64 *weights, u32 count,
			     u32 total)
{
	u32 left = total;

	for (u32 priority = 0; priority < FIFO_SM_PRIORITIES; priority++) {
		u32 sms[FIFO_CHANNELS_MAX], at[FIFO_CHANNELS_MAX], members = 0;
		u64 weight[FIFO_CHANNELS_MAX];

		for (u32 i = 0; i < count; i++) {
			if (users[i].priority != priority)
				continue;
			at[members] = i;
			sms[members] = users[i].burst->claim.wants;
			weight[members++] = weights[i];
		}
		if (!members)
			continue;
		share_max_min(left, sms, weight, members);
		for (u32 i = 0; i < members; i++) {
			user_take(&users[at[i]], sms[i],
				  user_floor(users, count, at[i], total));
			left -= sms[i];
		}
	}
}

/*
 * Is it the one TSG that is loaded, and does no share bound its burst? So it is in time slicing
 * on a whole GPU, where nothing has to be shared out.
 */
static bool tsg_has_all(const struct fifo_partition *partition, const struct fifo_tsg *tsg)
{
	const struct fifo_share *share = &partition->share;

	return !tsg->sibling && tsg->first && tsg->sm_limit_ppm == FIFO_ALL_PPM &&
	       share->sm_ppm == FIFO_ALL_PPM &&
	       tsg->first->bandwidth_ppm <= share->bandwidth_ppm;
}

void beside_set_speeds(struct fifo_partition *partition, bool alone)
{
	struct beside_user users[FIFO_CHANNELS_MAX];
	u64 weights[FIFO_CHANNELS_MAX];
	const struct fifo_share *share = &partition->share;
	const struct fifo_entry *current = partition->runlist.current;
	u32 count;

	if (current && tsg_has_all(partition, current->tsgs)) {
		current->tsgs->first->speed_ppm = 0;
		return;
	}
	count = beside_collect(partition, alone, users);
	/* A kernel without neighbours that can have all it needs, as on a part of a GPU. */
	if (count == 1 && users[0].burst->claim.top == FIFO_ALL_PPM &&
	    users[0].burst->bandwidth_ppm <= share->bandwidth_ppm)
		return;
	for (u32 i = 0; i < count; i++)
		weights[i] = user_weight(users, count, i);
	beside_weigh_limited(users, weights, count, share->bandwidth_ppm);
	beside_share_sms(users, weights, count, share->sm_ppm);
	for (u32 i = 0; i < count; i++)
		users[i].speed = min(users[i].speed,
				     user_speed_by_waits(users, count, i, share->sm_ppm));
	beside_slow_limited(users, count, partition->fifo->config.limited_speed_ppm);
	beside_slow_drawing(users, count, share->bandwidth_ppm);
	beside_share_bandwidth(users, count, share->bandwidth_ppm);
	for (u32 i = 0; i < count; i++)
		users[i].burst->speed_ppm = max(users[i].speed, 1u);
}
