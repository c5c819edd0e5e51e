// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * CUDA's IPC: memory of one process in another. A handle of 64 bytes names an allocation. Every
 * process that has the handle can open the memory.
 *
 * Memory that the shim has made managed is pinned when its handle is asked for (pinned.c). That
 * handle is the shim's own, and memory comes by a descriptor (passing.c). Every other handle is
 * the driver's. So both processes have the shim, or neither.
 *
 * A handle that was opened twice in a context gives the same address, and is closed twice. The
 * process that exported memory cannot open it: all as the driver does it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fence.h"

struct CUipcMemHandle_st {
	char bytes[64];
};

struct ipc_handle {
	char magic[8];
	u64 name; /* of the exporter's socket */
	struct pinned_key key;
	u32 pid; /* for messages */
	u32 unused[5];
};

/* Memory of another process. */
struct opened {
	struct ipc_handle handle;
	cu_ptr ptr;
	u64 bytes, mapped;
	unsigned long long memory; /* the driver's handle */
	struct CUctx_st *context;
	int device; /* of the context */
	u32 times;
	struct opened *next;
};

_Static_assert(sizeof(struct ipc_handle) == sizeof(struct CUipcMemHandle_st), "a handle");

static const char magic[8] = "gvmshm1";
static struct opened *list;
static _Atomic u32 list_count;
/* Outside of ipc_lock, held over the exporter's answer: two openings give one mapping. */
static pthread_mutex_t opening_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ipc_lock = PTHREAD_MUTEX_INITIALIZER;

/* Say each reason once. */
static void refuse(const char *why)
{
	static const char *_Atomic told[8];

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		const char *none = NULL;

		if (atomic_compare_exchange_strong(&told[i], &none, why))
			break;
		if (none == why)
			return;
	}
	shim_warn("cuIpcGetMemHandle: %s. With GVM_SHIM_MANAGED=0 it can be exported, and is "
		  "counted and limited all the same",
		  why);
}

/* Why the driver answers no call of IPC: it has not begun, has ended, or the context has failed. */
static cu_result state_of_driver(const struct shim_real *real)
{
	size_t free_bytes, total;

	return real->cuMemGetInfo_v2(&free_bytes, &total);
}

SHIM_EXPORT cu_result cuIpcGetMemHandle(struct CUipcMemHandle_st *handle, cu_ptr ptr)
{
	const struct shim_real *real = shim_real();
	struct ipc_handle made = { .pid = (u32)getpid() };
	struct shim_allocation found;
	const char *why;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	if (!handle || !memory_find(real, ptr, &found) ||
	    (found.kind != SHIM_REDIRECTED && found.kind != SHIM_EXPORTED))
		return real->cuIpcGetMemHandle(handle, ptr);
	result = state_of_driver(real);
	if (result != CU_OK)
		return result;
	if (!passing_open(&made.name)) {
		refuse("this process cannot hand memory on, as the shim's thread or socket is "
		       "missing: do not close descriptors that are not yours");
		return CU_INVALID_VALUE;
	}
	result = pinned_make(real, found.ptr, &made.key, &why);
	if (why)
		refuse(why);
	if (result != CU_OK)
		return result;
	memcpy(made.magic, magic, sizeof(magic));
	memcpy(handle, &made, sizeof(made));
	return CU_OK;
}

/* Open it once more, if it is open in this context already. */
static bool open_again(const struct ipc_handle *handle, const struct CUctx_st *context,
		       cu_ptr *ret_ptr)
{
	struct opened *found;

	pthread_mutex_lock(&ipc_lock);
	found = list;
	while (found && (found->context != context || found->handle.name != handle->name ||
			 memcmp(&found->handle.key, &handle->key, sizeof(handle->key))))
		found = found->next;
	if (found) {
		found->times++;
		*ret_ptr = found->ptr;
	}
	pthread_mutex_unlock(&ipc_lock);
	return found;
}

/* Map what was passed. The descriptor stays the caller's. */
static cu_result map(const struct shim_real *real, int fd, struct opened *made)
{
	struct shim_allocation_prop_whole prop = { 0 };
	int home = made->device;
	cu_result result;

	result = real->cuMemImportFromShareableHandle(&made->memory, (void *)(intptr_t)fd,
						      CU_HANDLE_FD);
	if (result != CU_OK)
		return result;
	if (real->cuMemGetAllocationPropertiesFromHandle((struct CUmemAllocationProp_st *)&prop,
							 made->memory) == CU_OK)
		home = prop.head.location_id;
	result = real->cuMemAddressReserve(&made->ptr, made->mapped, 0, 0, 0);
	if (result == CU_OK) {
		result = pinned_map(real, made->ptr, made->mapped, made->memory, home,
				    made->device);
		if (result != CU_OK)
			real->cuMemAddressFree(made->ptr, made->mapped);
	}
	if (result != CU_OK)
		real->cuMemRelease(made->memory);
	return result;
}

/* Nothing was passed: say why. */
static cu_result not_passed(const struct ipc_handle *handle, int error)
{
	switch (error) {
	case ENOENT:
		shim_warn("cuIpcOpenMemHandle: process %u has no such memory: it has freed it, "
			  "or the handle is a wrong one",
			  handle->pid);
		return CU_INVALID_HANDLE;
	case ECONNREFUSED:
	case ECONNRESET:
	case ENOTCONN:
		shim_warn("cuIpcOpenMemHandle: process %u, which exported this memory, has "
			  "ended, or is in another network namespace",
			  handle->pid);
		return CU_INVALID_HANDLE;
	}
	shim_warn("cuIpcOpenMemHandle: process %u, which exported this memory, does not "
		  "answer: %s",
		  handle->pid, strerror(error));
	return CU_MAP_FAILED;
}

static cu_result open_first(const struct shim_real *real, cu_ptr *ptr,
			    const struct ipc_handle *handle, struct CUctx_st *context,
			    int device)
{
	struct opened *made;
	struct passed passed;
	cu_result result;
	int error;

	error = passing_ask(handle->name, &handle->key, &passed);
	if (error)
		return not_passed(handle, error);
	made = calloc(1, sizeof(*made));
	if (!made) {
		close(passed.fd);
		return CU_OUT_OF_MEMORY;
	}
	*made = (struct opened){ .handle = *handle,
				 .bytes = passed.bytes,
				 .mapped = passed.mapped,
				 .context = context,
				 .device = device,
				 .times = 1 };
	result = map(real, passed.fd, made);
	close(passed.fd);
	if (result != CU_OK) {
		shim_warn(
			"cuIpcOpenMemHandle: the driver does not map the memory of process %u "
			"(error %u)",
			handle->pid, result);
		free(made);
		return CU_MAP_FAILED;
	}
	*ptr = made->ptr;
	pthread_mutex_lock(&ipc_lock);
	made->next = list;
	list = made;
	list_count++;
	pthread_mutex_unlock(&ipc_lock);
	return CU_OK;
}

/* Is it a handle of the shim's? Then *ret_ours is what it says. */
static bool is_ours(const struct CUipcMemHandle_st *handle, struct ipc_handle *ret_ours)
{
	memcpy(ret_ours, handle, sizeof(*ret_ours));
	return !memcmp(ret_ours->magic, magic, sizeof(magic));
}

static cu_result open_ours(const struct shim_real *real, cu_ptr *ptr,
			   const struct ipc_handle *handle, unsigned int flags)
{
	struct CUctx_st *context;
	cu_result result;
	int device;

	result = state_of_driver(real);
	if (result != CU_OK)
		return result;
	if (!ptr || flags & ~CU_IPC_PEER)
		return CU_INVALID_VALUE;
	if (!memory_current(real, &device, &context) || passing_is_own(handle->name))
		return CU_INVALID_CONTEXT;
	if (shim_settings.fence != SHIM_NO_FENCE)
		return memory_not_fenced("cuIpcOpenMemHandle");
	if (!real->cuMemImportFromShareableHandle ||
	    !real->cuMemGetAllocationPropertiesFromHandle)
		return CU_NOT_SUPPORTED;
	pthread_mutex_lock(&opening_lock);
	result = open_again(handle, context, ptr) ?
			 CU_OK :
			 open_first(real, ptr, handle, context, device);
	pthread_mutex_unlock(&opening_lock);
	return result;
}

SHIM_EXPORT cu_result cuIpcOpenMemHandle_v2(cu_ptr *ptr, struct CUipcMemHandle_st handle,
					    unsigned int flags)
{
	const struct shim_real *real = shim_real();
	struct ipc_handle ours;

	if (!real)
		return CU_NOT_INITIALIZED;
	return is_ours(&handle, &ours) ? open_ours(real, ptr, &ours, flags) :
					 real->cuIpcOpenMemHandle_v2(ptr, handle, flags);
}

SHIM_EXPORT cu_result cuIpcOpenMemHandle(cu_ptr *ptr, struct CUipcMemHandle_st handle,
					 unsigned int flags)
{
	const struct shim_real *real = shim_real();
	struct ipc_handle ours;

	if (!real)
		return CU_NOT_INITIALIZED;
	return is_ours(&handle, &ours) ? open_ours(real, ptr, &ours, flags) :
					 real->cuIpcOpenMemHandle(ptr, handle, flags);
}

static void unmap(const struct shim_real *real, const struct opened *gone)
{
	real->cuMemUnmap(gone->ptr, gone->mapped);
	real->cuMemAddressFree(gone->ptr, gone->mapped);
	real->cuMemRelease(gone->memory);
}

/* Close an opening of @ptr. False: it is not the shim's. The last one is taken out. */
static bool close_locked(cu_ptr ptr, struct opened **ret_gone)
{
	struct opened **link = &list;

	while (*link && (*link)->ptr != ptr)
		link = &(*link)->next;
	if (!*link)
		return false;
	if (--(*link)->times)
		return true;
	*ret_gone = *link;
	*link = (*link)->next;
	list_count--;
	return true;
}

SHIM_EXPORT cu_result cuIpcCloseMemHandle(cu_ptr ptr)
{
	const struct shim_real *real = shim_real();
	struct pinned_gone mapping;
	struct opened *gone = NULL;
	cu_result result;
	bool ours;

	if (!real)
		return CU_NOT_INITIALIZED;
	result = list_count ? state_of_driver(real) : CU_OK;
	if (result != CU_OK)
		return result;
	pthread_mutex_lock(&ipc_lock);
	ours = close_locked(ptr, &gone);
	pthread_mutex_unlock(&ipc_lock);
	if (!ours)
		return real->cuIpcCloseMemHandle(ptr);
	if (!gone)
		return CU_OK;
	mapping = (struct pinned_gone){ gone->ptr,    gone->mapped,  gone->mapped,
					gone->memory, gone->context, NULL };
	pinned_drop(real, &mapping);
	free(gone);
	return CU_OK;
}

bool ipc_opened_any(void)
{
	return list_count;
}

bool ipc_opened(cu_ptr start, struct shim_allocation *ret_opened)
{
	const struct opened *found;

	pthread_mutex_lock(&ipc_lock);
	for (found = list; found && found->ptr != start; found = found->next)
		;
	if (found)
		*ret_opened = (struct shim_allocation){ .ptr = start,
							.bytes = found->bytes,
							.context = found->context,
							.device = found->device,
							.kind = SHIM_EXPORTED };
	pthread_mutex_unlock(&ipc_lock);
	return found;
}

/* Memory that was opened in a context goes with it. */
void ipc_forget_context(const struct CUctx_st *context)
{
	struct opened **link = &list;

	pthread_mutex_lock(&ipc_lock);
	while (*link) {
		struct opened *gone = *link;

		if (gone->context != context) {
			link = &gone->next;
			continue;
		}
		*link = gone->next;
		list_count--;
		unmap(shim_real(), gone);
		free(gone);
	}
	pthread_mutex_unlock(&ipc_lock);
}

/* The list is the parent's: its memory is left where it is, as it is once for each fork. */
void ipc_reset(void)
{
	pthread_mutex_init(&opening_lock, NULL);
	pthread_mutex_init(&ipc_lock, NULL);
	list = NULL;
	list_count = 0;
}
