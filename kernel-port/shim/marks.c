// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Events on a stream, which say how many of its launches have ended; see shim.h.
 *
 * An event that is recorded after a full queue is passed a whole queue later. So several are
 * under way at a time, a look of the worker apart. With one alone an eager framework's 1022
 * queued kernels were reported as 1022 to 2044.
 */
#include "shim.h"

static struct shim_mark *mark_at(struct shim_marks *marks, u32 index)
{
	return &marks->ring[(marks->first + index) % SHIM_MARKS];
}

static bool record(const struct shim_real *real, struct shim_mark *mark,
		   struct CUstream_st *stream, u64 launches)
{
	if (!mark->event && real->cuEventCreate(&mark->event, CU_EVENT_NO_TIMING) != CU_OK) {
		mark->event = NULL;
		return false;
	}
	if (real->cuEventRecord(mark->event, stream) != CU_OK)
		return false;
	mark->launches = launches;
	return true;
}

bool marks_add(const struct shim_real *real, struct shim_marks *marks,
	       struct CUstream_st *stream, u64 launches)
{
	if (marks->count == SHIM_MARKS)
		return true;
	if (!record(real, mark_at(marks, marks->count), stream, launches))
		return false;
	marks->count++;
	marks->newest_ns = shim_now_ns();
	return true;
}

bool marks_move(const struct shim_real *real, struct shim_marks *marks,
		struct CUstream_st *stream, u64 launches)
{
	/* The first one stays where it is: a mark that always moves is never passed. */
	if (marks->count < 2 || (marks->count < SHIM_MARKS &&
				 shim_now_ns() - marks->newest_ns >= shim_settings.period_ns))
		return marks_add(real, marks, stream, launches);
	return record(real, mark_at(marks, marks->count - 1), stream, launches);
}

cu_result marks_take(const struct shim_real *real, struct shim_marks *marks, _Atomic u64 *ended)
{
	while (marks->count) {
		struct shim_mark *mark = mark_at(marks, 0);
		cu_result result = real->cuEventQuery(mark->event);

		if (result == CU_NOT_READY)
			return CU_OK;
		if (result != CU_OK)
			return result;
		if (mark->launches > *ended)
			*ended = mark->launches;
		marks->first = (marks->first + 1) % SHIM_MARKS;
		marks->count--;
	}
	return CU_OK;
}

bool marks_has(const struct shim_marks *marks, u64 launches)
{
	return marks->count &&
	       marks->ring[(marks->first + marks->count - 1) % SHIM_MARKS].launches == launches;
}

void marks_drop(const struct shim_real *real, struct shim_marks *marks, bool destroy)
{
	for (u32 i = 0; i < SHIM_MARKS; i++) {
		if (destroy && marks->ring[i].event)
			real->cuEventDestroy_v2(marks->ring[i].event);
		marks->ring[i] = (struct shim_mark){ 0 };
	}
	marks->count = 0;
}
