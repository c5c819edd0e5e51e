/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * An application on the CUDA runtime of a simulated GPU of 16 chunks, where faults take next to
 * no time. One simulation a test.
 */
#ifndef CUDA_FIXTURE_H
#define CUDA_FIXTURE_H

#include "cuda/cuda.h"
#include "cuda/device.h"
#include "gpu/mps.h"
#include "gpu/service.h"
#include "runner.h"

#define CHUNK  GVM_CHUNK_BYTES
#define CHUNKS 16u
#define US     1000ull
#define MS     1000000ull

extern struct cfg_gpu
	profile; /* copies take next to no time; may be changed before simulate() */
extern struct sim_memory_policy policy;
extern struct gvm_scheduler_config scheduling;
extern struct fifo_share partition; /* of the whole GPU, if any of its SMs are set */

extern u32 client_ppm; /* not 0: the process is a client of mps, and this is its limit */

extern struct sim_gpu gpu;
extern struct sim_mps mps; /* with client_ppm */
extern struct cuda_device device;
extern struct sim_process process;
extern struct cuda_context cuda;
extern struct eng_actor *app;

/*
 * Run @body as the application, in the actor app. Afterwards the context is destroyed, the
 * process exits, and the books are checked: nothing is left.
 */
void simulate(void (*body)(void));

/* At @date: kill the process, or interrupt the application. */
void kill_at(u64 date);
void interrupt_at(u64 date);

/* Launch @kernels kernels of @kernel_ns on @stream; NULL: the default one. @access: or NULL. */
int launch_on(struct cuda_stream *stream, u32 kernels, u64 kernel_ns,
	      const struct cuda_access *access);

/* Allocate @chunks chunks that are on the GPU already. */
struct cuda_memory resident(u32 chunks);

#endif
