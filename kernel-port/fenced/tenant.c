// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * One client of gvmfenced, in a thread of its own: requests are carried out in order, those of
 * different clients side by side (Guardian 4.2.4). Every address that a client names is checked
 * against its partition (4.2.2). When the connection ends, however that comes about, its
 * kernels end, its partition is cleared, and all of it is free for others.
 */
#include "tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "control.h"
#include "sample.h"
#include "tenant_code.h"
#include "watch.h"

#define HELLO_MS 2000 /* from connect() to the first message; ours sends it at once */

/*
 * A client's window comes as a descriptor, which is closed once the window is mapped. Connections
 * may have taken all descriptors, so a spare one is kept and closed before the window comes. Until
 * there is a spare one again, spare_lock keeps connections from being accepted.
 */
static int spare = -1;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;

static bool take_spare_locked(void)
{
	if (spare < 0)
		spare = eventfd(0, EFD_CLOEXEC);
	return spare >= 0;
}

static void give_spare_locked(void)
{
	if (spare >= 0)
		close(spare);
	spare = -1;
}

/* Streams and events. */

static cu_result stream_create(struct tenant *tenant, u32 slot)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	struct tenant_stream made = { 0 };
	cu_result result = cuda->cuStreamCreate(&made.stream, CU_STREAM_NONBLOCKING);

	if (result != CU_OK)
		return result;
	result = cuda->cuEventCreate(&made.mark, CU_EVENT_NO_TIMING);
	if (result != CU_OK) {
		cuda->cuStreamDestroy_v2(made.stream);
		return result;
	}
	pthread_mutex_lock(&tenant->lock);
	tenant->streams[slot].mark = made.mark;
	tenant->streams[slot].marked_ns = 0;
	tenant->streams[slot].whole = false;
	tenant->streams[slot].more = false;
	tenant->streams[slot].stream = made.stream;
	pthread_mutex_unlock(&tenant->lock);
	return CU_OK;
}

static cu_result stream_destroy(struct tenant *tenant, u32 slot)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	struct tenant_stream *stream = &tenant->streams[slot];
	cu_result result = cuda->cuStreamSynchronize(stream->stream);

	pthread_mutex_lock(&tenant->lock);
	cuda->cuStreamDestroy_v2(stream->stream);
	cuda->cuEventDestroy_v2(stream->mark);
	stream->stream = NULL;
	pthread_mutex_unlock(&tenant->lock);
	return result;
}

static cu_result stream_new(struct tenant *tenant, u64 *ret_stream)
{
	for (u32 i = 1; i < FENCED_STREAMS_MAX; i++)
		if (!tenant->streams[i].stream) {
			*ret_stream = i;
			return stream_create(tenant, i);
		}
	return CU_OUT_OF_MEMORY;
}

static cu_result wait_all(struct tenant *tenant)
{
	cu_result worst = CU_OK;

	for (u32 i = 0; i < FENCED_STREAMS_MAX; i++) {
		cu_result result = CU_OK;

		if (tenant->streams[i].stream)
			result = tenant->gpu->cuda.cuStreamSynchronize(
				tenant->streams[i].stream);
		worst = result != CU_OK ? result : worst;
	}
	return worst;
}

static cu_result event_call(struct tenant *tenant, const struct fenced_request *request,
			    struct CUstream_st *stream, u64 *ret_value)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	struct CUevent_st **events = tenant->events;
	u64 at = request->a;
	cu_result result;
	float ms = 0;
	u32 bits;

	if (request->call == FENCED_EVENT_CREATE) {
		for (at = 0; at < TENANT_EVENTS && events[at];)
			at++;
		if (at == TENANT_EVENTS)
			return CU_OUT_OF_MEMORY;
		*ret_value = at;
		return cuda->cuEventCreate(&events[at], (u32)request->a & CU_EVENT_NO_TIMING);
	}
	if (at >= TENANT_EVENTS || !events[at])
		return CU_INVALID_VALUE;
	switch (request->call) {
	case FENCED_EVENT_DESTROY:
		result = cuda->cuEventDestroy_v2(events[at]);
		events[at] = NULL;
		return result;
	case FENCED_EVENT_RECORD:
		return cuda->cuEventRecord(events[at], stream);
	case FENCED_STREAM_EVENT:
		return cuda->cuStreamWaitEvent(stream, events[at], 0);
	case FENCED_EVENT_QUERY:
		return cuda->cuEventQuery(events[at]);
	case FENCED_EVENT_WAIT:
		return cuda->cuEventSynchronize(events[at]);
	}
	if (request->b >= TENANT_EVENTS || !events[request->b])
		return CU_INVALID_VALUE;
	result = cuda->cuEventElapsedTime(&ms, events[at], events[request->b]);
	memcpy(&bits, &ms, sizeof(bits));
	*ret_value = bits;
	return result;
}

/* Memory. */

/* May the tenant copy so? The table counts what is refused. */
static bool may_copy(struct tenant *tenant, enum gvm_fence_copy direction, u64 to, u64 from,
		     u64 bytes)
{
	if (!gvm_fence_table_copy(&tenant->gpu->table, tenant->id, direction, to, from, bytes))
		return true;
	tenant->refused++;
	return false;
}

static cu_result copy(struct tenant *tenant, const struct fenced_request *request,
		      struct CUstream_st *stream)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	u64 bytes = request->b;
	cu_result result;

	switch (request->call) {
	case FENCED_COPY_IN:
		if (bytes > tenant->window_bytes ||
		    !may_copy(tenant, GVM_FENCE_COPY_IN, request->a, 0, bytes))
			return CU_INVALID_VALUE;
		result = cuda->cuMemcpyHtoDAsync_v2(request->a, tenant->window, bytes, stream);
		break;
	case FENCED_COPY_OUT:
		if (bytes > tenant->window_bytes ||
		    !may_copy(tenant, GVM_FENCE_COPY_OUT, 0, request->a, bytes))
			return CU_INVALID_VALUE;
		result = cuda->cuMemcpyDtoHAsync_v2(tenant->window, request->a, bytes, stream);
		break;
	case FENCED_COPY:
		if (!may_copy(tenant, GVM_FENCE_COPY_WITHIN, request->a, request->c, bytes))
			return CU_INVALID_VALUE;
		result = cuda->cuMemcpyDtoDAsync_v2(request->a, request->c, bytes, stream);
		break;
	default:
		if ((request->d != 1 && request->d != 4) || bytes > U64_MAX / 4 ||
		    !may_copy(tenant, GVM_FENCE_COPY_IN, request->a, 0, bytes * request->d))
			return CU_INVALID_VALUE;
		result = request->d == 1 ? cuda->cuMemsetD8Async(request->a, (u8)request->c,
								 bytes, stream) :
					   cuda->cuMemsetD32Async(request->a, (u32)request->c,
								  bytes, stream);
		break;
	}
	return result == CU_OK ? cuda->cuStreamSynchronize(stream) : result;
}

static cu_result memory_call(struct tenant *tenant, const struct fenced_request *request,
			     struct fenced_reply *reply)
{
	struct gvm_fence_table *table = &tenant->gpu->table;
	const struct gvm_fence_partition *partition = gvm_fence_table_tenant(table, tenant->id);
	cu_result result;

	switch (request->call) {
	case FENCED_ALLOC:
		if (!request->a)
			return CU_INVALID_VALUE;
		result = gvm_fence_table_alloc(table, tenant->id, request->a, &reply->a) ?
				 CU_OUT_OF_MEMORY :
				 CU_OK;
		break;
	case FENCED_FREE:
		/* As cuMemFree() does: kernels may still use it. */
		wait_all(tenant);
		result = gvm_fence_table_free(table, tenant->id, request->a) ?
				 CU_INVALID_VALUE :
				 CU_OK;
		break;
	default:
		/* Only this thread changes its partition. */
		reply->b = partition->heap.bytes;
		reply->a = partition->heap.bytes - partition->heap.used_bytes;
		return CU_OK;
	}
	tenant->used = partition->heap.used_bytes;
	return result;
}

/* Requests. */

/* Of the function, and of its copy that counts, now or when that is loaded. */
static cu_result set_attribute(const struct tenant *tenant, struct tenant_function *function,
			       u32 attribute, int value)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	cu_result result = cuda->cuFuncSetAttribute(function->function, attribute, value);

	if (result != CU_OK || attribute >= SAMPLE_ATTRIBUTES)
		return result;
	function->attributes_set |= 1u << attribute;
	function->attributes[attribute] = value;
	if (function->counted)
		cuda->cuFuncSetAttribute(function->counted, attribute, value);
	return CU_OK;
}

static cu_result function_attribute(struct tenant *tenant, const struct fenced_request *request,
				    u64 *ret_value)
{
	struct tenant_function *function = tenant_function_of(tenant, request->a);
	cu_result result;
	int value = 0;

	if (!function)
		return CU_INVALID_VALUE;
	if (request->call == FENCED_FUNCTION_SET)
		return set_attribute(tenant, function, (u32)request->b, (int)request->c);
	result = tenant->gpu->cuda.cuFuncGetAttribute(&value, (u32)request->b,
						      function->function);
	*ret_value = (u32)value;
	return result;
}

/* What the client asks of its device. */
static cu_result device_call(struct tenant *tenant, const struct fenced_request *request,
			     struct fenced_reply *reply)
{
	const struct gpu *gpu = tenant->gpu;
	cu_result result;
	int value = 0;

	if (request->call == FENCED_NAME) {
		reply->bytes = (u32)strlen(gpu->name) + 1;
		memcpy(reply->data, gpu->name, reply->bytes);
		return CU_OK;
	}
	result = gpu->cuda.cuDeviceGetAttribute(&value, (u32)request->a, gpu->device);
	reply->a = (u32)value;
	return result;
}

/* Calls of @stream, which is request->stream, and the one that makes another. */
static cu_result stream_call(struct tenant *tenant, const struct fenced_request *request,
			     struct CUstream_st *stream, u64 *ret_stream)
{
	switch (request->call) {
	case FENCED_STREAM_CREATE:
		return stream_new(tenant, ret_stream);
	case FENCED_STREAM_DESTROY:
		return request->stream ? stream_destroy(tenant, request->stream) :
					 CU_INVALID_VALUE;
	case FENCED_STREAM_QUERY:
		return tenant->gpu->cuda.cuStreamQuery(stream);
	default:
		return tenant->gpu->cuda.cuStreamSynchronize(stream);
	}
}

/* Carry out @request. */
static cu_result serve(struct tenant *tenant, const struct fenced_request *request,
		       struct fenced_reply *reply)
{
	struct CUstream_st *stream;

	if (request->stream >= FENCED_STREAMS_MAX || !tenant->streams[request->stream].stream)
		return CU_INVALID_VALUE;
	stream = tenant->streams[request->stream].stream;
	switch (request->call) {
	case FENCED_ATTRIBUTE:
	case FENCED_NAME:
		return device_call(tenant, request, reply);
	case FENCED_MEMORY:
	case FENCED_ALLOC:
	case FENCED_FREE:
		return memory_call(tenant, request, reply);
	case FENCED_COPY_IN:
	case FENCED_COPY_OUT:
	case FENCED_COPY:
	case FENCED_SET:
		return copy(tenant, request, stream);
	case FENCED_LOAD:
		return tenant_load(tenant, request->a, &reply->a);
	case FENCED_UNLOAD:
		wait_all(tenant);
		return tenant_unload(tenant, request->a);
	case FENCED_FUNCTION:
		return tenant_function(tenant, request, reply);
	case FENCED_FUNCTION_SET:
	case FENCED_FUNCTION_GET:
		return function_attribute(tenant, request, &reply->a);
	case FENCED_LAUNCH:
		return tenant_launch(tenant, request);
	case FENCED_STREAM_CREATE:
	case FENCED_STREAM_DESTROY:
	case FENCED_STREAM_QUERY:
	case FENCED_STREAM_WAIT:
		return stream_call(tenant, request, stream, &reply->a);
	case FENCED_WAIT:
		return wait_all(tenant);
	case FENCED_STREAM_EVENT:
	case FENCED_EVENT_CREATE:
	case FENCED_EVENT_DESTROY:
	case FENCED_EVENT_RECORD:
	case FENCED_EVENT_QUERY:
	case FENCED_EVENT_WAIT:
	case FENCED_EVENT_TIME:
		return event_call(tenant, request, stream, &reply->a);
	}
	return CU_NOT_SUPPORTED;
}

/* One message. False: the client has left, or sends what no client of ours sends. */
static bool receive(int fd, struct fenced_request *request, int *ret_descriptor)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = { request, sizeof(*request) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *head;
	ssize_t got;

	if (ret_descriptor) {
		message.msg_control = control;
		/*
		 * Not CMSG_SPACE(): its padding has room for a second one,
		 * which would never be closed.
		 */
		message.msg_controllen = CMSG_LEN(sizeof(int));
	}
	do
		got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	head = ret_descriptor && got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(ret_descriptor, CMSG_DATA(head), sizeof(int));
	return got >= (ssize_t)FENCED_REQUEST_HEAD &&
	       (size_t)got - FENCED_REQUEST_HEAD == request->bytes;
}

static bool answer(int fd, const struct fenced_reply *reply)
{
	size_t bytes = FENCED_REPLY_HEAD + reply->bytes;

	return send(fd, reply, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

/*
 * Map the client's window. No access to it may end us later. So it may not shrink. Nor may it be
 * of huge pages: the client could punch a hole into it and take the last page of the pool.
 */
static bool map_window(struct tenant *tenant, int descriptor)
{
	int seals = fcntl(descriptor, F_GET_SEALS);
	struct statfs filesystem;
	struct stat info;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(descriptor, &info) ||
	    (u64)info.st_size != FENCED_WINDOW || fstatfs(descriptor, &filesystem))
		return false;
	if (filesystem.f_type == HUGETLBFS_MAGIC) {
		fprintf(stderr, "gvmfenced: client %llu: its window is of huge pages\n",
			tenant->id);
		return false;
	}
	tenant->window =
		mmap(NULL, FENCED_WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	if (tenant->window == MAP_FAILED) {
		tenant->window = NULL;
		return false;
	}
	tenant->window_bytes = FENCED_WINDOW;
	return true;
}

/* Pinned, copies are faster; without it they work, too. */
static void pin_window(const struct tenant *tenant)
{
	if (tenant->gpu->cuda.cuMemHostRegister_v2(tenant->window, FENCED_WINDOW, 0) != CU_OK)
		fprintf(stderr, "gvmfenced: client %llu: its window is not pinned\n",
			tenant->id);
}

static bool await_input(int fd, int timeout_ms)
{
	struct pollfd input = { .fd = fd, .events = POLLIN };

	return poll(&input, 1, timeout_ms) > 0 && input.revents & POLLIN;
}

int tenant_accept(int listener)
{
	int fd = -1;

	if (!await_input(listener, -1))
		return -1;
	pthread_mutex_lock(&spare_lock);
	if (take_spare_locked())
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	pthread_mutex_unlock(&spare_lock);
	return fd;
}

/* Take the first message, and map the window that comes with it. False: it is none. */
static bool receive_hello(struct tenant *tenant, struct fenced_request *hello)
{
	int descriptor = -1;
	bool good;

	if (!await_input(tenant->fd, HELLO_MS))
		return false;
	pthread_mutex_lock(&spare_lock);
	give_spare_locked();
	good = receive(tenant->fd, hello, &descriptor) && hello->call == FENCED_HELLO &&
	       hello->a == FENCED_VERSION && map_window(tenant, descriptor);
	if (descriptor >= 0)
		close(descriptor);
	take_spare_locked();
	pthread_mutex_unlock(&spare_lock);
	if (good)
		pin_window(tenant);
	return good;
}

/*
 * The first message. Gives the client a partition and its default stream. A client that says
 * nothing loses its connection: others may need the descriptor.
 */
static bool welcome(struct tenant *tenant)
{
	struct fenced_request *hello = calloc(1, sizeof(*hello));
	struct fenced_reply reply = { .result = CU_INVALID_VALUE };
	struct gvm_fence_partition *partition;
	int status = -EINVAL;

	if (hello && receive_hello(tenant, hello))
		status = gvm_fence_table_open(&tenant->gpu->table, tenant->id, hello->b,
					      tenant->gpu->mode, &partition);
	/*
	 * Its partition has the margins that the mode of all others wants, and keeps them: an
	 * offset that a neighbour keeps meets no data here.
	 */
	tenant->mode = gpu_mode_of(tenant->gpu, tenant->pid);
	if (!status && tenant->mode != tenant->gpu->mode)
		status =
			gvm_fence_table_set_mode(&tenant->gpu->table, tenant->id, tenant->mode);
	if (!status) {
		tenant->base = partition->fence.base;
		tenant->bytes = partition->fence.bytes;
		tenant->margin = partition->fence.margin;
		tenant->sample.every = tenant->gpu->sample_every;
		if (tenant->gpu->samples && sample_open(tenant))
			control_open(tenant);
		reply.result = stream_create(tenant, 0);
		reply.a = tenant->bytes;
	} else if (status == -ENOSPC || status == -EMFILE) {
		reply.result = CU_OUT_OF_MEMORY;
	}
	if (!status)
		fprintf(stderr,
			"gvmfenced: client %llu (process %d): %llu bytes at 0x%llx%s%s\n",
			tenant->id, tenant->pid, tenant->bytes, tenant->base,
			tenant->mode == tenant->gpu->mode ? "" : ", mode ",
			tenant->mode == tenant->gpu->mode ? "" :
							    gvm_fence_mode_name(tenant->mode));
	else
		fprintf(stderr, "gvmfenced: client %llu (process %d) gets no %llu bytes: %s\n",
			tenant->id, tenant->pid, hello ? hello->b : 0, strerror(-status));
	free(hello);
	return answer(tenant->fd, &reply) && reply.result == CU_OK;
}

/*
 * All that the client had is free when this returns. Its memory is cleared: the
 * next one reads none of it.
 */
static void farewell(struct tenant *tenant)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	struct CUstream_st *stream = tenant->streams[0].stream;

	watch_result(tenant, wait_all(tenant));
	control_close(tenant);
	sample_close(tenant);
	tenant_unload_all(tenant);
	for (u32 i = 0; i < TENANT_EVENTS; i++)
		if (tenant->events[i])
			cuda->cuEventDestroy_v2(tenant->events[i]);
	if (stream && tenant->bytes) {
		cuda->cuMemsetD8Async(tenant->base, 0, tenant->bytes, stream);
		watch_result(tenant, cuda->cuStreamSynchronize(stream));
	}
	for (u32 i = 0; i < FENCED_STREAMS_MAX; i++)
		if (tenant->streams[i].stream)
			stream_destroy(tenant, i);
	watch_remove(tenant);
	if (tenant->bytes)
		gvm_fence_table_close(&tenant->gpu->table, tenant->id);
	if (tenant->window) {
		cuda->cuMemHostUnregister(tenant->window);
		munmap(tenant->window, tenant->window_bytes);
	}
	close(tenant->fd);
	fprintf(stderr,
		"gvmfenced: client %llu (process %d) has left: %llu launches, %llu refused; "
		"its %llu bytes are free\n",
		tenant->id, tenant->pid, tenant->launches, tenant->refused, tenant->bytes);
	if (tenant->sample.counts.sampled)
		fprintf(stderr,
			"gvmfenced: client %llu: %llu of its launches were counted, %llu of "
			"them had wild accesses, %llu in all\n",
			tenant->id, tenant->sample.counts.sampled,
			tenant->sample.counts.found_launches,
			tenant->sample.counts.found_accesses);
	free(tenant);
}

/* Failures of silent requests are kept for the next reply. */
static bool serve_one(struct tenant *tenant, const struct fenced_request *request,
		      struct fenced_reply *reply)
{
	memset(reply, 0, FENCED_REPLY_HEAD);
	reply->result = serve(tenant, request, reply);
	watch_result(tenant, reply->result);
	if (FENCED_SILENT(request->call)) {
		if (tenant->failed == CU_OK)
			tenant->failed = reply->result;
		return true;
	}
	if (reply->result == CU_OK) {
		reply->result = tenant->failed;
		tenant->failed = CU_OK;
	}
	return answer(tenant->fd, reply);
}

void *tenant_run(void *data)
{
	struct tenant *tenant = data;
	struct fenced_request *request = calloc(1, sizeof(*request));
	struct fenced_reply *reply = calloc(1, sizeof(*reply));

	tenant->gpu->cuda.cuCtxSetCurrent(tenant->gpu->context);
	pthread_mutex_init(&tenant->lock, NULL);
	watch_add(tenant);
	if (request && reply && welcome(tenant))
		while (receive(tenant->fd, request, NULL) && serve_one(tenant, request, reply))
			;
	free(request);
	free(reply);
	farewell(tenant);
	return NULL;
}
