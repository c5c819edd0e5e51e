// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * How many kernels a graph launches: its kernel nodes and those of its child graphs, counted
 * when it is instantiated. An update keeps the nodes, so the number stays;
 * cuGraphNodeSetEnabled() changes it. The bodies of conditional nodes run as often as the GPU
 * decides: they are not counted, and the log says so. It says so, too, of memory that a graph
 * allocates: the driver keeps it, and gives it to other graphs, without a call that we see.
 *
 * Also here: which calls begin and end the capture of a stream into a graph.
 */
#include <pthread.h>
#include <stdlib.h>

#include "shim.h"

struct graph_off {
	struct CUgraphNode_st *node;
	struct graph_off *next;
};

struct graph_exec {
	struct CUgraphExec_st *exec;
	u64 kernels;
	struct graph_off *off; /* kernel nodes that are disabled */
	struct graph_exec *next;
};

#define BUCKETS 1024
static struct graph_exec *buckets[BUCKETS];
static pthread_mutex_t graphs_lock = PTHREAD_MUTEX_INITIALIZER;

static struct graph_exec **bucket_of(const struct CUgraphExec_st *exec)
{
	return &buckets[((uintptr_t)exec >> 4) % BUCKETS];
}

static struct graph_exec *find_locked(const struct CUgraphExec_st *exec)
{
	struct graph_exec *entry = *bucket_of(exec);

	while (entry && entry->exec != exec)
		entry = entry->next;
	return entry;
}

/* Graphs are nested as deep as the application has nested them. */
static u64 count_kernels(const struct shim_real *real, struct CUgraph_st *graph)
{
	struct CUgraphNode_st **nodes;
	struct CUgraph_st *child;
	unsigned int type;
	static atomic_flag told = ATOMIC_FLAG_INIT, told_memory = ATOMIC_FLAG_INIT;
	u64 kernels = 0;
	size_t count = 0;

	if (real->cuGraphGetNodes(graph, NULL, &count) != CU_OK || !count)
		return 0;
	nodes = calloc(count, sizeof(*nodes));
	if (!nodes || real->cuGraphGetNodes(graph, nodes, &count) != CU_OK)
		count = 0;
	for (size_t i = 0; i < count; i++) {
		if (real->cuGraphNodeGetType(nodes[i], &type) != CU_OK)
			continue;
		if (type == CU_NODE_KERNEL)
			kernels++;
		else if (type == CU_NODE_CONDITIONAL && !atomic_flag_test_and_set(&told))
			shim_warn("a graph has a conditional node: the kernels of its body "
				  "cannot be counted");
		else if (type == CU_NODE_MEM_ALLOC && !atomic_flag_test_and_set(&told_memory))
			shim_warn(
				"a graph allocates memory: it is neither counted nor limited");
		else if (type == CU_NODE_GRAPH &&
			 real->cuGraphChildGraphNodeGetGraph(nodes[i], &child) == CU_OK)
			kernels += count_kernels(real, child);
	}
	free(nodes);
	return kernels;
}

static void forget_locked(const struct CUgraphExec_st *exec)
{
	struct graph_exec **link = bucket_of(exec);

	for (; *link; link = &(*link)->next) {
		struct graph_exec *entry = *link;

		if (entry->exec != exec)
			continue;
		*link = entry->next;
		while (entry->off) {
			struct graph_off *off = entry->off;

			entry->off = off->next;
			free(off);
		}
		free(entry);
		return;
	}
}

static cu_result instantiated(const struct shim_real *real, cu_result result,
			      struct CUgraphExec_st *const *exec, struct CUgraph_st *graph)
{
	struct graph_exec *entry;

	if (result != CU_OK || !exec)
		return result;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return result;
	entry->exec = *exec;
	entry->kernels = count_kernels(real, graph);
	pthread_mutex_lock(&graphs_lock);
	forget_locked(*exec);
	entry->next = *bucket_of(*exec);
	*bucket_of(*exec) = entry;
	pthread_mutex_unlock(&graphs_lock);
	return result;
}

u64 graphs_kernels(struct CUgraphExec_st *exec)
{
	struct graph_exec *entry;
	u64 kernels = 0;

	pthread_mutex_lock(&graphs_lock);
	entry = find_locked(exec);
	if (entry)
		kernels = entry->kernels;
	pthread_mutex_unlock(&graphs_lock);
	return kernels;
}

SHIM_EXPORT cu_result cuGraphInstantiate(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
					 struct CUgraphNode_st **node, char *log, size_t size)
{
	const struct shim_real *real = shim_real();

	if (!real || !real->cuGraphInstantiate)
		return CU_NOT_INITIALIZED;
	return instantiated(real, real->cuGraphInstantiate(exec, graph, node, log, size), exec,
			    graph);
}

SHIM_EXPORT cu_result cuGraphInstantiate_v2(struct CUgraphExec_st **exec,
					    struct CUgraph_st *graph,
					    struct CUgraphNode_st **node, char *log,
					    size_t size)
{
	const struct shim_real *real = shim_real();

	if (!real || !real->cuGraphInstantiate_v2)
		return CU_NOT_INITIALIZED;
	return instantiated(real, real->cuGraphInstantiate_v2(exec, graph, node, log, size),
			    exec, graph);
}

SHIM_EXPORT cu_result cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec,
						  struct CUgraph_st *graph,
						  unsigned long long flags)
{
	const struct shim_real *real = shim_real();

	if (!real || !real->cuGraphInstantiateWithFlags)
		return CU_NOT_INITIALIZED;
	return instantiated(real, real->cuGraphInstantiateWithFlags(exec, graph, flags), exec,
			    graph);
}

SHIM_EXPORT cu_result
cuGraphInstantiateWithParams(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
			     struct CUDA_GRAPH_INSTANTIATE_PARAMS_st *params)
{
	const struct shim_real *real = shim_real();

	if (!real || !real->cuGraphInstantiateWithParams)
		return CU_NOT_INITIALIZED;
	return instantiated(real, real->cuGraphInstantiateWithParams(exec, graph, params), exec,
			    graph);
}

SHIM_EXPORT cu_result
cuGraphInstantiateWithParams_ptsz(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				  struct CUDA_GRAPH_INSTANTIATE_PARAMS_st *params)
{
	const struct shim_real *real = shim_real();

	if (!real || !real->cuGraphInstantiateWithParams_ptsz)
		return CU_NOT_INITIALIZED;
	return instantiated(real, real->cuGraphInstantiateWithParams_ptsz(exec, graph, params),
			    exec, graph);
}

/* Enabling an enabled node, or disabling a disabled one, changes nothing. */
static void set_enabled(struct graph_exec *entry, struct CUgraphNode_st *node, bool enabled)
{
	struct graph_off **link = &entry->off;
	struct graph_off *off;

	while (*link && (*link)->node != node)
		link = &(*link)->next;
	off = *link;
	if (enabled && off) {
		*link = off->next;
		free(off);
		entry->kernels++;
	} else if (!enabled && !off && entry->kernels) {
		off = malloc(sizeof(*off));
		if (!off)
			return;
		*off = (struct graph_off){ node, NULL };
		*link = off;
		entry->kernels--;
	}
}

SHIM_EXPORT cu_result cuGraphNodeSetEnabled(struct CUgraphExec_st *exec,
					    struct CUgraphNode_st *node, unsigned int enabled)
{
	const struct shim_real *real = shim_real();
	struct graph_exec *entry;
	unsigned int type;
	cu_result result;

	if (!real || !real->cuGraphNodeSetEnabled)
		return CU_NOT_INITIALIZED;
	result = real->cuGraphNodeSetEnabled(exec, node, enabled);
	if (result != CU_OK || real->cuGraphNodeGetType(node, &type) != CU_OK ||
	    type != CU_NODE_KERNEL)
		return result;
	pthread_mutex_lock(&graphs_lock);
	entry = find_locked(exec);
	if (entry)
		set_enabled(entry, node, enabled);
	pthread_mutex_unlock(&graphs_lock);
	return result;
}

SHIM_EXPORT cu_result cuGraphExecDestroy(struct CUgraphExec_st *exec)
{
	const struct shim_real *real = shim_real();

	if (!real)
		return CU_NOT_INITIALIZED;
	pthread_mutex_lock(&graphs_lock);
	forget_locked(exec);
	pthread_mutex_unlock(&graphs_lock);
	return real->cuGraphExecDestroy(exec);
}

/* A capture that could not begin has not begun. */
#define BEGIN_CAPTURE(call)                        \
	do {                                       \
		cu_result status;                  \
                                                   \
		if (!shim_real())                  \
			return CU_NOT_INITIALIZED; \
		streams_capture_began();           \
		status = shim_real()->call;        \
		if (status != CU_OK)               \
			streams_capture_ended();   \
		return status;                     \
	} while (0)

SHIM_EXPORT cu_result cuStreamBeginCapture(struct CUstream_st *stream)
{
	BEGIN_CAPTURE(cuStreamBeginCapture(stream));
}

SHIM_EXPORT cu_result cuStreamBeginCapture_ptsz(struct CUstream_st *stream)
{
	BEGIN_CAPTURE(cuStreamBeginCapture_ptsz(stream));
}

SHIM_EXPORT cu_result cuStreamBeginCapture_v2(struct CUstream_st *stream, unsigned int mode)
{
	BEGIN_CAPTURE(cuStreamBeginCapture_v2(stream, mode));
}

SHIM_EXPORT cu_result cuStreamBeginCapture_v2_ptsz(struct CUstream_st *stream,
						   unsigned int mode)
{
	BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz(stream, mode));
}

SHIM_EXPORT cu_result cuStreamBeginCaptureToGraph(struct CUstream_st *stream,
						  struct CUgraph_st *graph,
						  struct CUgraphNode_st *const *dependencies,
						  const struct CUgraphEdgeData_st *edges,
						  size_t count, unsigned int mode)
{
	BEGIN_CAPTURE(
		cuStreamBeginCaptureToGraph(stream, graph, dependencies, edges, count, mode));
}

SHIM_EXPORT cu_result cuStreamBeginCaptureToGraph_ptsz(
	struct CUstream_st *stream, struct CUgraph_st *graph,
	struct CUgraphNode_st *const *dependencies, const struct CUgraphEdgeData_st *edges,
	size_t count, unsigned int mode)
{
	BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz(stream, graph, dependencies, edges,
						       count, mode));
}

/*
 * A capture that became invalid ends with an error, too. A stream that only joined it,
 * or another thread, cannot end it. So the stream itself tells: it is captured before
 * the call and not after it.
 */
static cu_result end_capture(cu_result result, bool was_capturing, struct CUstream_st *stream)
{
	if (was_capturing && !streams_capturing(stream))
		streams_capture_ended();
	return result;
}

SHIM_EXPORT cu_result cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph)
{
	bool capturing = streams_capturing(stream);

	if (!shim_real())
		return CU_NOT_INITIALIZED;
	return end_capture(shim_real()->cuStreamEndCapture(stream, graph), capturing, stream);
}

SHIM_EXPORT cu_result cuStreamEndCapture_ptsz(struct CUstream_st *stream,
					      struct CUgraph_st **graph)
{
	struct CUstream_st *own = stream ? stream : CU_PER_THREAD;
	bool capturing = streams_capturing(own);

	if (!shim_real())
		return CU_NOT_INITIALIZED;
	return end_capture(shim_real()->cuStreamEndCapture_ptsz(stream, graph), capturing, own);
}

void graphs_reset(void)
{
	pthread_mutex_init(&graphs_lock, NULL);
}
