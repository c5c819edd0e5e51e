// SPDX-License-Identifier: MIT OR GPL-2.0
// Kernels for clang, which needs no CUDA toolkit for them.
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))
#define GLOBAL __attribute__((address_space(1)))

static DEVICE __attribute__((shared)) int box[256];

static DEVICE int thread()
{
	return __nvvm_read_ptx_sreg_tid_x();
}

KERNEL saxpy(GLOBAL float *y, const GLOBAL float *x, float a, int n)
{
	int i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + thread();

	if (i < n)
		y[i] += a * x[i];
}

KERNEL generic_sum(int *out, const int *in, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += in[i];
	out[thread()] = sum;
}

KERNEL through_shared(GLOBAL int *out, const GLOBAL int *in)
{
	box[thread()] = in[thread()];
	__syncthreads();
	out[thread()] = box[255 - thread()] + in[thread() + 1];
}

KERNEL records(GLOBAL char *bytes, GLOBAL short *shorts, GLOBAL long *longs)
{
	bytes[thread() + 7] = bytes[thread()];
	shorts[thread() + 3] = shorts[thread()];
	longs[thread() + 1] = longs[thread()] ^ 0x55;
}

__attribute__((noinline)) static DEVICE int twice(const int *x)
{
	return 2 * x[0] + x[1];
}

KERNEL with_function(int *out, const int *in)
{
	out[thread()] = twice(in + thread());
}
