// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A kernel that never ends, or that breaks the context, cannot be ended alone: CUDA ends a
 * context as a whole. So the process that has it ends, and its parent starts it again. All
 * clients lose what they had; new ones are served.
 */
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "sample.h"

#define LOOK_US	      20000
#define CONTROL_LOOKS 5 /* looks between two at the control files */

static struct tenant *tenants;
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gpu *watched;
static u64 limit;

u64 watch_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
}

void watch_add(struct tenant *tenant)
{
	pthread_mutex_lock(&watch_lock);
	tenant->next = tenants;
	tenants = tenant;
	pthread_mutex_unlock(&watch_lock);
}

void watch_remove(struct tenant *tenant)
{
	pthread_mutex_lock(&watch_lock);
	for (struct tenant **link = &tenants; *link; link = &(*link)->next)
		if (*link == tenant) {
			*link = tenant->next;
			break;
		}
	pthread_mutex_unlock(&watch_lock);
}

/*
 * Errors after which every call of the context fails: memory errors, an illegal address, a
 * timeout, an assertion, and what stops a kernel (CUDA 13, cuda.h: CUresult).
 */
static bool is_fatal(cu_result result)
{
	return result == 214 || result == 700 || result == 702 || result == 710 ||
	       (result >= 714 && result <= 719) || result == 999;
}

void watch_result(const struct tenant *tenant, cu_result result)
{
	if (!is_fatal(result))
		return;
	fprintf(stderr,
		"gvmfenced: client %llu (process %d): error %u has broken the context; all "
		"clients lose it\n",
		tenant->id, tenant->pid, result);
	_exit(WATCH_BROKEN);
}

/*
 * The work that the watch has waited for since @since has ended. If there were launches after
 * it, wait until the stream is empty.
 */
static void go_on(struct tenant_stream *stream, u64 since, u64 now)
{
	u64 next = 0;

	if (atomic_exchange(&stream->more, false)) {
		stream->whole = true;
		next = now;
	}
	/* If it fails, the client's thread has queued another mark meanwhile. */
	atomic_compare_exchange_strong(&stream->marked_ns, &since, next);
}

/* LOCKING: watch_lock, tenant->lock. */
static void look_at(struct tenant *tenant, struct tenant_stream *stream, u64 now)
{
	u64 since = stream->marked_ns;
	cu_result result = CU_OK;

	if (!stream->stream)
		return;
	if (since)
		result = stream->whole ? watched->cuda.cuStreamQuery(stream->stream) :
					 watched->cuda.cuEventQuery(stream->mark);
	if (result == CU_OK)
		go_on(stream, since, now);
	else if (result != CU_NOT_READY)
		watch_result(tenant, result);
	else if (now > since && now - since > limit) {
		fprintf(stderr,
			"gvmfenced: client %llu (process %d): its kernel has not ended after "
			"%.1f s, and cannot be ended alone; all clients lose the context\n",
			tenant->id, tenant->pid, (double)(now - since) / 1e9);
		_exit(WATCH_ENDLESS);
	}
}

static void *watch_run(void *data)
{
	(void)data;
	watched->cuda.cuCtxSetCurrent(watched->context);
	for (u64 look = 0;; look++) {
		usleep(LOOK_US);
		pthread_mutex_lock(&watch_lock);
		for (struct tenant *tenant = tenants; tenant; tenant = tenant->next) {
			pthread_mutex_lock(&tenant->lock);
			for (u32 i = 0; i < FENCED_STREAMS_MAX; i++)
				look_at(tenant, &tenant->streams[i], watch_now_ns());
			if (tenant->sample.on && look % CONTROL_LOOKS == 0) {
				sample_collect(tenant);
				control_look(tenant);
			}
			pthread_mutex_unlock(&tenant->lock);
		}
		pthread_mutex_unlock(&watch_lock);
	}
	return NULL;
}

int watch_start(struct gpu *gpu, u64 limit_ns)
{
	pthread_t thread;

	watched = gpu;
	limit = limit_ns;
	return pthread_create(&thread, NULL, watch_run, NULL);
}
