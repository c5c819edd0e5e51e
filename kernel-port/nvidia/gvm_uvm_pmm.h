/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Included at the end of nvidia-uvm's uvm_pmm_gpu.c, whose static functions it uses: the hooks
 * of the PMM, and what gvm_nvidia.ko asks of it.
 */
#include <linux/module.h>
#include <linux/pci.h>

#include "gvm_uvm.h"
#include "gvm_uvm_version.h"

/* How many victims of the policy one pick looks at that turn out to be in use. */
#define GVM_UVM_VICTIMS_MAX 4u

/* Exported by gvm_nvidia.ko. Never referred to but by symbol_get(). */
extern const struct gvm_uvm_calls gvm_uvm_calls;

/* A managed GPU, with what only nvidia-uvm needs. */
struct gvm_uvm_managed {
	struct gvm_uvm_gpu gpu;
	struct list_head node;	   /* in gvm_uvm_gpus */
	struct list_head requests; /* gvm_uvm_request.node; PMM list lock */
	/*
	 * gvm_uvm_space, by VA space: pointer_key(). One is attached from the first
	 * registration of the GPU in the VA space until that is destroyed, or the GPU goes. The
	 * thread that erases it detaches it.
	 */
	struct xarray spaces;
	struct xarray channels; /* gvm_uvm_channel, by channel of nvidia-uvm's: pointer_key() */
	refcount_t users;	/* threads that detach one, and nvidia-uvm until the GPU goes */
	struct completion unused;
};

/*
 * All managed GPUs. Changed under gvm_uvm_lock when a GPU comes or goes, read under
 * RCU. A reader's own GPU stays.
 */
static LIST_HEAD(gvm_uvm_gpus);
static DEFINE_SPINLOCK(gvm_uvm_lock);

struct gvm_uvm_gpu *gvm_uvm_find(const uvm_pmm_gpu_t *pmm)
{
	struct gvm_uvm_gpu *found = NULL;
	struct gvm_uvm_managed *managed;

	rcu_read_lock();
	list_for_each_entry_rcu(managed, &gvm_uvm_gpus, node) {
		if (managed->gpu.pmm == pmm) {
			found = &managed->gpu;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

static struct gvm_uvm_managed *gvm_uvm_managed(struct gvm_uvm_gpu *gpu)
{
	return container_of(gpu, struct gvm_uvm_managed, gpu);
}

static u32 gvm_uvm_index(const uvm_gpu_chunk_t *chunk)
{
	return (u32)(chunk->address / UVM_CHUNK_SIZE_MAX);
}

/* The services. */

/*
 * Start the eviction of a root chunk, if it is evictable. Returns as gvm_uvm_services.evict.
 */
static int gvm_uvm_start(uvm_pmm_gpu_t *pmm, uvm_gpu_root_chunk_t *root)
{
	uvm_gpu_chunk_t *chunk = &root->chunk;
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);
	int status = 0;

	uvm_spin_lock(&pmm->list_lock);
	if (chunk_is_in_eviction(pmm, chunk) ||
	    !gpu->calls->is_picked(gpu, gvm_uvm_index(chunk))) {
		status = -ENOENT;
	} else if (!chunk_is_evictable(pmm, chunk)) {
		gpu->calls->putback(gpu, gvm_uvm_index(chunk));
		status = -EBUSY;
	} else {
		chunk_start_eviction(pmm, chunk);
	}
	uvm_spin_unlock(&pmm->list_lock);
	return status;
}

static int gvm_uvm_evict_root(uvm_pmm_gpu_t *pmm, u32 index, bool keep)
{
	uvm_gpu_root_chunk_t *root = &pmm->root_chunks.array[index];
	int error = gvm_uvm_start(pmm, root);
	NV_STATUS status;

	if (error)
		return error;
	uvm_mutex_lock(&pmm->lock);
	status = evict_root_chunk(pmm, root, PMM_CONTEXT_DEFAULT);
	uvm_mutex_unlock(&pmm->lock);
	if (status == NV_OK && !keep)
		free_chunk(pmm, &root->chunk);
	/* It has left, and went to RM's allocator with an elevated page. */
	if (status == NV_ERR_IN_USE)
		return keep ? -ENOENT : 0;
	return status == NV_OK ? 0 : -EIO;
}

static int gvm_uvm_evict(void *pmm, u32 index, bool keep)
{
	UVM_ENTRY_RET(gvm_uvm_evict_root(pmm, index, keep));
}

/*
 * If the PMM keeps a free chunk, the victim's goes to the end of that list, and the first one
 * is taken, whose copies have most likely ended. So the copy in need not wait for the copy out.
 * A chunk on the list has a tracker of its copies, so nothing waits here. The rest is as
 * uvm_pmm_gpu_alloc() ends.
 */
NV_STATUS gvm_uvm_chunk_take(uvm_pmm_gpu_t *pmm, u32 index, uvm_tracker_t *tracker,
			     uvm_gpu_chunk_t **ret_chunk)
{
	uvm_gpu_root_chunk_t *root = &pmm->root_chunks.array[index];
	uvm_tracker_t copies = UVM_TRACKER_INIT();
	uvm_gpu_chunk_t *other;
	NV_STATUS status;

	other = claim_free_chunk(pmm, root->chunk.type, UVM_CHUNK_SIZE_MAX);
	if (other) {
		try_chunk_free(pmm, &root->chunk);
		root = root_chunk_from_chunk(pmm, other);
	}
	root_chunk_lock(pmm, root);
	uvm_tracker_remove_completed(&root->tracker);
	status = uvm_tracker_add_tracker_safe(&copies, &root->tracker);
	root_chunk_unlock(pmm, root);
	/* Others must not see channels of a GPU that they have not registered. */
	if (status == NV_OK)
		status = uvm_tracker_wait_for_other_gpus(&copies, uvm_pmm_to_gpu(pmm));
	if (status == NV_OK)
		status = uvm_tracker_add_tracker_safe(tracker, &copies);
	uvm_tracker_deinit(&copies);
	if (status == NV_OK)
		*ret_chunk = &root->chunk;
	else
		free_chunk(pmm, &root->chunk);
	return status;
}

static bool gvm_uvm_evictable(void *void_pmm, u32 index)
{
	uvm_pmm_gpu_t *pmm = void_pmm;
	const uvm_gpu_chunk_t *chunk = &pmm->root_chunks.array[index].chunk;

	return !chunk->in_eviction && (chunk->state == UVM_PMM_GPU_CHUNK_STATE_ALLOCATED ||
				       chunk->state == UVM_PMM_GPU_CHUNK_STATE_IS_SPLIT);
}

/* Free pages of RM's allocator. Free chunks that the PMM keeps are not counted. */
static u32 gvm_uvm_free_chunks(void *void_pmm)
{
	uvm_pmm_gpu_t *pmm = void_pmm;

	return (u32)READ_ONCE(pmm->pma_stats->numFreePages2m);
}

#define GVM_UVM_KEPT_MAX 64u

/* Both lists of free root chunks, of which a user's allocation takes one. */
static u32 gvm_uvm_kept_chunks(void *void_pmm)
{
	static const uvm_pmm_list_zero_t lists[] = { UVM_PMM_LIST_ZERO, UVM_PMM_LIST_NO_ZERO };
	uvm_pmm_gpu_t *pmm = void_pmm;
	struct list_head *node;
	u32 kept = 0;

	uvm_spin_lock(&pmm->list_lock);
	for (u32 i = 0; i < ARRAY_SIZE(lists); i++)
		list_for_each(node, find_free_list(pmm, UVM_PMM_GPU_MEMORY_TYPE_USER,
						   UVM_CHUNK_SIZE_MAX, lists[i]))
			if (++kept >= GVM_UVM_KEPT_MAX)
				break;
	uvm_spin_unlock(&pmm->list_lock);
	return min(kept, GVM_UVM_KEPT_MAX);
}

static const struct gvm_uvm_services gvm_uvm_services = {
	.evict = gvm_uvm_evict,
	.evictable = gvm_uvm_evictable,
	.free_chunks = gvm_uvm_free_chunks,
	.kept_chunks = gvm_uvm_kept_chunks,
	.tsg_set_timeslice = gvm_uvm_tsg_set_timeslice,
	.tsg_preempt = gvm_uvm_tsg_preempt,
	.channel_disable = gvm_uvm_channel_disable,
};

/* The hooks. */

static bool gvm_uvm_has_faults(const uvm_gpu_t *gpu)
{
#ifdef GVM_UVM_FAULTS_SUPPORTED
	return gpu->parent->replayable_faults_supported;
#else
	return true;
#endif
}

/*
 * How many GPUs of the same driver have a lower PCI address. GPUs come here in the order of
 * their first use, which is no number that a user can know.
 */
static u32 gvm_uvm_place(const struct pci_dev *own)
{
	struct pci_dev *pci = NULL;
	u32 place = 0;

	while (own && (pci = pci_get_device(own->vendor, PCI_ANY_ID, pci))) {
		int domain = pci_domain_nr(pci->bus) - pci_domain_nr(own->bus);
		int bus = pci->bus->number - own->bus->number;

		if (pci->driver != own->driver)
			continue;
		place += domain ? domain < 0 : bus ? bus < 0 : pci->devfn < own->devfn;
	}
	return place;
}

/*
 * An instance of MIG has memory of its own, and is a GPU of its own here. Its id is below 16,
 * nvidia-smi's "GPU instance ID".
 */
static u32 gvm_uvm_number(const uvm_gpu_t *gpu)
{
	u32 place = gvm_uvm_place(gpu->parent->pci_dev);

	return gpu->parent->smc.enabled ? 16 * (place + 1) + gpu->smc.swizz_id : place;
}

/*
 * Without gvm_nvidia.ko, or when it refuses, the GPU is the stock driver's; and without
 * replayable faults, since nvidia-uvm evicts nothing there. With ATS the GPU reads the page
 * tables of the CPU, and nvidia-uvm does not choose what is on it.
 */
void gvm_uvm_gpu_add(uvm_pmm_gpu_t *pmm)
{
	uvm_gpu_t *gpu = uvm_pmm_to_gpu(pmm);
	const struct gvm_uvm_calls *calls;
	struct gvm_uvm_managed *managed;
	int status = -ENOMEM;

	if (!gvm_uvm_has_faults(gpu))
		return;
	calls = symbol_get(gvm_uvm_calls);
	if (!calls)
		return;
	if (g_uvm_global.ats.enabled) {
		pr_warn("gvm does not manage %s: ATS\n", uvm_gpu_name(gpu));
		symbol_put(gvm_uvm_calls);
		return;
	}
	managed = uvm_kvmalloc_zero(sizeof(*managed));
	if (managed && calls->version == GVM_UVM_VERSION) {
		managed->gpu.calls = calls;
		managed->gpu.services = &gvm_uvm_services;
		managed->gpu.pmm = pmm;
		managed->gpu.number = gvm_uvm_number(gpu);
		managed->gpu.chunk_count = (u32)pmm->root_chunks.count;
		snprintf(managed->gpu.name, sizeof(managed->gpu.name), "%s", uvm_gpu_name(gpu));
		INIT_LIST_HEAD(&managed->requests);
		xa_init(&managed->spaces);
		xa_init(&managed->channels);
		refcount_set(&managed->users, 1);
		init_completion(&managed->unused);
		status = calls->gpu_add(&managed->gpu);
	} else if (managed) {
		status = -EPROTO;
	}
	if (status) {
		pr_warn("gvm does not manage %s (%d)\n", uvm_gpu_name(gpu), status);
		uvm_kvfree(managed);
		symbol_put(gvm_uvm_calls);
		return;
	}
	spin_lock(&gvm_uvm_lock);
	list_add_rcu(&managed->node, &gvm_uvm_gpus);
	spin_unlock(&gvm_uvm_lock);
}

static void gvm_uvm_put(struct gvm_uvm_managed *managed)
{
	if (refcount_dec_and_test(&managed->users))
		complete(&managed->unused);
}

/* No VA space has it registered. Some may be attached still. */
void gvm_uvm_gpu_remove(uvm_pmm_gpu_t *pmm)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);
	struct gvm_uvm_managed *managed;
	struct gvm_uvm_space *space;
	unsigned long key;

	if (!gpu)
		return;
	managed = gvm_uvm_managed(gpu);
	gvm_uvm_put(managed);
	wait_for_completion(&managed->unused);
	xa_for_each(&managed->spaces, key, space)
		gpu->calls->detach(space);
	gpu->calls->gpu_remove(gpu);
	spin_lock(&gvm_uvm_lock);
	list_del_rcu(&managed->node);
	spin_unlock(&gvm_uvm_lock);
	synchronize_rcu();
	xa_destroy(&managed->spaces);
	WARN_ON_ONCE(!xa_empty(&managed->channels));
	uvm_kvfree(managed);
	symbol_put(gvm_uvm_calls);
}

static unsigned long pointer_key(const void *pointer)
{
	return (unsigned long)pointer >> 3; /* at least so aligned */
}

int gvm_uvm_channel_keep(struct gvm_uvm_gpu *gpu, const uvm_user_channel_t *user_channel,
			 struct gvm_uvm_channel *channel)
{
	return xa_insert(&gvm_uvm_managed(gpu)->channels, pointer_key(user_channel), channel,
			 GFP_KERNEL);
}

struct gvm_uvm_channel *gvm_uvm_channel_drop(struct gvm_uvm_gpu *gpu,
					     const uvm_user_channel_t *user_channel)
{
	return xa_erase(&gvm_uvm_managed(gpu)->channels, pointer_key(user_channel));
}

struct gvm_uvm_space *gvm_uvm_space_find(uvm_pmm_gpu_t *pmm, const uvm_va_space_t *va_space)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	return gpu ? xa_load(&gvm_uvm_managed(gpu)->spaces, pointer_key(va_space)) : NULL;
}

/* Two threads may come at once: one of them attaches. */
NV_STATUS gvm_uvm_space_enter(uvm_pmm_gpu_t *pmm, const uvm_va_space_t *va_space)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);
	struct gvm_uvm_space *space;
	int status;

	if (!gpu || gvm_uvm_space_find(pmm, va_space))
		return NV_OK;
	status = gpu->calls->attach(gpu, &space);
	if (status)
		return gvm_uvm_status(status);
	status = xa_insert(&gvm_uvm_managed(gpu)->spaces, pointer_key(va_space), space,
			   GFP_KERNEL);
	if (status)
		gpu->calls->detach(space);
	return gvm_uvm_status(status == -EBUSY ? 0 : status);
}

/*
 * Take the VA space out of the books of a GPU. Returns NULL: it is attached
 * nowhere. The GPU stays until gvm_uvm_put(). One that is about to go keeps its VA
 * spaces, and detaches them itself.
 */
static struct gvm_uvm_managed *gvm_uvm_space_take(const uvm_va_space_t *va_space,
						  struct gvm_uvm_space **ret_space)
{
	struct gvm_uvm_managed *found = NULL;
	struct gvm_uvm_managed *managed;

	rcu_read_lock();
	list_for_each_entry_rcu(managed, &gvm_uvm_gpus, node) {
		if (!refcount_inc_not_zero(&managed->users))
			continue;
		*ret_space = xa_erase(&managed->spaces, pointer_key(va_space));
		if (*ret_space) {
			found = managed;
			break;
		}
		gvm_uvm_put(managed);
	}
	rcu_read_unlock();
	return found;
}

struct gvm_uvm_space *gvm_uvm_space_on(const uvm_va_space_t *va_space, uvm_gpu_id_t id)
{
	struct gvm_uvm_space *found = NULL;
	struct gvm_uvm_managed *managed;

	rcu_read_lock();
	list_for_each_entry_rcu(managed, &gvm_uvm_gpus, node) {
		if (uvm_id_equal(uvm_pmm_to_gpu(managed->gpu.pmm)->id, id))
			found = xa_load(&managed->spaces, pointer_key(va_space));
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

bool gvm_uvm_is_attached(const uvm_va_space_t *va_space)
{
	struct gvm_uvm_managed *managed;
	bool attached = false;

	rcu_read_lock();
	list_for_each_entry_rcu(managed, &gvm_uvm_gpus, node)
		attached |= xa_load(&managed->spaces, pointer_key(va_space)) != NULL;
	rcu_read_unlock();
	return attached;
}

void gvm_uvm_space_leave_all(const uvm_va_space_t *va_space)
{
	struct gvm_uvm_managed *managed;
	struct gvm_uvm_space *space;

	while ((managed = gvm_uvm_space_take(va_space, &space))) {
		managed->gpu.calls->detach(space);
		gvm_uvm_put(managed);
	}
}

/*
 * The next managed GPU where the VA space is attached, or NULL. It stays until gvm_uvm_put().
 * @before: the last one, which is put; NULL: from the first on.
 */
static struct gvm_uvm_managed *gvm_uvm_space_next(const uvm_va_space_t *va_space,
						  struct gvm_uvm_managed *before,
						  struct gvm_uvm_space **ret_space)
{
	struct gvm_uvm_managed *found = NULL;
	struct gvm_uvm_managed *managed = list_prepare_entry(before, &gvm_uvm_gpus, node);

	rcu_read_lock();
	list_for_each_entry_continue_rcu(managed, &gvm_uvm_gpus, node) {
		if (!refcount_inc_not_zero(&managed->users))
			continue;
		*ret_space = xa_load(&managed->spaces, pointer_key(va_space));
		if (*ret_space) {
			found = managed;
			break;
		}
		gvm_uvm_put(managed);
	}
	rcu_read_unlock();
	if (before)
		gvm_uvm_put(before);
	return found;
}

int gvm_uvm_each_space(const uvm_va_space_t *va_space,
		       int (*call)(struct gvm_uvm_space *space, u64 first, u64 last), u64 first,
		       u64 last)
{
	struct gvm_uvm_managed *managed = NULL;
	struct gvm_uvm_space *space;
	int status = 0;

	while (!status && (managed = gvm_uvm_space_next(va_space, managed, &space)))
		status = call(space, first, last);
	if (managed)
		gvm_uvm_put(managed);
	return status;
}

NV_STATUS gvm_uvm_status(int error)
{
	switch (error) {
	case 0:
		return NV_OK;
	case -EINTR:
		return NV_ERR_SIGNAL_PENDING;
	case -ENODEV:
		return NV_ERR_GPU_IS_LOST;
	default:
		return NV_ERR_NO_MEMORY;
	}
}

static void gvm_uvm_chunk_leaves(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	if (gpu)
		gpu->calls->leaves(gpu, chunk->address, uvm_gpu_chunk_get_size(chunk));
}

void gvm_uvm_chunk_freed(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	gvm_uvm_chunk_leaves(pmm, chunk);
}

void gvm_uvm_chunk_evicted(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	gvm_uvm_chunk_leaves(pmm, chunk);
}

void gvm_uvm_chunk_used(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	if (gpu)
		gpu->calls->used(gpu, gvm_uvm_index(chunk), true);
}

void gvm_uvm_chunk_unused(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	if (gpu)
		gpu->calls->used(gpu, gvm_uvm_index(chunk), false);
}

void gvm_uvm_chunk_discarded(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	gvm_uvm_chunk_unused(pmm, chunk);
}

void gvm_uvm_request_begin(uvm_pmm_gpu_t *pmm, struct gvm_uvm_request *request,
			   struct gvm_uvm_space *space)
{
	request->task = current;
	request->space = space;
	uvm_spin_lock(&pmm->list_lock);
	list_add(&request->node, &gvm_uvm_managed(gvm_uvm_find(pmm))->requests);
	uvm_spin_unlock(&pmm->list_lock);
}

void gvm_uvm_request_end(uvm_pmm_gpu_t *pmm, struct gvm_uvm_request *request)
{
	uvm_spin_lock(&pmm->list_lock);
	list_del(&request->node);
	uvm_spin_unlock(&pmm->list_lock);
}

/* The VA space that the calling thread allocates for, or NULL. PMM list lock held. */
static struct gvm_uvm_space *gvm_uvm_requester(uvm_pmm_gpu_t *pmm)
{
	struct gvm_uvm_request *request;

	list_for_each_entry(request, &gvm_uvm_managed(gvm_uvm_find(pmm))->requests, node)
		if (request->task == current)
			return request->space;
	return NULL;
}

/*
 * The stock driver would evict @first, or has no victim. The chunk to evict instead, or NULL.
 * The policy's choice may be in use: only here, under the PMM list lock, this is known.
 */
uvm_gpu_chunk_t *gvm_uvm_victim(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *first)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);
	uvm_gpu_chunk_t *chunk = NULL;

	if (!gpu)
		return first;
	for (u32 i = 0; i < GVM_UVM_VICTIMS_MAX; i++) {
		bool is_free = first && first->state == UVM_PMM_GPU_CHUNK_STATE_FREE;
		u32 index = first ? gvm_uvm_index(first) : GVM_UVM_NO_CHUNK;

		index = gpu->calls->victim(gpu, gvm_uvm_requester(pmm), index, is_free);
		if (index == GVM_UVM_NO_CHUNK)
			return NULL;
		chunk = &pmm->root_chunks.array[index].chunk;
		if (chunk_is_evictable(pmm, chunk))
			return chunk;
		gpu->calls->putback(gpu, index);
	}
	return NULL;
}

void gvm_uvm_eviction_starts(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	if (gpu)
		gpu->calls->eviction_starts(gpu, gvm_uvm_index(chunk));
}

void gvm_uvm_eviction_fails(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	if (gpu)
		gpu->calls->eviction_fails(gpu, gvm_uvm_index(chunk));
}

/* The driver's lock of power management is held: no GPU comes or goes. */
void gvm_uvm_suspend(void)
{
	struct gvm_uvm_managed *managed;

	list_for_each_entry(managed, &gvm_uvm_gpus, node)
		managed->gpu.calls->suspend(&managed->gpu);
}

void gvm_uvm_resume(void)
{
	struct gvm_uvm_managed *managed;

	list_for_each_entry(managed, &gvm_uvm_gpus, node)
		managed->gpu.calls->resume(&managed->gpu);
}
