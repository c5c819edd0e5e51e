/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * libgvm_shim.so: between an application and CUDA's driver library (GVM 4.4, Ghost's appendix).
 *
 *     application  ->  cuMemAlloc(), cuLaunchKernel()...  ->  shim  ->  libcuda.so.1
 *
 * LD_PRELOAD loads it. A hooked call does what the application asked for, and books it:
 *
 *     settings.c the environment; parse.c its numbers, sizes and times
 *     real.c     the driver's own calls
 *     lookup.c   how applications find a call: linked, dlsym(), cuGetProcAddress()
 *     memory.c   device memory becomes managed memory; memory information
 *     pools.c    likewise for stream-ordered memory
 *     pointers.c what the application hears of its pointers
 *     vmm.c      memory of cuMemCreate() is counted
 *     ipc.c      memory of one process in another
 *     pinned.c   for that, managed memory becomes device memory at its address
 *     held.c     the address stays ours meanwhile
 *     passing.c  its descriptors go from process to process
 *     arrays.c   likewise arrays
 *     books.c    what is allocated, by address; the limit
 *     limits.c   what the environment says of it, GPU by GPU; number.c which GPU is which
 *     cold.c     what is used least is kept on the host
 *     shared.c   the limit of a container of several processes
 *     launch.c   launches, graphs.c the kernels of a graph
 *     streams.c  launches by stream, and how many have ended
 *     marks.c    events that say so
 *     wake.c     wakes the worker
 *     worker.c   the thread that looks which have ended, and hands the counts on
 *     descriptor.c descriptors of ours, among those of the application
 *     folder.c   the process's folder of control files
 *     report.c   files for gvmcollect, counts for gvm.ko
 *     rm.c       the process's channels and channel groups, by NVIDIA's resource manager
 *     turns.c    timeslices of its channel groups, freeze.c takes it off the GPU and back
 *     modules.c  code is fenced as it is loaded, fatbin.c finds its PTX (fence.h)
 *     partition.c the memory of a fenced process
 *     life.c     start, fork, exit
 *     unseen.c   what went past the shim, said at the end
 *
 * Locks, outermost first: busy_lock, passing_lock, worker_lock, poll_lock, pin_lock, move_lock,
 * books_lock, cold_lock, streams_lock, graphs_lock, rm_lock. No lock is held over a call of
 * the driver that can wait for the GPU, but busy_lock, move_lock over a copy or a wait of cold.c
 * or pinned.c, pin_lock, and modules_lock and below it partition_lock, under which none of the
 * others is taken. opening_lock is held over the answer of another process, and only ipc_lock is taken
 * below it. Nothing is taken below ipc_lock and list_lock of pinned.c.
 */
#ifndef GVM_SHIM_H
#define GVM_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "cuda_api.h"

typedef unsigned int u32;
typedef unsigned long long u64;

#define SHIM_DEVICES	 16
#define SHIM_NO_LIMIT	 (~0ull)
#define SHIM_NAME_MAX	 64
#define SHIM_PATH_MAX	 512
#define SHIM_SHOWN	 "200" /* bytes of a wrong value in a message */
#define SHIM_EXPORT	 __attribute__((visibility("default")))
#define SHIM_MS		 1000000ull
#define SHIM_PRIORITY_NO 0xffffffffu
#define SHIM_NO_FENCE	 0xffffffffu

/* The driver's own calls; NULL: this driver has none of that name. */
struct shim_real {
#define SHIM_POINTER(name, ...) __typeof__(&(name)) name;
	SHIM_HOOKED(SHIM_POINTER)
	SHIM_MADE(SHIM_POINTER)
#undef SHIM_POINTER
};

/* Where redirected memory is put when it is allocated. */
enum shim_place {
	SHIM_PLACE_NONE,     /* at the first touch */
	SHIM_PLACE_ADVISE,   /* likewise, and the GPU is its preferred location */
	SHIM_PLACE_PREFETCH, /* on the GPU at once */
};

/* "8G", "50%" or "max". */
struct shim_size {
	bool given;
	u64 bytes; /* SHIM_NO_LIMIT: max */
	u32 ppm;   /* of the device; 0: it is in bytes */
};

/* "8G,1:4G": of all GPUs, and of single ones, by number_of_limit(). */
struct shim_sizes {
	struct shim_size all;
	struct shim_size gpus[SHIM_DEVICES];
	bool by_gpu; /* one of the latter is given */
};

/* From the environment: docs/shim.md. */
struct shim_settings {
	bool managed;
	enum shim_place place;
	struct shim_sizes limit;    /* that may be allocated */
	struct shim_sizes resident; /* that may be on the GPU */
	_Atomic u64 timeslice_us;   /* 0: as the driver has it */
	_Atomic u32 priority;	    /* SHIM_PRIORITY_NO: none */
	u64 period_ns;		    /* between two looks at the GPU */
	u32 fence;		    /* an enum patch_mode; SHIM_NO_FENCE: code runs as it is */
	u64 fence_bytes;	    /* of the partition; 0: by the GPU's memory */
	char fence_allow[SHIM_PATH_MAX]; /* libraries whose code runs without a fence */
	char container[SHIM_NAME_MAX];	 /* empty: this process */
	char directory[SHIM_PATH_MAX];
};

extern struct shim_settings shim_settings;

/* wake.c: what lies below the worker. */

/* The process has begun to end: nothing is started any more. */
bool shim_closing(void);
void shim_close_begins(void);

/* Something changed: the worker looks at it. Starts it if there is none. */
void shim_wake(void);
/* Has the worker lost the descriptor that wakes it, and ended? */
bool shim_lost(void);
/* Returns whether it was lost before. */
bool shim_set_lost(bool lost);
/* Only if it sleeps. This is what a launch pays. */
void shim_wake_if_idle(void);
void shim_set_idle(bool idle);
/* Set the function that wakes the worker up. */
void shim_set_waker(void (*waker)(void));

/* parse.c */

/* "8G", "8e9", "max". False: no size. */
bool shim_parse_bytes(const char *text, u64 *ret_bytes);

/* "2", "2ms", "512us" as in compute.timeslice. False: no such time, or out of bounds. */
bool shim_parse_timeslice(const char *text, u64 *ret_us);

/* A whole number up to @max. */
bool shim_parse_number(const char *text, u64 max, u64 *ret_number);

/* Say that a variable has a wrong value, which is ignored. */
void shim_wrong(const char *name, const char *value, const char *allowed);

/* settings.c */

/* Read the environment. Wrong values are reported and ignored. */
void shim_settings_read(void);

/*
 * Make the shim's directory if it is missing. NULL: it can be used. Else why it cannot: one of
 * another user could have links in it that lead our writes elsewhere.
 */
const char *shim_make_directory(void);

/* limits.c */

/*
 * Read GVM_LIMIT and GVM_RESIDENT, or the variables of plug-ins, into .limit and .resident.
 * .managed has been read before.
 */
void shim_limits_read(struct shim_settings *settings);

/*
 * What @sizes says of a device, which has @total bytes. False: nothing;
 * *ret_bytes stays as it is.
 */
bool shim_size_of(const struct shim_sizes *sizes, int device, u64 total, u64 *ret_bytes);

/* number.c */

/*
 * The place of the GPU at a PCI address among those of the folder @gpus
 * (/proc/driver/nvidia/gpus), by their addresses. With @dev, the folder of devices, only GPUs
 * with a node there count: those of a container. -1: it is not among them.
 */
int number_among(const char *gpus, const char *dev, const char *address);

/*
 * The number of a device among the host's GPUs, as nvidia-smi counts, whatever
 * CUDA_VISIBLE_DEVICES makes of it.
 */
int number_of(int device);

/* The same among the GPUs of its container: what limits and HAMi's variables count. */
int number_of_limit(int device);

/* log.c */

void shim_log_open(void);
bool shim_log_wanted(void);
/* One line into GVM_SHIM_LOG, if it is set. */
void shim_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same; without GVM_SHIM_LOG it goes to stderr: what the user has to know. */
void shim_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* One line into GVM_SHIM_LOG and on stderr, and the process ends by SIGABRT. */
void shim_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
u64 shim_now_ns(void);

/* descriptor.c */

struct shim_descriptor {
	_Atomic int fd; /* -1: none */
	dev_t device;	/* of what it was when we opened it */
	ino_t inode;
	int signal; /* the mark of our open file: descriptor.c */
};

#define SHIM_NO_DESCRIPTOR  \
	{                   \
		-1, 0, 0, 0 \
	}

/* Take @fd, or -1. */
void descriptor_set(struct shim_descriptor *descriptor, int fd);
/* Its number; -1: there is none, or the application has closed it. */
int descriptor_of(const struct shim_descriptor *descriptor);
/* Close it, if it is still ours. */
void descriptor_close(struct shim_descriptor *descriptor);

/* real.c */

typedef void *(*shim_dlsym_call)(void *handle, const char *name);

/* The C library's; NULL before shim_find_dlsym(). */
extern __attribute__((visibility("hidden"))) shim_dlsym_call shim_dlsym;
void shim_find_dlsym(void);

/*
 * The driver's calls. The first caller loads libcuda.so.1. NULL: there is none on this machine;
 * a hook then answers CU_NOT_INITIALIZED.
 */
const struct shim_real *shim_real(void);
/* The same; NULL also where libcuda.so.1 has not been used yet. */
const struct shim_real *shim_real_if_used(void);
/* For the child of a fork: a thread that it does not have may have held the lock. */
void shim_real_reset(void);

/* lookup.c */

/* Is @call the driver's own call of a name that we hook? libcuda is in use. */
bool lookup_is_drivers(const char *symbol, const void *call);

/* unseen.c */

/*
 * Say what went past the shim. @forked: the process is a child of fork. Its parent loaded the
 * libraries, and speaks of them, so the child does not.
 * @in_signal: maybe in a signal handler, where the loader's lock is not to be taken.
 */
void unseen_tell(bool forked, bool in_signal);

/* books.c: allocations by address. */

enum shim_kind {
	SHIM_DEVICE,
	SHIM_MANAGED,
	SHIM_REDIRECTED,
	SHIM_POOL,
	SHIM_EXPORTED, /* it was redirected, and has been pinned */
	SHIM_KINDS
};

struct shim_allocation {
	cu_ptr ptr; /* 0: a free place */
	u64 bytes;
	u64 range_bytes; /* of a range of addresses that is its own alone; 0: it has none */
	u64 serial;	 /* that the books gave it */
	struct CUctx_st *context;
	int device;
	enum shim_kind kind;
};

/*
 * Charge @bytes to the container. False: it would be above its limit, and nothing is charged.
 * @total: memory of the device, the limit where none was given. Then managed memory that the
 * application asks for may exceed it, and other memory has all of it.
 */
bool books_charge(int device, enum shim_kind kind, u64 bytes, u64 total);
void books_uncharge(int device, enum shim_kind kind, u64 bytes);
/* Enter an allocation that was charged. */
void books_add(const struct shim_allocation *allocation);
/* The driver did not free it: charge and enter it again, whatever the limit is by now. */
void books_restore(const struct shim_allocation *allocation);
/* Take an allocation out and uncharge it. False: not known, as one from before the shim. */
bool books_remove(cu_ptr ptr, struct shim_allocation *ret_allocation);
/* The allocation with this serial number is of another kind from now on. False: it has gone. */
bool books_turn(cu_ptr ptr, u64 serial, enum shim_kind kind);
bool books_find(cu_ptr ptr, struct shim_allocation *ret_allocation);
/* Call @take for each allocation, under the books' lock. */
void books_each(void (*take)(void *data, const struct shim_allocation *allocation), void *data);
/* A context has gone, and its memory with it. */
void books_forget_context(struct CUctx_st *context);
u64 books_used(int device);	/* of this process */
u64 books_used_all(int device); /* of its container */
u64 books_managed(int device);	/* of this process: what it asked for as managed memory */
u64 books_peak(int device);
/* Allocations that found no room below the limit. */
u64 books_refused(int device);
/* The limit of a device: by its control file, by GVM_LIMIT, or @total. */
u64 books_limit(int device, u64 total);
bool books_limit_given(int device);
void books_set_limit(int device, u64 bytes);
void books_reset(void);
/* For the summary: allocations by kind so far. */
u64 books_count(enum shim_kind kind);

/* shared.c: a book of all processes of GVM_CONTAINER. */

bool shared_wanted(void);
bool shared_charge(int device, u64 bytes, u64 limit);
void shared_uncharge(int device, u64 bytes);
u64 shared_used(int device);
/* Leave the container; the last process removes its file. */
void shared_close(void);
/* The same for a process that ends at once; its file may stay for the next one. */
void shared_abandon(void);
/* The child of a fork has a row of its own. */
void shared_reset(void);

/* memory.c */

struct memory_facts {
	bool known;
	bool managed; /* and the CPU may touch it while kernels run */
	u64 total;
};

/* The device and context that an allocation would be of. False: there is no context. */
bool memory_current(const struct shim_real *real, int *ret_device,
		    struct CUctx_st **ret_context);
/* Facts of a GPU. The driver is asked until it answers, which it does not before cuInit(). */
const struct memory_facts *memory_facts_of(const struct shim_real *real, int device);
/* For the child of a fork, as shim_real_reset(). */
void memory_reset(void);
/* books_charge(); a refusal is logged. */
bool memory_charge(int device, enum shim_kind kind, u64 bytes, u64 total);
/* The driver has made what was charged, at @ptr: note it. */
void memory_made(struct shim_allocation *made, cu_ptr ptr);
/* cuMemAlloc(), as it is hooked: for other calls that are to give the same memory. */
cu_result memory_allocate(cu_ptr *ptr, size_t bytes);
/* With GVM_FENCE such memory would lie outside of the partition: say so once, and refuse it. */
cu_result memory_not_fenced(const char *call);
/* Free with @call, and take it out of the books if the driver agrees. */
cu_result memory_free(cu_ptr ptr, cu_result (*call)(cu_ptr ptr, struct CUstream_st *stream),
		      struct CUstream_st *stream);

/* The allocation of ours that @ptr lies in. False: there is none. */
bool memory_find(const struct shim_real *real, cu_ptr ptr, struct shim_allocation *ret_found);

/* pools.c: the child of a fork has none of its parent's pools. */

void pools_reset(void);

/* cold.c: for the worker, but for cold_launched(). */

/*
 * Is a round due, now or soon? Then cold_apply() is to be called, and again
 * after cold_round_ns().
 */
bool cold_due(void);
void cold_apply(const struct shim_real *real);
u64 cold_round_ns(void);
/* A launch was made: note what its arguments point to. */
void cold_launched(struct CUfunc_st *f, void **parameters, void **extra);
/*
 * An allocation was taken out of the books and is about to be freed: wait until
 * no piece of it is moved.
 */
void cold_await(cu_ptr ptr);
/* Nothing is moved from here on until cold_go_on(): a context goes. */
void cold_stop(void);
void cold_go_on(void);
/* Bytes that are kept on the host. */
u64 cold_host_bytes(int device);
void cold_reset(void);

/* vmm.c */

void vmm_reset(void);

/* pinned.c */

/* From this size on memory can be exported: a page of device memory. */
#define PINNED_LEAST (2ull << 20)

/* What names pinned memory: its handle has it. */
struct pinned_key {
	u64 id;
	u64 secret[2];
};

/* Bytes to ask for, so that an allocation has a range of its own; 0: it is not to have one. */
u64 pinned_range(const struct shim_real *real, u64 bytes);
/*
 * Make the redirected allocation at @ptr device memory, if it is not that yet. Waits for the GPU.
 * CU_OK: *ret_key names it. Else all is as before, and *ret_why says why, or is NULL.
 */
cu_result pinned_make(const struct shim_real *real, cu_ptr ptr, struct pinned_key *ret_key,
		      const char **ret_why);
/* Free what is pinned at @ptr, after the GPU's work. False: nothing is. */
bool pinned_free(cu_ptr ptr, cu_result *ret_result);
/* A descriptor of pinned memory, which the caller closes; -1: there is no such memory. */
int pinned_descriptor(const struct shim_real *real, const struct pinned_key *key,
		      u64 *ret_bytes, u64 *ret_mapped);
/*
 * Map memory at reserved addresses, for the GPU @user, and for others that reach @home, where it
 * is.
 */
cu_result pinned_map(const struct shim_real *real, cu_ptr ptr, u64 bytes,
		     unsigned long long memory, int home, int user);
/* Mapped memory that the application has given back. */
struct pinned_gone {
	cu_ptr ptr;
	u64 mapped, range; /* the memory's and the addresses' bytes */
	unsigned long long memory;
	struct CUctx_st *context;
	struct pinned_gone *next;
};

/*
 * Unmap and release @gone after the GPU's work: now, or, as a wait for the GPU breaks a capture,
 * by pinned_drop_late(). CU_OK, or why it cannot be unmapped.
 */
cu_result pinned_drop(const struct shim_real *real, const struct pinned_gone *gone);
/* For the worker: what was left for later, once no stream is captured. */
void pinned_drop_late(const struct shim_real *real);
void pinned_forget_context(const struct CUctx_st *context);
void pinned_reset(void);

/* held.c */

/* What the driver has done with a held range. */
enum held_end {
	HELD_UNSEEN, /* it was not unmapped by munmap(), or not as a whole */
	HELD_KEPT,   /* it was, and nothing took it: it is free now */
	HELD_TAKEN   /* it was, and has been mapped again */
};

void held_init(void);
/*
 * Between the two a range that the calling thread unmaps stays in use, and goes to the thread's
 * first mmap() that has it as a hint.
 */
void held_begin(u64 start, u64 bytes);
enum held_end held_end(void);

/* passing.c */

struct passed {
	int fd;
	u64 bytes, mapped; /* as asked for, and in whole pages */
};

/* Others can ask this process for memory from now on. False: they cannot. */
bool passing_open(u64 *ret_name);
bool passing_is_own(u64 name);
/* For the worker: descriptor to wait on, or -1, and a look at what has come. */
int passing_fd(void);
void passing_serve(void);
/*
 * Ask the process with this name for memory. 0, or an errno: ENOENT is its answer. The caller
 * closes the descriptor.
 */
int passing_ask(u64 name, const struct pinned_key *key, struct passed *ret_passed);
void passing_close(void);
void passing_reset(void);

/* ipc.c: memory of other processes. */

/* Is any opened? Then the memory that begins at @start may be such. */
bool ipc_opened_any(void);
bool ipc_opened(cu_ptr start, struct shim_allocation *ret_opened);
void ipc_forget_context(const struct CUctx_st *context);
void ipc_reset(void);

/* marks.c: events on a stream, which say how many of its launches have ended. */

/*
 * Events that are under way on a stream. A channel holds 1022 launches
 * (plots/reference/hardware/h200-580-queue.txt), 40 ms of an eager framework's kernels: with a
 * look every 2 ms, 32 events lie less than a queue apart.
 */
#define SHIM_MARKS 32u

struct shim_mark {
	struct CUevent_st *event; /* kept for the next mark in this place */
	u64 launches;		  /* of the stream, before the event */
};

/* All-zero: none. The caller has a lock for each. */
struct shim_marks {
	struct shim_mark ring[SHIM_MARKS];
	u32 first;
	u32 count;
	u64 newest_ns; /* when the last one was added */
};

/*
 * Mark the end of @launches, all that @stream has had so far. marks_add() does nothing where
 * all places are taken. marks_move() marks it in any case, with the last event where the last
 * one is younger than GVM_SHIM_PERIOD or all places are taken. False: the driver records no
 * event. The stream's context is current.
 */
bool marks_add(const struct shim_real *real, struct shim_marks *marks,
	       struct CUstream_st *stream, u64 launches);
bool marks_move(const struct shim_real *real, struct shim_marks *marks,
		struct CUstream_st *stream, u64 launches);
/*
 * Take the marks that the GPU has passed, and raise *ended to the last one's launches. CU_OK,
 * or why the driver does not say what has ended.
 */
cu_result marks_take(const struct shim_real *real, struct shim_marks *marks,
		     _Atomic u64 *ended);
/* Is there a mark after @launches already? */
bool marks_has(const struct shim_marks *marks, u64 launches);
/*
 * Give up all marks; with @destroy also their events, which otherwise went with their context.
 */
void marks_drop(const struct shim_real *real, struct shim_marks *marks, bool destroy);

/* streams.c: launches by stream. */

/* @kernels were launched on a stream of the current context. */
void streams_launched(struct CUstream_st *stream, u64 kernels);
/* Is this stream being captured into a graph? */
bool streams_capturing(struct CUstream_st *stream);
/* Is any stream? */
bool streams_any_capture(void);
void streams_capture_began(void);
/*
 * May a call be made now that would break a capture? Then a capture that begins waits for
 * streams_disturbed().
 */
bool streams_disturb(void);
void streams_disturbed(void);
/*
 * What this thread calls from here on is for the shim, and breaks no capture of the application.
 * Returns the mode that streams_strict() sets again. A wait for the GPU breaks one all the same.
 */
unsigned int streams_relax(const struct shim_real *real);
void streams_strict(const struct shim_real *real, unsigned int mode);
void streams_capture_ended(void);
/* For the worker: look which launches have ended. Returns how many are pending. */
u64 streams_poll(const struct shim_real *real);
void streams_counts(int device, u64 *ret_launched, u64 *ret_ended);
/* A device that was used; -1: no more. Start with -1. */
int streams_next_device(int device);
void streams_note_device(int device);
void streams_end_all(void);
void streams_reset(void);
u32 streams_count(void);

/* life.c */

/*
 * Is this the process that the shim was loaded into, or a child that the handlers of fork() know?
 * Else it is a child of vfork() or _Fork(): what it finds here is its parent's.
 */
bool shim_is_own_process(void);

/* worker.c */

/* Ready to be woken up; the thread starts when it is first needed. */
void worker_init(void);
/* Stop it, publish the last counts, take everything away. */
void worker_stop(void);
/*
 * Before a fork, and after it in the parent: between them the thread is in no call of the driver.
 * The child would have the locks that such a call holds, and wait for them without end. A call
 * that waits for the GPU is waited for half a second.
 */
void worker_before_fork(void);
void worker_after_fork(void);
/* The child of a fork has no such thread. */
void worker_reset(void);

/* folder.c */

#define FOLDER_TEXT_MAX 128
/* In a GPU's folder: the file that had this name before. */
#define FOLDER_WAS ".was."
/*
 * In the folder of a process: a file before it has its name. A GPU's folder is watched for
 * writes of others, and our own would wake the worker up.
 */
#define FOLDER_NEW ".new"

/* Remove what dead processes have left, and this one before exec(). */
void folder_init(void);
/*
 * NULL: it is made. Else why not. The folder around it goes when another process ends and it is
 * empty, also between two steps of ours.
 */
const char *folder_make(void);
/* Of the last folder_init() or folder_make(). */
const char *folder_path(void);
/* The text of a file. False: it cannot be read. *ret_date, if wanted: when it was written. */
bool folder_read(const char *path, char text[FOLDER_TEXT_MAX], struct timespec *ret_date);
/* Remove it with all that is in it; and the one around it, if it was the last. */
void folder_remove(void);
/* The same where the folders of GPUs have gone already. System calls only. */
void folder_abandon(void);

/* report.c */

void report_publish(bool last);
/* A GPU is about to be used for the first time: find its number, and gvm.ko. */
void report_know(int index);
/* Tell gvm.ko of launches, where it is there. System calls only. */
void report_launches(void);
/* Descriptor to wait on for writes to our control files, or -1. */
int report_watch_fd(void);
void report_take_writes(void);
void report_close(void);
/* The same without locks and memory, for a process that ends at once. */
void report_abandon(void);
/* The child of a fork: the files are its parent's. */
void report_reset(void);

/* turns.c */

/* Set the timeslice of the groups that have not got it yet. */
void turns_apply(void);
bool turns_due(void);
/* The setting changed: all groups are due. */
void turns_changed(void);
/* There is a group that is due. */
void turns_group_made(void);
u32 turns_groups(void);
void turns_reset(void);

/* freeze.c */

/*
 * Take the process off all of its GPUs, or put it back. False: RM refuses, or it has no channel;
 * one line on stderr says so, and nothing is frozen.
 */
bool freeze_set(bool on);
/* Then libcuda may wait for the thaw, in any call. */
bool freeze_is_on(void);
/* RM has put @object of @client on the runlist: a channel, or all of a group. */
void freeze_scheduled(u32 client, u32 object);
void freeze_reset(void);

/* rm.c: see rm.h. The child of a fork has no objects of RM's. */
void rm_reset(void);

/* graphs.c */

/* Kernels that a launch of this graph runs. */
u64 graphs_kernels(struct CUgraphExec_st *exec);
void graphs_reset(void);

#endif
