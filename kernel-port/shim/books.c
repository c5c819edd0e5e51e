// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Books of device memory: each allocation by its address, and their sum,
 * which the limit bounds.
 *
 * Memory is charged before the driver is asked for it, and uncharged once, by the size that was
 * recorded. So the sum never exceeds the limit, not even between two threads. It is the sum of
 * what the application asked for: contexts, code and rounding of the driver are not in it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fence.h"

/* Open addressing; the size is a power of two, and half of it stays free. */
static struct shim_allocation *table;
static size_t table_size;
static size_t table_count;
static u64 serial;
/* Written under books_lock; a signal handler reads them, too. */
static _Atomic u64 used[SHIM_DEVICES];
static _Atomic u64 managed[SHIM_DEVICES]; /* of @used, what the application asked for so */
static _Atomic u64 peak[SHIM_DEVICES];
static _Atomic u64 counts[SHIM_KINDS];
static _Atomic u64 refused[SHIM_DEVICES];
/* Written to a control file. */
static _Atomic u64 own_limit[SHIM_DEVICES];
static _Atomic bool own_limit_given[SHIM_DEVICES];
static pthread_mutex_t books_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t slot_of(cu_ptr ptr)
{
	return (size_t)((ptr >> 8) * 0x9e3779b97f4a7c15ull >> 20) & (table_size - 1);
}

static struct shim_allocation *find_locked(cu_ptr ptr)
{
	if (!table_size)
		return NULL;
	for (size_t i = slot_of(ptr); table[i].ptr; i = (i + 1) & (table_size - 1))
		if (table[i].ptr == ptr)
			return &table[i];
	return NULL;
}

static void insert_locked(const struct shim_allocation *allocation)
{
	size_t i = slot_of(allocation->ptr);

	while (table[i].ptr)
		i = (i + 1) & (table_size - 1);
	table[i] = *allocation;
	table_count++;
}

static bool grow_locked(void)
{
	struct shim_allocation *old = table;
	size_t old_size = table_size;
	size_t size = old_size ? 2 * old_size : 1024;
	struct shim_allocation *new = calloc(size, sizeof(*new));

	if (!new)
		return false;
	table = new;
	table_size = size;
	table_count = 0;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].ptr)
			insert_locked(&old[i]);
	free(old);
	return true;
}

/*
 * The entries after a removed one may have been put there because of it:
 * they are inserted again.
 */
static void remove_locked(struct shim_allocation *entry)
{
	size_t i = (size_t)(entry - table);

	entry->ptr = 0;
	table_count--;
	for (i = (i + 1) & (table_size - 1); table[i].ptr; i = (i + 1) & (table_size - 1)) {
		struct shim_allocation moved = table[i];

		table[i].ptr = 0;
		table_count--;
		insert_locked(&moved);
	}
}

static bool valid(int device)
{
	return device >= 0 && device < SHIM_DEVICES;
}

void books_set_limit(int device, u64 bytes)
{
	own_limit[device] = bytes; /* first: another thread may be allocating */
	own_limit_given[device] = true;
}

bool books_limit_given(int device)
{
	u64 bytes;

	return (valid(device) && own_limit_given[device]) ||
	       shim_size_of(&shim_settings.limit, device, 0, &bytes);
}

u64 books_limit(int device, u64 total)
{
	u64 bytes;

	if (valid(device) && own_limit_given[device])
		return own_limit[device];
	return shim_size_of(&shim_settings.limit, device, total, &bytes) ? bytes : total;
}

/* What counts against a limit. */
enum counted { ALL_MEMORY, NOT_MANAGED };

static bool charge(int device, enum shim_kind kind, u64 bytes, u64 limit, enum counted counted)
{
	u64 in_use;
	bool fits = true;

	if (!valid(device))
		return true;
	/* In a container without a limit: what its other processes have managed counts. */
	if (shared_wanted() && !shared_charge(device, bytes,
					      limit == SHIM_NO_LIMIT || counted == ALL_MEMORY ?
						      limit :
						      limit + managed[device]))
		return false;
	pthread_mutex_lock(&books_lock);
	in_use = used[device] - (counted == NOT_MANAGED ? managed[device] : 0);
	if (!shared_wanted())
		fits = bytes <= limit && in_use <= limit - bytes;
	if (fits) {
		used[device] += bytes;
		managed[device] += kind == SHIM_MANAGED ? bytes : 0;
		if (used[device] > peak[device])
			peak[device] = used[device];
	}
	pthread_mutex_unlock(&books_lock);
	return fits;
}

bool books_charge(int device, enum shim_kind kind, u64 bytes, u64 total)
{
	bool fits;

	if (books_limit_given(device))
		fits = charge(device, kind, bytes, books_limit(device, total), ALL_MEMORY);
	else if (kind == SHIM_MANAGED)
		fits = charge(device, kind, bytes, SHIM_NO_LIMIT, ALL_MEMORY);
	else
		fits = charge(device, kind, bytes, total, NOT_MANAGED);
	if (!fits) {
		refused[device]++;
		shim_wake_if_idle();
	}
	return fits;
}

u64 books_refused(int device)
{
	return valid(device) ? refused[device] : 0;
}

void books_uncharge(int device, enum shim_kind kind, u64 bytes)
{
	if (!valid(device))
		return;
	pthread_mutex_lock(&books_lock);
	used[device] -= bytes;
	managed[device] -= kind == SHIM_MANAGED ? bytes : 0;
	pthread_mutex_unlock(&books_lock);
	if (shared_wanted())
		shared_uncharge(device, bytes);
}

static void enter(const struct shim_allocation *allocation, u32 more)
{
	bool known;

	pthread_mutex_lock(&books_lock);
	counts[allocation->kind] += more;
	known = 2 * (table_count + 1) <= table_size || grow_locked();
	if (known) {
		struct shim_allocation entry = *allocation;

		entry.serial = ++serial;
		insert_locked(&entry);
	}
	pthread_mutex_unlock(&books_lock);
	if (!known) /* it could never be uncharged again */
		books_uncharge(allocation->device, allocation->kind, allocation->bytes);
}

void books_add(const struct shim_allocation *allocation)
{
	enter(allocation, 1);
}

void books_restore(const struct shim_allocation *allocation)
{
	if (charge(allocation->device, allocation->kind, allocation->bytes, SHIM_NO_LIMIT,
		   ALL_MEMORY))
		enter(allocation, 0);
}

bool books_find(cu_ptr ptr, struct shim_allocation *ret_allocation)
{
	struct shim_allocation *entry;

	pthread_mutex_lock(&books_lock);
	entry = find_locked(ptr);
	if (entry)
		*ret_allocation = *entry;
	pthread_mutex_unlock(&books_lock);
	return entry != NULL;
}

bool books_turn(cu_ptr ptr, u64 serial_before, enum shim_kind kind)
{
	struct shim_allocation *entry;

	pthread_mutex_lock(&books_lock);
	entry = find_locked(ptr);
	if (entry && entry->serial != serial_before)
		entry = NULL;
	if (entry) {
		entry->kind = kind;
		counts[kind]++;
	}
	pthread_mutex_unlock(&books_lock);
	return entry != NULL;
}

void books_each(void (*take)(void *data, const struct shim_allocation *allocation), void *data)
{
	pthread_mutex_lock(&books_lock);
	for (size_t i = 0; i < table_size; i++)
		if (table[i].ptr)
			take(data, &table[i]);
	pthread_mutex_unlock(&books_lock);
}

bool books_remove(cu_ptr ptr, struct shim_allocation *ret_allocation)
{
	struct shim_allocation *entry;

	pthread_mutex_lock(&books_lock);
	entry = find_locked(ptr);
	if (entry) {
		*ret_allocation = *entry;
		remove_locked(entry);
	}
	pthread_mutex_unlock(&books_lock);
	if (entry)
		books_uncharge(ret_allocation->device, ret_allocation->kind,
			       ret_allocation->bytes);
	return entry != NULL;
}

void books_forget_context(struct CUctx_st *context)
{
	u64 gone[SHIM_KINDS][SHIM_DEVICES] = { 0 };

	pthread_mutex_lock(&books_lock);
	for (size_t i = 0; i < table_size;) {
		if (!table[i].ptr || table[i].context != context) {
			i++;
			continue;
		}
		gone[table[i].kind][table[i].device] += table[i].bytes;
		if (shim_settings.fence != SHIM_NO_FENCE)
			partition_free(table[i].ptr);
		remove_locked(&table[i]); /* another one may be here now */
	}
	pthread_mutex_unlock(&books_lock);
	for (int kind = 0; kind < SHIM_KINDS; kind++)
		for (int i = 0; i < SHIM_DEVICES; i++)
			if (gone[kind][i])
				books_uncharge(i, (enum shim_kind)kind, gone[kind][i]);
}

u64 books_used(int device)
{
	return valid(device) ? used[device] : 0;
}

u64 books_used_all(int device)
{
	return shared_wanted() ? shared_used(device) : books_used(device);
}

u64 books_managed(int device)
{
	return valid(device) ? managed[device] : 0;
}

u64 books_peak(int device)
{
	return valid(device) ? peak[device] : 0;
}

u64 books_count(enum shim_kind kind)
{
	return counts[kind];
}

/* The child of a fork has none of its parent's memory: it cannot use the parent's CUDA. */
void books_reset(void)
{
	pthread_mutex_init(&books_lock, NULL);
	free(table);
	table = NULL;
	table_size = 0;
	table_count = 0;
	memset((void *)used, 0, sizeof(used));
	memset((void *)managed, 0, sizeof(managed));
	memset((void *)peak, 0, sizeof(peak));
	memset((void *)counts, 0, sizeof(counts));
	memset((void *)refused, 0, sizeof(refused));
}
