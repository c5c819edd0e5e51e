// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Launches are counted after the driver's call, if it succeeded: what is counted has been
 * queued. A launch into a stream that is being captured runs nothing and is not counted.
 */
#include "fence.h"

/* The driver's calls. Fenced code that has no bounds yet gets them. */
static const struct shim_real *launching(void)
{
	const struct shim_real *real = shim_real();

	if (real)
		modules_settle(real);
	return real;
}

static cu_result launched(cu_result result, struct CUstream_st *stream, u64 kernels)
{
	if (result == CU_OK && kernels && !streams_capturing(stream))
		streams_launched(stream, kernels);
	return result;
}

/* The same of one kernel, with its arguments. */
static cu_result launched_with(cu_result result, struct CUstream_st *stream,
			       struct CUfunc_st *f, void **parameters, void **extra)
{
	if (result == CU_OK)
		cold_launched(f, parameters, extra);
	return launched(result, stream, 1);
}

/* The stream that a _ptsz call means. */
static struct CUstream_st *own(struct CUstream_st *stream)
{
	return stream ? stream : CU_PER_THREAD;
}

SHIM_EXPORT cu_result cuLaunchKernel(struct CUfunc_st *f, unsigned int gx, unsigned int gy,
				     unsigned int gz, unsigned int bx, unsigned int by,
				     unsigned int bz, unsigned int shared,
				     struct CUstream_st *stream, void **parameters,
				     void **extra)
{
	const struct shim_real *real = launching();

	if (!real)
		return CU_NOT_INITIALIZED;
	return launched_with(real->cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream,
						  parameters, extra),
			     stream, f, parameters, extra);
}

SHIM_EXPORT cu_result cuLaunchKernel_ptsz(struct CUfunc_st *f, unsigned int gx, unsigned int gy,
					  unsigned int gz, unsigned int bx, unsigned int by,
					  unsigned int bz, unsigned int shared,
					  struct CUstream_st *stream, void **parameters,
					  void **extra)
{
	const struct shim_real *real = launching();

	if (!real)
		return CU_NOT_INITIALIZED;
	return launched_with(real->cuLaunchKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared,
						       stream, parameters, extra),
			     own(stream), f, parameters, extra);
}

static struct CUstream_st *stream_of(const struct CUlaunchConfig_st *config)
{
	return config ? ((const struct shim_launch_config *)config)->stream : NULL;
}

SHIM_EXPORT cu_result cuLaunchKernelEx(const struct CUlaunchConfig_st *config,
				       struct CUfunc_st *f, void **parameters, void **extra)
{
	const struct shim_real *real = launching();

	if (!real)
		return CU_NOT_INITIALIZED;
	return launched_with(real->cuLaunchKernelEx(config, f, parameters, extra),
			     stream_of(config), f, parameters, extra);
}

SHIM_EXPORT cu_result cuLaunchKernelEx_ptsz(const struct CUlaunchConfig_st *config,
					    struct CUfunc_st *f, void **parameters,
					    void **extra)
{
	const struct shim_real *real = launching();

	if (!real)
		return CU_NOT_INITIALIZED;
	return launched_with(real->cuLaunchKernelEx_ptsz(config, f, parameters, extra),
			     own(stream_of(config)), f, parameters, extra);
}

SHIM_EXPORT cu_result cuLaunchCooperativeKernel(struct CUfunc_st *f, unsigned int gx,
						unsigned int gy, unsigned int gz,
						unsigned int bx, unsigned int by,
						unsigned int bz, unsigned int shared,
						struct CUstream_st *stream, void **parameters)
{
	const struct shim_real *real = launching();

	if (!real)
		return CU_NOT_INITIALIZED;
	return launched_with(real->cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared,
							     stream, parameters),
			     stream, f, parameters, NULL);
}

SHIM_EXPORT cu_result cuLaunchCooperativeKernel_ptsz(struct CUfunc_st *f, unsigned int gx,
						     unsigned int gy, unsigned int gz,
						     unsigned int bx, unsigned int by,
						     unsigned int bz, unsigned int shared,
						     struct CUstream_st *stream,
						     void **parameters)
{
	const struct shim_real *real = launching();

	if (!real)
		return CU_NOT_INITIALIZED;
	return launched_with(real->cuLaunchCooperativeKernel_ptsz(f, gx, gy, gz, bx, by, bz,
								  shared, stream, parameters),
			     own(stream), f, parameters, NULL);
}

/* A kernel of several devices was launched: book it in the context of its own stream. */
static void launched_elsewhere(const struct shim_real *real, struct CUstream_st *stream)
{
	struct CUctx_st *context, *popped;
	bool there = real->cuStreamGetCtx && real->cuStreamGetCtx(stream, &context) == CU_OK &&
		     real->cuCtxPushCurrent_v2(context) == CU_OK;

	launched(CU_OK, stream, 1);
	if (there)
		real->cuCtxPopCurrent_v2(&popped);
}

SHIM_EXPORT cu_result cuLaunchCooperativeKernelMultiDevice(struct CUDA_LAUNCH_PARAMS_st *list,
							   unsigned int count,
							   unsigned int flags)
{
	const struct shim_real *real = launching();
	const struct shim_launch_params *launch = (const struct shim_launch_params *)list;
	cu_result result;

	if (!real || !real->cuLaunchCooperativeKernelMultiDevice)
		return CU_NOT_INITIALIZED;
	result = real->cuLaunchCooperativeKernelMultiDevice(list, count, flags);
	for (unsigned int i = 0; result == CU_OK && i < count; i++)
		launched_elsewhere(real, launch[i].stream);
	return result;
}

SHIM_EXPORT cu_result cuLaunch(struct CUfunc_st *f)
{
	const struct shim_real *real = launching();

	if (!real || !real->cuLaunch)
		return CU_NOT_INITIALIZED;
	return launched(real->cuLaunch(f), NULL, 1);
}

SHIM_EXPORT cu_result cuLaunchGrid(struct CUfunc_st *f, int width, int height)
{
	const struct shim_real *real = launching();

	if (!real || !real->cuLaunchGrid)
		return CU_NOT_INITIALIZED;
	return launched(real->cuLaunchGrid(f, width, height), NULL, 1);
}

SHIM_EXPORT cu_result cuLaunchGridAsync(struct CUfunc_st *f, int width, int height,
					struct CUstream_st *stream)
{
	const struct shim_real *real = launching();

	if (!real || !real->cuLaunchGridAsync)
		return CU_NOT_INITIALIZED;
	return launched(real->cuLaunchGridAsync(f, width, height, stream), stream, 1);
}

SHIM_EXPORT cu_result cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
	const struct shim_real *real = launching();

	if (!real)
		return CU_NOT_INITIALIZED;
	return launched(real->cuGraphLaunch(exec, stream), stream, graphs_kernels(exec));
}

SHIM_EXPORT cu_result cuGraphLaunch_ptsz(struct CUgraphExec_st *exec,
					 struct CUstream_st *stream)
{
	const struct shim_real *real = launching();

	if (!real)
		return CU_NOT_INITIALIZED;
	return launched(real->cuGraphLaunch_ptsz(exec, stream), own(stream),
			graphs_kernels(exec));
}
