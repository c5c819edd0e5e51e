/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the files of the driver library share. */
#ifndef TESTS_SHIM_FAKE_INSIDE_H
#define TESTS_SHIM_FAKE_INSIDE_H

#include "fake_cuda.h"

/* cuInit() was called. */
extern bool fake_initialized;

/*
 * fake_states.c: what NVIDIA's driver answered to this call in the state that the program says it
 * is in. CU_OK: as the call itself says. Each call of the library begins with it; for one that it
 * makes of its own, @outer is false, and nothing is looked up.
 */
cu_result fake_measured(const char *call, bool outer);
bool fake_begin_call(void);
void fake_end_call(const bool *outer);
#define MEASURED_AS(name)                                                                      \
	__attribute__((cleanup(fake_end_call))) const bool measured_outer = fake_begin_call(); \
	do {                                                                                   \
		cu_result measured = fake_measured(name, measured_outer);                      \
                                                                                               \
		if (measured != CU_OK)                                                         \
			return measured;                                                       \
	} while (0)
#define MEASURED() MEASURED_AS(__func__)

/* fake_cuda.c: streams that are captured, and whether this thread may call what breaks captures. */
extern unsigned int fake_captures;
bool fake_is_relaxed(void);
bool fake_is_beside_capture(struct CUstream_st *stream);
/* A call was made that breaks all captures. */
void fake_break_captures(void);

struct fake_memory {
	unsigned long live; /* blocks that are not freed */
	unsigned long wrong_frees;
	unsigned long managed;	       /* blocks of managed memory, ever */
	unsigned long to_host, to_gpu; /* prefetches */
};

struct fake_memory fake_memory(void);

/* For fake_stay(): the calling thread is in @call. */
void fake_enter(const char *call);

/* The default stream makes the copy that cuMemcpyHtoD() has left under way. */
void fake_make_staged_copy(void);

/* Has a device as much memory left? */
bool fake_has_room(size_t bytes);

/* fake_vmm.c: memory of cuMemCreate(). */

unsigned long fake_vmm_live(void);
/* What this process has made. */
size_t fake_vmm_bytes(void);
/* The addresses of managed memory with a range of its own are nobody's any more. */
void fake_vmm_free(cu_ptr ptr, size_t bytes);
cu_result fake_vmm_attribute(void *data, unsigned int attribute, cu_ptr ptr);

#endif
