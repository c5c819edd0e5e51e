// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * FlashAttention 2 as vLLM 0.10.1 calls it, with keys and values in blocks of 16 tokens.
 *
 *     flash_paged >RESULT
 *
 * Calls the kernels of vllm-project/flash-attention at 57b4e68, which vLLM 0.10.1 is built with, as
 * mha_varlen_fwd() of that commit does (csrc/flash_attn/flash_api.cpp): a step in which every
 * sequence decodes has the query heads of a key head in one tile and may split contexts; other
 * steps have a tile for each query head. Shapes are those of flash_attention.py: one layer of
 * Llama-3.2-3B, 24 query heads of 128 over 8 of keys and values, bf16. Blocks are in random order.
 * Times are medians of five CUDA graphs; keys and values are in sets of more than the L2 holds.
 *
 * To build: add the two files flash_fwd_split_hdim128_bf16{,_causal}_sm80.cu of that commit and
 * the CUTLASS that it names, for sm_80 (a Hopper GPU runs the same code).
 */
#include "namespace_config.h"
#include "flash.h"
#include <c10/cuda/CUDAException.h>
#include <cutlass/numeric_types.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

using element = cutlass::bfloat16_t;
static const int heads = 24, kv_heads = 8, head_size = 128, page = 16;
static int sms;

template <typename T> static T *device_array(size_t n)
{
	T *p;
	C10_CUDA_CHECK(cudaMalloc(&p, n * sizeof(T)));
	C10_CUDA_CHECK(cudaMemset(p, 0, n * sizeof(T)));
	return p;
}

template <typename T> static T *device_copy(const std::vector<T> &v)
{
	T *p = device_array<T>(v.size());
	C10_CUDA_CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	return p;
}

__global__ void fill(element *p, size_t n, unsigned seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
	     i += (size_t)gridDim.x * blockDim.x) {
		unsigned x = (unsigned)i * 2654435761u + seed;
		x ^= x >> 15;
		x *= 2246822519u;
		x ^= x >> 13;
		p[i] = element(((int)(x & 0xffff) - 32768) * (0.15f / 32768));
	}
}

/* num_splits_heuristic() of the source, by its rule. */
static int splits(int blocks, int slots, int n_blocks)
{
	if (blocks >= 0.8f * slots)
		return 1;
	int most = std::min({ 128, slots, n_blocks });
	auto up = [](int a, int b) { return (a + b - 1) / b; };
	auto eligible = [&](int n) { return n == 1 || up(n_blocks, n) != up(n_blocks, n - 1); };
	auto efficiency = [&](int n) {
		float waves = (float)blocks * n / slots;
		return waves / std::ceil(waves);
	};
	float best = 0;
	for (int n = 1; n <= most; n++)
		if (eligible(n))
			best = std::max(best, efficiency(n));
	for (int n = 1; n <= most; n++)
		if (eligible(n) && efficiency(n) >= 0.85f * best)
			return n;
	return 1;
}

struct call {
	FLASH_NAMESPACE::Flash_fwd_params params;
	bool causal;
};

static std::vector<void *> garbage;
template <typename T> static T *keep(T *p)
{
	garbage.push_back((void *)p);
	return p;
}

static call make_call(const std::vector<int> &queries, const std::vector<int> &contexts,
		      bool shuffled, int seed)
{
	call c = {};
	auto &p = c.params;
	int b = queries.size(), total_q = 0, max_q = 0, max_k = 0, pages = 0;
	std::vector<int> q_ends{ 0 }, k_lens = contexts;
	for (int i = 0; i < b; i++) {
		q_ends.push_back(total_q += queries[i]);
		max_q = std::max(max_q, queries[i]);
		max_k = std::max(max_k, contexts[i]);
		pages += (contexts[i] + page - 1) / page;
	}
	int width = (max_k + page - 1) / page;
	std::vector<int> order(pages), table((size_t)b * width, 0);
	for (int i = 0; i < pages; i++)
		order[i] = i;
	if (shuffled)
		std::shuffle(order.begin(), order.end(), std::mt19937(seed));
	for (int i = 0, n = 0; i < b; i++)
		for (int j = 0; j < (contexts[i] + page - 1) / page; j++)
			table[(size_t)i * width + j] = order[n++];

	size_t kv_elements = (size_t)pages * page * kv_heads * head_size,
	       q_elements = (size_t)total_q * heads * head_size;
	element *k = keep(device_array<element>(kv_elements)),
		*v = keep(device_array<element>(kv_elements));
	element *q = keep(device_array<element>(q_elements)),
		*o = keep(device_array<element>(q_elements));
	fill<<<1024, 256>>>(k, kv_elements, seed);
	fill<<<1024, 256>>>(v, kv_elements, seed + 1);
	fill<<<1024, 256>>>(q, q_elements, seed + 2);

	bool swapped = max_q == 1;
	c.causal = !swapped;
	int h = swapped ? kv_heads : heads, q_rows = swapped ? heads / kv_heads : max_q;
	p.is_bf16 = true;
	p.q_ptr = q;
	p.k_ptr = k;
	p.v_ptr = v;
	p.o_ptr = o;
	p.q_row_stride = p.o_row_stride = h * head_size;
	p.q_head_stride = p.o_head_stride = head_size;
	p.k_row_stride = p.v_row_stride = kv_heads * head_size;
	p.k_head_stride = p.v_head_stride = head_size;
	p.k_batch_stride = p.v_batch_stride = (int64_t)page * kv_heads * head_size;
	if (swapped)
		p.q_batch_stride = p.o_batch_stride = (int64_t)q_rows * h * head_size;
	else
		p.cu_seqlens_q = keep(device_copy(q_ends));
	p.cu_seqlens_k = keep(device_copy(q_ends)); /* a dummy, as in vLLM */
	p.seqused_k = keep(device_copy(k_lens));
	p.softmax_lse_ptr = keep(device_array<float>((size_t)heads * total_q));
	p.b = b;
	p.h = h;
	p.h_k = kv_heads;
	p.h_h_k_ratio = h / kv_heads;
	p.seqlen_q = q_rows;
	p.seqlen_k = max_k;
	p.seqlen_q_rounded = (q_rows + 127) / 128 * 128;
	p.seqlen_k_rounded = (max_k + 127) / 128 * 128;
	p.d = p.d_rounded = head_size;
	p.total_q = swapped ? total_q * q_rows : total_q;
	float scale = 1 / std::sqrt((float)head_size);
	p.scale_softmax = scale;
	p.scale_softmax_log2 = scale * (float)M_LOG2E;
	p.p_dropout = 1;
	p.p_dropout_in_uint8_t = 255;
	p.rp_dropout = 1;
	p.scale_softmax_rp_dropout = scale;
	p.is_causal = c.causal;
	p.window_size_left = -1;
	p.window_size_right = c.causal ? 0 : -1;
	p.is_seqlens_k_cumulative = true;
	p.unpadded_lse = true;
	p.seqlenq_ngroups_swapped = swapped;
	p.block_table = keep(device_copy(table));
	p.block_table_batch_stride = width;
	p.page_block_size = page;
	if (swapped) {
		p.num_splits =
			splits(b * h * ((q_rows + 63) / 64), sms * 2, (max_k + 127) / 128);
		if (p.num_splits > 1) {
			p.softmax_lseaccum_ptr = keep(
				device_array<float>((size_t)p.num_splits * b * h * q_rows));
			p.oaccum_ptr = keep(device_array<float>((size_t)p.num_splits * b * h *
								q_rows * head_size));
		}
	}
	return c;
}

static void run(call &c, cudaStream_t stream)
{
	if (c.causal)
		FLASH_NAMESPACE::run_mha_fwd_splitkv_dispatch<element, 128, true>(c.params,
										  stream);
	else
		FLASH_NAMESPACE::run_mha_fwd_splitkv_dispatch<element, 128, false>(c.params,
										   stream);
}

static void measure(const char *kind, int decodes, int context, int prefill,
		    bool shuffled = true)
{
	std::vector<int> queries(decodes, 1), contexts(decodes, context);
	if (prefill) {
		queries.push_back(prefill);
		contexts.push_back(prefill);
	}
	size_t tokens = (size_t)decodes * context + prefill;
	int sets = std::max(1, std::min(8, (int)(300e6 / (tokens * 4096.)) + 1));
	std::vector<call> calls;
	for (int i = 0; i < sets; i++)
		calls.push_back(make_call(queries, contexts, shuffled, 7 + 3 * i));
	cudaStream_t stream;
	cudaEvent_t begin, end;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	C10_CUDA_CHECK(cudaStreamCreate(&stream));
	C10_CUDA_CHECK(cudaEventCreate(&begin));
	C10_CUDA_CHECK(cudaEventCreate(&end));
	C10_CUDA_CHECK(cudaDeviceSynchronize());
	for (auto &c : calls)
		run(c, stream);
	C10_CUDA_CHECK(cudaStreamSynchronize(stream));
	C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	int rounds = std::max(1, 24 / sets);
	for (int r = 0; r < rounds; r++)
		for (auto &c : calls)
			run(c, stream);
	C10_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
	C10_CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
	std::vector<float> times;
	for (int i = 0; i < 6; i++) {
		float ms;
		C10_CUDA_CHECK(cudaEventRecord(begin, stream));
		C10_CUDA_CHECK(cudaGraphLaunch(exec, stream));
		C10_CUDA_CHECK(cudaEventRecord(end, stream));
		C10_CUDA_CHECK(cudaStreamSynchronize(stream));
		C10_CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
		if (i)
			times.push_back(ms * 1e3f / (rounds * sets));
	}
	std::sort(times.begin(), times.end());
	printf("paged %s decodes %d context %d prefill %d %.2f\n", kind, decodes,
	       decodes ? context : 0, prefill, times[2]);
	fflush(stdout);
	cudaGraphExecDestroy(exec);
	cudaGraphDestroy(graph);
	cudaStreamDestroy(stream);
	for (void *p : garbage)
		cudaFree(p);
	garbage.clear();
}

/* The kernel's result against a plain sum over the blocks, for one head of the last sequence. */
static void check(int decodes, int context, int prefill)
{
	std::vector<int> queries(decodes, 1), contexts(decodes, context);
	if (prefill) {
		queries.push_back(prefill);
		contexts.push_back(prefill);
	}
	call c = make_call(queries, contexts, true, 7);
	C10_CUDA_CHECK(cudaDeviceSynchronize());
	run(c, 0);
	C10_CUDA_CHECK(cudaDeviceSynchronize());
	auto &p = c.params;
	int total_q = 0, pages = 0, b = queries.size();
	for (int i = 0; i < b; i++) {
		total_q += queries[i];
		pages += (contexts[i] + page - 1) / page;
	}
	std::vector<element> q((size_t)total_q * heads * head_size), o(q.size()),
		k((size_t)pages * page * kv_heads * head_size), v(k.size());
	std::vector<int> table((size_t)b * p.block_table_batch_stride);
	cudaMemcpy(q.data(), p.q_ptr, q.size() * 2, cudaMemcpyDeviceToHost);
	cudaMemcpy(o.data(), p.o_ptr, o.size() * 2, cudaMemcpyDeviceToHost);
	cudaMemcpy(k.data(), p.k_ptr, k.size() * 2, cudaMemcpyDeviceToHost);
	cudaMemcpy(v.data(), p.v_ptr, v.size() * 2, cudaMemcpyDeviceToHost);
	cudaMemcpy(table.data(), p.block_table, table.size() * 4, cudaMemcpyDeviceToHost);
	bool swapped = !c.causal;
	double worst = 0;
	for (int head = 0; head < heads; head += 5) {
		int s = b - 1, row = total_q - 1; /* the last token sees all of its sequence */
		/* swapped: row r of a key head is query head r * kv_heads + key head in this layout */
		size_t at = swapped ? ((size_t)s * heads + head) * head_size :
				      ((size_t)row * heads + head) * head_size;
		int kv = swapped ? head % kv_heads : head / (heads / kv_heads);
		std::vector<double> score(contexts[s]), out(head_size, 0);
		double most = -1e30, sum = 0;
		auto where = [&](int t) {
			return (((size_t)table[(size_t)s * p.block_table_batch_stride +
					       t / page] *
					 page +
				 t % page) *
					kv_heads +
				kv) *
			       head_size;
		};
		for (int t = 0; t < contexts[s]; t++) {
			double x = 0;
			for (int d = 0; d < head_size; d++)
				x += (double)float(q[at + d]) * (double)float(k[where(t) + d]);
			score[t] = x * p.scale_softmax;
			most = std::max(most, score[t]);
		}
		for (auto &x : score)
			sum += x = std::exp(x - most);
		for (int t = 0; t < contexts[s]; t++)
			for (int d = 0; d < head_size; d++)
				out[d] += score[t] / sum * (double)float(v[where(t) + d]);
		for (int d = 0; d < head_size; d++)
			worst = std::max(worst, std::fabs(out[d] - (double)float(o[at + d])));
	}
	printf("# check decodes %d context %d prefill %d: largest difference %.5f (values to "
	       "0.15)\n",
	       decodes, context, prefill, worst);
	for (void *x : garbage)
		cudaFree(x);
	garbage.clear();
	if (!(worst < 2e-3))
		exit(1);
}

int main(void)
{
	cudaDeviceProp prop;
	C10_CUDA_CHECK(cudaGetDeviceProperties(&prop, 0));
	sms = prop.multiProcessorCount;
	printf("# %s, %d SMs\n", prop.name, sms);
	check(9, 517, 0);
	check(200, 517, 0);
	check(9, 517, 300);
	for (int decodes : { 1, 8, 32, 64, 128, 200 })
		for (int context : { 512, 993, 2048 })
			measure("decode", decodes, context, 0);
	measure("decode-in-order", 64, 993, 0, false);
	measure("decode-in-order", 200, 993, 0, false);
	for (int tokens : { 128, 512, 641, 1024, 1848, 2048 })
		measure("prefill", 0, 0, tokens);
	for (int decodes : { 8, 32, 64, 128, 200 })
		measure("mixed", decodes, 993, 641);
	for (int decodes : { 32, 64, 128, 200 })
		measure("mixed", decodes, 993, 2048 - decodes);
	measure("mixed", 200, 512, 641);
	measure("mixed", 200, 2048, 641);
	measure("mixed", 64, 2048, 64);
	measure("mixed", 64, 993, 64);
	measure("mixed", 200, 993, 64);
	measure("mixed", 200, 128, 64);
	measure("mixed", 200, 128, 1848);
	return 0;
}
