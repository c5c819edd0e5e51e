// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Managed memory cannot be handed to another process. So an allocation that is exported becomes
 * device memory, at the address that the application has, and stays that until it is freed:
 *
 *     managed memory    |  content  |                     at ptr
 *     device memory     |  content  |  copied             anywhere
 *     cuMemFree(ptr), then cuMemAddressReserve() with ptr as a hint
 *     device memory     |  content  |  mapped             at ptr
 *
 * Driver 580 gives the address back only where the allocation has a range of addresses of its
 * own. Allocations of 30 MiB and more have one, those up to 24 MiB share 32 MiB with others, and
 * the driver keeps those (measured on an H200, up to 160 MiB and at 1 GiB). So the shim asks for
 * RANGE_LEAST at least wherever an allocation may be exported later, from PINNED_LEAST on. Managed
 * memory has no page that was not touched: the rest of the range costs addresses, and no memory.
 *
 * PINNED_LEAST is a page of device memory. From there on an allocation has pages of its own
 * anyway. In a range of its own it takes one more at most, the last one, which it may have shared.
 * A smaller allocation would take a whole page, where the driver puts hundreds into one.
 *
 * Between the free and the reservation the address is held (held.c): no other thread can have it.
 * A trial with a range that is not in use shows just before whether that works. So what is left is
 * a driver that fails to reserve, or to map, what is there for it. The content is in the copy, but
 * nothing puts it back at its address: the process ends.
 *
 * Locks: pin_lock is held over a wait for the GPU and is outside of move_lock. list_lock is
 * inside of all; no wait is made under it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

#include "shim.h"

#define RANGE_BYTES (32ull << 20)
#define RANGE_LEAST (64ull << 20)
#define OTHERS_MAX  512u /* 32 GiB of addresses at least, in 4 KiB of stack */

struct pinned {
	struct pinned_key key;
	cu_ptr ptr;
	u64 bytes;
	u64 mapped;		   /* whole pages */
	u64 range;		   /* of addresses */
	unsigned long long memory; /* the driver's handle */
	struct CUctx_st *context;
	struct pinned *next;
};

static struct pinned *list;
static _Atomic u32 list_count;
/* Memory that was given back while a stream was captured. Also under list_lock. */
static struct pinned_gone *late;
static _Atomic u32 late_count;
static u64 next_id = 1;
static pthread_mutex_t pin_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

/* Has the driver all calls for it? They came with CUDA 10.2. */
static bool driver_can(const struct shim_real *real)
{
	return real->cuMemAddressReserve && real->cuMemAddressFree && real->cuMemCreate &&
	       real->cuMemRelease && real->cuMemMap && real->cuMemUnmap &&
	       real->cuMemSetAccess && real->cuMemGetAllocationGranularity &&
	       real->cuMemcpyDtoD_v2 && real->cuMemExportToShareableHandle;
}

u64 pinned_range(const struct shim_real *real, u64 bytes)
{
	u64 range = (bytes + RANGE_BYTES - 1) / RANGE_BYTES * RANGE_BYTES;

	if (bytes < PINNED_LEAST || range < bytes || !driver_can(real))
		return 0;
	return range < RANGE_LEAST ? RANGE_LEAST : range;
}

static cu_result allow(const struct shim_real *real, cu_ptr ptr, u64 bytes, int device)
{
	struct shim_access access = { CU_LOCATION_DEVICE, device, CU_ACCESS_ALL };

	return real->cuMemSetAccess(ptr, bytes, (const struct CUmemAccessDesc_st *)&access, 1);
}

static bool reaches(const struct shim_real *real, int device, int home)
{
	int can = 0;

	return device == home ||
	       (real->cuDeviceCanAccessPeer &&
		real->cuDeviceCanAccessPeer(&can, device, home) == CU_OK && can);
}

cu_result pinned_map(const struct shim_real *real, cu_ptr ptr, u64 bytes,
		     unsigned long long memory, int home, int user)
{
	cu_result result = real->cuMemMap(ptr, bytes, 0, memory, 0);
	int count = 0;

	if (result != CU_OK)
		return result;
	result = allow(real, ptr, bytes, user);
	if (result != CU_OK) {
		real->cuMemUnmap(ptr, bytes);
		return result;
	}
	if (!real->cuDeviceGetCount || real->cuDeviceGetCount(&count) != CU_OK)
		return CU_OK;
	/* Other GPUs may use it, too, as they may use memory of cuMemAlloc() between peers. */
	for (int i = 0; i < count; i++)
		if (i != user && reaches(real, i, home))
			allow(real, ptr, bytes, i);
	return CU_OK;
}

/*
 * Reserve these addresses, and no others. Driver 580 looks at a wish only where it has no such
 * range left among addresses that it has and does not use (seven of 64 MiB in a process with
 * PyTorch). So others are reserved meanwhile, until it has none.
 */
static bool reserve_at(const struct shim_real *real, cu_ptr ptr, u64 bytes)
{
	cu_ptr others[OTHERS_MAX];
	unsigned int count = 0;
	cu_ptr got = 0;

	while (count < OTHERS_MAX && got != ptr &&
	       real->cuMemAddressReserve(&got, bytes, 0, ptr, 0) == CU_OK)
		if (got != ptr)
			others[count++] = got;
	while (count)
		real->cuMemAddressFree(others[--count], bytes);
	return got == ptr;
}

/*
 * Does this driver free a range and take it again, as held.c wants it? Tried with one of the same
 * length that is not in use, before each swap: a library that the program loads later may lead
 * the driver's calls past us, as UCX does to see them. NULL: it does. Else why not.
 */
static const char *try_with_another(const struct shim_real *real, u64 range)
{
	enum held_end end;
	cu_ptr ptr = 0;
	bool back;

	if (real->cuMemAllocManaged(&ptr, range, CU_MANAGED_GLOBAL) != CU_OK)
		return "memory of cuMemAlloc() is managed, and the driver has no addresses to "
		       "make it device memory";
	held_begin(ptr, range);
	back = real->cuMemFree_v2(ptr) == CU_OK && reserve_at(real, ptr, range);
	end = held_end();
	if (back)
		real->cuMemAddressFree(ptr, range);
	if (end == HELD_UNSEEN)
		return "memory of cuMemAlloc() is managed, and this driver does not free its "
		       "address by the C library's munmap(), so that another thread could take "
		       "it";
	if (!back || end != HELD_TAKEN)
		return "memory of cuMemAlloc() is managed, and this driver does not give its "
		       "address back once it is freed";
	return NULL;
}

/* Device memory that can be exported, for @allocation. Sets what it is rounded up to. */
static cu_result create(const struct shim_real *real, const struct shim_allocation *allocation,
			struct pinned *made)
{
	struct shim_allocation_prop_whole prop = {
		.head = { CU_ALLOC_PINNED, CU_HANDLE_FD, CU_LOCATION_DEVICE,
			  allocation->device },
	};
	const struct CUmemAllocationProp_st *wanted =
		(const struct CUmemAllocationProp_st *)&prop;
	size_t page = 0;
	cu_result result = real->cuMemGetAllocationGranularity(&page, wanted, 0);

	if (result != CU_OK)
		return result;
	made->mapped = (allocation->bytes + page - 1) / page * page;
	return real->cuMemCreate(&made->memory, made->mapped, wanted, 0);
}

/* Copy the allocation into the new memory, which has another address for that. */
static cu_result copy(const struct shim_real *real, const struct shim_allocation *allocation,
		      const struct pinned *made)
{
	int device = allocation->device;
	cu_ptr there = 0;
	cu_result result;

	result = real->cuMemAddressReserve(&there, made->mapped, 0, 0, 0);
	if (result != CU_OK)
		return result;
	result = pinned_map(real, there, made->mapped, made->memory, device, device);
	if (result == CU_OK) {
		result = real->cuMemcpyDtoD_v2(there, allocation->ptr, allocation->bytes);
		if (result == CU_OK)
			result = real->cuCtxSynchronize();
		real->cuMemUnmap(there, made->mapped);
	}
	real->cuMemAddressFree(there, made->mapped);
	return result;
}

/* The application's pointers lead nowhere from here on. */
__attribute__((noreturn)) static void lose(const struct shim_allocation *allocation,
					   const char *why)
{
	shim_die("cuIpcGetMemHandle: the %llu bytes at 0x%llx are lost: %s. The program ends; "
		 "start it with GVM_SHIM_MANAGED=0",
		 allocation->bytes, allocation->ptr, why);
}

/* Put the new memory in the place of the managed memory, which is freed. */
static cu_result put_in_place(const struct shim_real *real,
			      const struct shim_allocation *allocation,
			      const struct pinned *made)
{
	int device = allocation->device;
	cu_result result;

	held_begin(allocation->ptr, made->range);
	result = real->cuMemFree_v2(allocation->ptr);
	if (result == CU_OK && !reserve_at(real, allocation->ptr, made->range))
		lose(allocation, "the driver does not reserve their addresses again");
	held_end();
	if (result == CU_OK && pinned_map(real, allocation->ptr, made->mapped, made->memory,
					  device, device) != CU_OK)
		lose(allocation, "the driver does not map them again");
	return result;
}

/* Other GPUs may work with the allocation, too: wait for all that the process has used. */
static cu_result await_gpus(const struct shim_real *real, int own)
{
	cu_result result = real->cuCtxSynchronize();

	for (int i = streams_next_device(-1); i >= 0 && result == CU_OK;
	     i = streams_next_device(i)) {
		struct CUctx_st *context;
		unsigned int flags;
		int active = 0;

		if (i == own || real->cuDevicePrimaryCtxGetState(i, &flags, &active) != CU_OK ||
		    !active || real->cuDevicePrimaryCtxRetain(&context, i) != CU_OK)
			continue;
		if (real->cuCtxPushCurrent_v2(context) == CU_OK) {
			result = real->cuCtxSynchronize();
			real->cuCtxPopCurrent_v2(&context);
		}
		real->cuDevicePrimaryCtxRelease_v2(i);
	}
	return result;
}

static void enter(struct pinned *made)
{
	pthread_mutex_lock(&list_lock);
	made->next = list;
	list = made;
	list_count++;
	pthread_mutex_unlock(&list_lock);
}

/* Take the entry of an address out; NULL: there is none. */
static struct pinned *take_out(cu_ptr ptr)
{
	struct pinned **link = &list, *found;

	if (!list_count)
		return NULL;
	pthread_mutex_lock(&list_lock);
	while (*link && (*link)->ptr != ptr)
		link = &(*link)->next;
	found = *link;
	if (found) {
		*link = found->next;
		list_count--;
	}
	pthread_mutex_unlock(&list_lock);
	return found;
}

static bool key_of(cu_ptr ptr, struct pinned_key *ret_key)
{
	const struct pinned *found;

	pthread_mutex_lock(&list_lock);
	for (found = list; found && found->ptr != ptr; found = found->next)
		;
	if (found)
		*ret_key = found->key;
	pthread_mutex_unlock(&list_lock);
	return found;
}

/* The memory has no user in this process any more. It is there until other processes end, too. */
static cu_result drop(const struct shim_real *real, const struct pinned_gone *gone)
{
	cu_result result = real->cuMemUnmap(gone->ptr, gone->mapped);

	if (result != CU_OK)
		return result;
	real->cuMemAddressFree(gone->ptr, gone->range);
	real->cuMemRelease(gone->memory);
	return CU_OK;
}

static struct pinned_gone gone_of(const struct pinned *entry)
{
	return (struct pinned_gone){ entry->ptr,    entry->mapped,  entry->range,
				     entry->memory, entry->context, NULL };
}

/* As cuMemFree() does: kernels may still use it. */
static cu_result await_and_drop(const struct shim_real *real, const struct pinned_gone *gone)
{
	bool pushed = real->cuCtxPushCurrent_v2(gone->context) == CU_OK;
	struct CUctx_st *popped;
	cu_result result;

	real->cuCtxSynchronize();
	result = drop(real, gone);
	if (pushed)
		real->cuCtxPopCurrent_v2(&popped);
	return result;
}

cu_result pinned_drop(const struct shim_real *real, const struct pinned_gone *gone)
{
	struct pinned_gone *kept;
	cu_result result;

	if (streams_disturb()) {
		result = await_and_drop(real, gone);
		streams_disturbed();
		return result;
	}
	kept = malloc(sizeof(*kept));
	if (!kept)
		return await_and_drop(real, gone);
	pthread_mutex_lock(&list_lock);
	*kept = *gone;
	kept->next = late;
	late = kept;
	late_count++;
	pthread_mutex_unlock(&list_lock);
	return CU_OK;
}

static struct pinned_gone *take_late(void)
{
	struct pinned_gone *gone;

	pthread_mutex_lock(&list_lock);
	gone = late;
	if (gone) {
		late = gone->next;
		late_count--;
	}
	pthread_mutex_unlock(&list_lock);
	return gone;
}

/* One at a time, as no wait is made under list_lock. Meanwhile no context goes. */
void pinned_drop_late(const struct shim_real *real)
{
	while (late_count && streams_disturb()) {
		struct pinned_gone *gone;

		cold_stop();
		gone = take_late();
		if (gone)
			await_and_drop(real, gone);
		cold_go_on();
		streams_disturbed();
		free(gone);
	}
}

/* Nothing moves meanwhile. With CU_OK @made is the list's, or has gone. */
static cu_result swap(const struct shim_real *real, const struct shim_allocation *allocation,
		      struct pinned *made)
{
	cu_result result = copy(real, allocation, made);

	if (result == CU_OK)
		result = put_in_place(real, allocation, made);
	if (result != CU_OK)
		return result;
	enter(made);
	/* Freed meanwhile, which no program may do: its memory goes, if it has not gone already. */
	if (!books_turn(allocation->ptr, allocation->serial, SHIM_EXPORTED)) {
		struct pinned *entry = take_out(allocation->ptr);
		struct pinned_gone gone;

		if (entry) {
			gone = gone_of(entry);
			drop(real, &gone);
			free(entry);
		}
	}
	return CU_OK;
}

/* With the allocation's context. */
static cu_result create_and_swap(const struct shim_real *real,
				 const struct shim_allocation *allocation, struct pinned *made)
{
	cu_result result = create(real, allocation, made);

	if (result != CU_OK)
		return result;
	result = await_gpus(real, allocation->device);
	if (result == CU_OK) {
		cold_stop();
		result = swap(real, allocation, made);
		cold_go_on();
	}
	if (result != CU_OK)
		real->cuMemRelease(made->memory);
	return result;
}

/* NULL: it may be swapped now. @captured: a stream is. */
static const char *refusal(const struct shim_real *real,
			   const struct shim_allocation *allocation, bool captured,
			   cu_result *ret_result)
{
	u64 range = allocation->range_bytes;

	*ret_result = CU_INVALID_VALUE;
	if (allocation->bytes < PINNED_LEAST)
		return "below 2 MiB memory of cuMemAlloc() is managed and cannot be exported: "
		       "allocate 2 MiB or more";
	if (!range)
		return "memory of cuMemAlloc() is managed, and this driver cannot make it "
		       "device memory at its address";
	*ret_result = CU_IN_CAPTURE;
	if (captured)
		return "memory of cuMemAlloc() is managed and cannot be exported for the first "
		       "time while a stream is captured: export it earlier";
	*ret_result = CU_INVALID_VALUE;
	return try_with_another(real, range);
}

static cu_result pin_locked(const struct shim_real *real, cu_ptr ptr,
			    struct pinned_key *ret_key, const char **ret_why)
{
	struct shim_allocation allocation;
	struct CUctx_st *popped;
	struct pinned *made;
	cu_result result;
	bool may_wait;

	if (key_of(ptr, ret_key))
		return CU_OK;
	if (!books_find(ptr, &allocation) || allocation.kind != SHIM_REDIRECTED)
		return CU_INVALID_VALUE;
	made = calloc(1, sizeof(*made));
	if (!made || getrandom(made->key.secret, sizeof(made->key.secret), 0) !=
			     sizeof(made->key.secret)) {
		free(made);
		return CU_OUT_OF_MEMORY;
	}
	made->key.id = next_id++;
	made->ptr = ptr;
	made->bytes = allocation.bytes;
	made->range = allocation.range_bytes;
	made->context = allocation.context;
	*ret_key = made->key;
	result = real->cuCtxPushCurrent_v2(allocation.context);
	if (result == CU_OK) {
		may_wait = streams_disturb();
		*ret_why = refusal(real, &allocation, !may_wait, &result);
		if (!*ret_why)
			result = create_and_swap(real, &allocation, made);
		if (may_wait)
			streams_disturbed();
		real->cuCtxPopCurrent_v2(&popped);
	}
	if (result != CU_OK) {
		free(made);
		return result;
	}
	shim_log("GPU %d: the %llu bytes at 0x%llx are exported: they are device memory from "
		 "now on",
		 allocation.device, allocation.bytes, ptr);
	return CU_OK;
}

cu_result pinned_make(const struct shim_real *real, cu_ptr ptr, struct pinned_key *ret_key,
		      const char **ret_why)
{
	cu_result result;

	*ret_why = NULL;
	pthread_mutex_lock(&pin_lock);
	result = pin_locked(real, ptr, ret_key, ret_why);
	pthread_mutex_unlock(&pin_lock);
	return result;
}

bool pinned_free(cu_ptr ptr, cu_result *ret_result)
{
	const struct shim_real *real = shim_real();
	struct pinned *entry = take_out(ptr);
	struct pinned_gone gone;

	if (!entry)
		return false;
	gone = gone_of(entry);
	/* Where the driver frees no memory now, as in a capture, it says so of none, too. */
	*ret_result = real->cuMemFree_v2(0);
	if (*ret_result == CU_OK)
		*ret_result = pinned_drop(real, &gone);
	if (*ret_result == CU_OK)
		free(entry);
	else
		enter(entry);
	return true;
}

/* Without a comparison that ends at the first difference. */
static bool same_secret(const u64 a[2], const u64 b[2])
{
	return !((a[0] ^ b[0]) | (a[1] ^ b[1]));
}

int pinned_descriptor(const struct shim_real *real, const struct pinned_key *key,
		      u64 *ret_bytes, u64 *ret_mapped)
{
	const struct pinned *found;
	int fd = -1;

	/* Under the lock: once it is released, the driver's handle may be another memory's. */
	pthread_mutex_lock(&list_lock);
	for (found = list; found && found->key.id != key->id; found = found->next)
		;
	if (found && same_secret(found->key.secret, key->secret)) {
		*ret_bytes = found->bytes;
		*ret_mapped = found->mapped;
		if (real->cuMemExportToShareableHandle(&fd, found->memory, CU_HANDLE_FD, 0) !=
		    CU_OK)
			fd = -1;
	}
	pthread_mutex_unlock(&list_lock);
	return fd;
}

/* Memory of cuMemAlloc() goes with its context, but not this one. */
void pinned_forget_context(const struct CUctx_st *context)
{
	struct pinned_gone **late_link = &late;
	struct pinned **link = &list;

	pthread_mutex_lock(&list_lock);
	while (*link) {
		struct pinned *entry = *link;
		struct pinned_gone gone = gone_of(entry);

		if (entry->context != context) {
			link = &entry->next;
			continue;
		}
		*link = entry->next;
		list_count--;
		drop(shim_real(), &gone);
		free(entry);
	}
	while (*late_link) {
		struct pinned_gone *gone = *late_link;

		if (gone->context != context) {
			late_link = &gone->next;
			continue;
		}
		*late_link = gone->next;
		late_count--;
		drop(shim_real(), gone);
		free(gone);
	}
	pthread_mutex_unlock(&list_lock);
}

/* The list is the parent's: its memory is left where it is, as it is once for each fork. */
void pinned_reset(void)
{
	pthread_mutex_init(&pin_lock, NULL);
	pthread_mutex_init(&list_lock, NULL);
	list = NULL;
	list_count = 0;
	late = NULL;
	late_count = 0;
}
