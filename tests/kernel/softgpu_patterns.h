/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Patterns of access to managed memory, and the transcript of what a driver does for them. The
 * real nvidia-uvm.ko on the software GPU (softgpu_judge.c) and the simulator's model of it
 * (tests/nvuvm/judged_model.c) run the same patterns and write the same kind of transcript; judge.sh
 * compares.
 *
 * Offsets and counts are in pages of 4 KB. Ranges are numbered by the pattern.
 */
#ifndef SOFTGPU_PATTERNS_H
#define SOFTGPU_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_BLOCK_PAGES 512u /* 4 KB pages in a VA block */
#define PATTERN_RANGES_MAX  4u
#define PATTERN_WINDOW_MAX  256u
#define PATTERN_PROCESSES   4u
#define PATTERN_NO_LIMIT    SIZE_MAX

/*
 * @count pages of range @range from @first on, @step pages apart; a negative step wraps around.
 */
struct pattern_walk {
	unsigned int range;
	size_t first;
	size_t count;
	size_t step;
};

/* What an application may tell the driver of a range (cudaMemAdvise). */
enum pattern_advice {
	PATTERN_NO_ADVICE,
	PATTERN_PREFER_GPU, /* preferred location */
	PATTERN_PREFER_CPU,
	PATTERN_ACCESSED_BY_GPU,
	PATTERN_READ_DUPLICATION, /* read-mostly */
};

/* The world in which a pattern runs. No call may be NULL. */
struct pattern_world {
	/*
	 * Of 2 MB, that the driver has for managed memory. Under a limit:
	 * that process 0 may have.
	 */
	size_t chunks;
	/*
	 * Map range @range of process @process, @blocks VA blocks long. @on_host: the
	 * CPU writes all of it.
	 */
	void (*map)(unsigned int range, unsigned int process, size_t blocks, bool on_host);
	void (*unmap)(unsigned int range);
	/* The CPU writes each page. */
	void (*cpu)(const struct pattern_walk *walk);
	/* The GPU accesses each page, @window at once at most. */
	void (*gpu)(const struct pattern_walk *walk, bool write, unsigned int window);
	/* Tell the driver something of a whole range. */
	void (*advise)(unsigned int range, enum pattern_advice advice);
	/* The application prefetches a whole range. */
	void (*migrate)(unsigned int range, bool to_gpu);
	/* Work that the driver has left to a thread of its own is done. */
	void (*settle)(void);
	/* The application needs the contents of @blocks VA blocks from @first on no more. */
	void (*discard)(unsigned int range, size_t first, size_t blocks);
	/* RM allocates @chunks of 2 MB for itself, and frees all that it has. */
	void (*rm_take)(size_t chunks);
	void (*rm_give)(void);
	/*
	 * An operator sets the limit of a process, or PATTERN_NO_LIMIT.
	 * Only for limit patterns.
	 */
	void (*limit)(unsigned int process, size_t chunks);
};

struct pattern {
	const char *name;
	void (*run)(const struct pattern_world *world, const struct pattern *pattern);
	unsigned int percent; /* size of the working set, of the memory; 0: two blocks */
	unsigned int step;
	unsigned int window;
	bool write;
	bool gpu_first;		    /* the CPU has not touched the memory before */
	enum pattern_advice advice; /* for all ranges, once they are mapped */
};

/*
 * What UVM has for managed memory of a GPU with 128 and with 64 MB: RM has 16 MB of it, and
 * UVM's page tables are in one chunk.
 */
#define REFERENCE_CHUNKS 55u
#define JUDGE_CHUNKS	 23u

/*
 * Those of the larger GPU, of which a record is kept (softgpu_reference.txt), and of the
 * smaller one.
 */
extern const struct pattern reference_patterns[];
extern const size_t reference_pattern_count;
extern const struct pattern judge_patterns[];
extern const size_t judge_pattern_count;

/* On the smaller GPU: those of more processes than two. Only here there are more. */
extern const struct pattern crowd_patterns[];
extern const size_t crowd_pattern_count;

/*
 * On the smaller GPU: those of pages that thrash, and those of memory that
 * the application discards.
 */
extern const struct pattern thrash_patterns[];
extern const size_t thrash_pattern_count;
extern const struct pattern discard_patterns[];
extern const size_t discard_pattern_count;

/*
 * Of the published GVM driver: process 0 has a limit. On a GPU that is never full, which has
 * 512 MB, and on the smaller one.
 */
#define LIMITS_CHUNKS 247u
#define LIMITS_LIMIT  20u
#define FULL_LIMIT    10u

extern const struct pattern limit_patterns[];
extern const size_t limit_pattern_count;
extern const struct pattern full_limit_patterns[];
extern const size_t full_limit_pattern_count;

/*
 * Whether faults of a pattern wait for the end of a period, which is wall time. Then batches
 * without copies are left out of its transcript.
 */
bool pattern_throttles(const struct pattern *pattern);

/*
 * The transcript: one line for each step, given to @line.
 *
 *     pattern NAME
 *     out 0.3              copies of block 3 of range 0 to the host: all of it
 *     in 0.24 0-15,20      copies to the device: its pages of 64 KB
 *     tlb all 0.3 0.24     blocks of which translations were invalidated; of which all were
 *     replay 0.24*256      the end of a batch, and its faults by block
 *     limit 0 40           the limit of process 0 is now 40 chunks
 *     usage 0 41           process 0 has 41 chunks now: after the GPU's accesses, if it has changed
 *     total ...            numbers of all this
 *
 * Consecutive copies of one block are one line. Between two replays, copies to the host come
 * first: the engines work side by side, and the driver does not decide which one is ahead.
 * Under a limit it does not wait for copies to the host, so they come first between two calls
 * of transcript_usage(), in their order.
 */
void transcript_begin(const struct pattern *pattern, void (*line)(const char *text));
void transcript_fault(unsigned int range, size_t page);
/*
 * @known: it is known where the pages belong. @copies: how many copies it is. 0: the CPU faults,
 * on one page of 4 KB after the other, and the model takes pages together.
 */
void transcript_copy(bool in, bool known, unsigned int range, size_t page, size_t pages,
		     unsigned int copies);
/* Translations of a block's pages are invalidated. */
void transcript_invalidate(unsigned int range, size_t page);
/* All translations of an address space. */
void transcript_invalidate_all(void);
/*
 * A thread of the driver has done its work. Before the last replay or after it, that is left to
 * the scheduler: translations that were invalidated since are left out.
 */
void transcript_settled(void);
void transcript_replay(void);
/* A limit holds, and what its write had to do has been done. */
void transcript_limit(unsigned int process, size_t chunks);
/* The driver has done all its work, and the process has @bytes now. */
void transcript_usage(unsigned int process, uint64_t bytes);
void transcript_end(void);

#endif
