/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Members: processes and cgroups on devices, and which container each of them has. Below the
 * registry, whose mutex guards all of it.
 *
 * A cgroup's member holds its container as a process would. So its limits exist before its
 * first process opens a GPU, and after the last one has closed it.
 */
#ifndef GVM_MEMBERS_H
#define GVM_MEMBERS_H

#include <linux/wait.h>

#include "gvm/container.h"

struct cgroup;
struct gvm_control_dir;
struct pid;

/* A registered device. Guarded by gvm_registry_mutex but for what is set once. */
struct gvm_registration {
	struct gvm_device device;
	struct list_head node;	  /* in gvm_registrations */
	struct list_head members; /* gvm_member.node */
	u32 index;		  /* set once */
};

/* A cgroup that the administrator has made a container. Guarded by gvm_registry_mutex. */
struct gvm_cgroup {
	struct list_head node; /* in gvm_cgroups */
	struct cgroup *cgroup; /* a reference */
	u32 members;	       /* gvm_member.cgroup */
	bool leaving;	       /* its members are being removed */
	char path[512];	       /* "cgroup/a/b" */
	char settings[768];    /* "gmem.limit.high=20G compute.weight=30", of each member */
	char words[768];       /* the same, being cut into words: too large for a stack */
};

/* A process or a cgroup on a device. Guarded by gvm_registry_mutex. */
struct gvm_member {
	struct list_head node; /* in gvm_registration.members */
	struct gvm_registration *registration;
	struct pid *pid;		 /* a reference; NULL: a cgroup's */
	struct gvm_cgroup *cgroup;	 /* NULL: a process's */
	u32 spaces;			 /* attached address spaces; of a cgroup: 1 */
	bool by_hand;			 /* one of these was attached by hand */
	bool leaving;			 /* its directory is being removed: not to be joined */
	struct gvm_container *container; /* held by each of the spaces */
	struct gvm_control_dir *dir;
	struct list_head named;	   /* gvm_space.node: spaces whose names are known */
	struct list_head children; /* gvm_child.node */
};

/* See gvm_registry.h for its place in the order of locks. */
extern struct gvm_mutex gvm_registry_mutex;
extern struct list_head gvm_registrations;
extern struct list_head gvm_cgroups;

/* For news of members that have left. */
extern wait_queue_head_t gvm_member_left;

/* The device number @gpu, or NULL. CONTEXT: process, mutex held. */
struct gvm_registration *gvm_registration_find_locked(u32 gpu);

/*
 * The process @pid, leaving or not; or only if it is not leaving. NULL: none. CONTEXT: process,
 * mutex held.
 */
struct gvm_member *gvm_member_find_locked(struct gvm_registration *registration,
					  const struct pid *pid);
struct gvm_member *gvm_member_find_staying_locked(struct gvm_registration *registration,
						  const struct pid *pid);

/*
 * A first address space of @pid, or the container of @cgroup; in @container, or in a new one.
 * Returns 0, or -ENOMEM or -EIO (the device is dead): then the mutex may have been dropped
 * meanwhile, and a device that waits for its last member may have gone. CONTEXT: process, mutex
 * held.
 */
int gvm_member_create_locked(struct gvm_registration *registration,
			     struct gvm_container *container, struct pid *pid,
			     struct gvm_cgroup *cgroup, struct gvm_member **ret_member);

/*
 * One more address space of @pid, which names another process @group or NULL: see
 * gvm_process_attach(). It is not leaving. CONTEXT: process, mutex held.
 */
int gvm_member_attach_locked(struct gvm_registration *registration, struct pid *group,
			     struct pid *pid, struct gvm_member **ret_member);

/*
 * One address space less; with the last one the member leaves: the mutex is dropped meanwhile,
 * and a device that waits for its last member may go afterwards. CONTEXT: process, mutex held.
 */
void gvm_member_detach_locked(struct gvm_member *member);

#endif
