// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A source of nvidia-uvm.ko: which GPUs gvm_nvidia.ko manages, and which VA spaces and channels
 * are known there.
 */
#include "gvm_uvm_hooks.h"

#include <linux/module.h>
#include <linux/pci.h>

#include "gvm_uvm.h"
#include "gvm_uvm_version.h"
#include "uvm_global.h"
#include "uvm_kvmalloc.h"

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

/* A record of a GPU, on no list, with nvidia-uvm's reference. NULL: there is no memory. */
static struct gvm_uvm_managed *gvm_uvm_managed_make(uvm_pmm_gpu_t *pmm,
						    const struct gvm_uvm_calls *calls)
{
	struct gvm_uvm_managed *managed = uvm_kvmalloc_zero(sizeof(*managed));
	uvm_gpu_t *gpu = uvm_pmm_to_gpu(pmm);

	if (!managed)
		return NULL;
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
	return managed;
}

/* Give the GPU to gvm_nvidia.ko. Returns 0 or -errno. */
static int gvm_uvm_manage(uvm_pmm_gpu_t *pmm, const struct gvm_uvm_calls *calls)
{
	struct gvm_uvm_managed *managed;
	int status;

	if (calls->version != GVM_UVM_VERSION)
		return -EPROTO;
	managed = gvm_uvm_managed_make(pmm, calls);
	if (!managed)
		return -ENOMEM;
	status = calls->gpu_add(&managed->gpu);
	if (status) {
		uvm_kvfree(managed);
		return status;
	}
	spin_lock(&gvm_uvm_lock);
	list_add_rcu(&managed->node, &gvm_uvm_gpus);
	spin_unlock(&gvm_uvm_lock);
	return 0;
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
	int status;

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
	status = gvm_uvm_manage(pmm, calls);
	if (status) {
		pr_warn("gvm does not manage %s (%d)\n", uvm_gpu_name(gpu), status);
		symbol_put(gvm_uvm_calls);
	}
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

struct gvm_uvm_space *gvm_uvm_requester(uvm_pmm_gpu_t *pmm)
{
	struct gvm_uvm_request *request;

	list_for_each_entry(request, &gvm_uvm_managed(gvm_uvm_find(pmm))->requests, node)
		if (request->task == current)
			return request->space;
	return NULL;
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
