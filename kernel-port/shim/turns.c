// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Turns on the GPU without a kernel module: RM's control calls set and read the timeslice of a
 * channel group: NVA06C_CTRL_CMD_SET_TIMESLICE 0xa06c0103 and GET 0xa06c0104 (ctrla06c.h). They
 * are the same in 535 to 595. Measured on an H200 with driver 580: 16 us to 131 ms were read back
 * and in force, and no root was needed.
 */
#include <unistd.h>

#include "rm.h"

#define RM_SET_TIMESLICE 0xa06c0103u
#define RM_GET_TIMESLICE 0xa06c0104u

static _Atomic bool due;
static _Atomic bool told;

u32 turns_groups(void)
{
	u32 count, groups = 0;
	const struct rm_object *objects = rm_lock_objects(&count);

	for (u32 i = 0; i < count; i++)
		groups += objects[i].kind == RM_GROUP;
	rm_unlock_objects();
	return groups;
}

bool turns_due(void)
{
	return due && shim_settings.timeslice_us;
}

void turns_group_made(void)
{
	due = true;
}

void turns_changed(void)
{
	u32 count;
	struct rm_object *objects = rm_lock_objects(&count);

	for (u32 i = 0; i < count; i++)
		objects[i].due = objects[i].kind == RM_GROUP;
	rm_unlock_objects();
	due = true;
	told = false;
}

/* Set a group's timeslice and read it back into *ret_us. Returns 0 or RM's status. */
static u32 set(const struct rm_object *group, u64 wanted, u64 *ret_us)
{
	u32 status;

	*ret_us = wanted;
	status = rm_control(group, group->object, RM_SET_TIMESLICE, ret_us, sizeof(*ret_us));
	*ret_us = 0;
	return status ? status :
			rm_control(group, group->object, RM_GET_TIMESLICE, ret_us,
				   sizeof(*ret_us));
}

/* @status: 0 if the driver took another one, @us. */
static void tell_not_set(u32 count, u64 wanted, u32 status, u64 us)
{
	if (status)
		shim_warn("the timeslice of %u channel groups cannot be set (status 0x%x)%s",
			  count, status, geteuid() ? ": it may need root" : "");
	else
		shim_warn("the timeslice of %u channel groups is %llu us and not %llu us: the "
			  "driver has chosen it",
			  count, us, wanted);
}

void turns_apply(void)
{
	u64 wanted = shim_settings.timeslice_us;
	u64 other_us = 0;
	u32 done = 0;
	u32 wrong = 0;
	u32 tried = 0;
	struct rm_object *objects;
	u32 count;

	due = false;
	objects = rm_lock_objects(&count);
	for (u32 i = 0; i < count; i++) {
		u32 status;
		u64 us;

		if (!objects[i].due)
			continue;
		objects[i].due = false;
		tried++;
		status = set(&objects[i], wanted, &us);
		if (!status && us == wanted) {
			done++;
			continue;
		}
		wrong = status;
		other_us = us;
	}
	rm_unlock_objects();
	if (tried)
		shim_log("timeslice %llu us set and read back on %u of %u new channel groups",
			 wanted, done, tried);
	if (done < tried && !told) {
		told = true;
		tell_not_set(tried - done, wanted, wrong, other_us);
	}
}

void turns_reset(void)
{
	due = false;
}
