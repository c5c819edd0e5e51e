// SPDX-License-Identifier: MIT OR GPL-2.0
#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/units.h"

#define DEFAULT_BYTES (1ull << 30)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int connection = -1;
static unsigned char *window;
static struct fenced_reply shared_reply; /* under the lock */

/* LOCKING: lock. */
static cu_result lost(const char *why)
{
	if (connection >= 0)
		close(connection);
	connection = -1;
	fprintf(stderr, "gvmfence_client: gvmfenced has ended the connection: %s\n", why);
	return FENCED_NO_MANAGER;
}

static ssize_t send_with(const struct fenced_request *request, int descriptor)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { (void *)(uintptr_t)request,
			      FENCED_REQUEST_HEAD + request->bytes };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *head;
	ssize_t sent;

	if (descriptor >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
	}
	do
		sent = sendmsg(connection, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent;
}

/* LOCKING: lock. */
static cu_result exchange(const struct fenced_request *request, int descriptor)
{
	ssize_t got;

	if (connection < 0)
		return FENCED_NO_MANAGER;
	if (send_with(request, descriptor) < 0)
		return lost(strerror(errno));
	if (FENCED_SILENT(request->call))
		return CU_OK;
	do
		got = recv(connection, &shared_reply, sizeof(shared_reply), 0);
	while (got < 0 && errno == EINTR);
	if (got < (ssize_t)FENCED_REPLY_HEAD)
		return lost(got ? strerror(errno) :
				  "a kernel has not ended or has broken the context");
	return shared_reply.result;
}

cu_result connection_call(const struct fenced_request *request, const void *in, size_t in_bytes,
			  void *out, size_t out_bytes, struct fenced_reply *ret_reply)
{
	cu_result result;

	pthread_mutex_lock(&lock);
	if (in && connection >= 0)
		memcpy(window, in, in_bytes);
	result = exchange(request, -1);
	if (result == CU_OK && out)
		memcpy(out, window, out_bytes);
	if (result == CU_OK && ret_reply)
		memcpy(ret_reply, &shared_reply, FENCED_REPLY_HEAD + shared_reply.bytes);
	pthread_mutex_unlock(&lock);
	return result;
}

/* The memfd that both map. It cannot shrink, which the manager wants to see. */
static int make_window(void)
{
	int fd = memfd_create("gvmfence", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)FENCED_WINDOW) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -1;
	window = mmap(NULL, FENCED_WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return window == MAP_FAILED ? -1 : fd;
}

static cu_result open_locked(void)
{
	const char *path = getenv("GVM_FENCED_SOCKET"), *size = getenv("GVM_FENCED_MEMORY");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct fenced_request hello = { .call = FENCED_HELLO,
					.a = FENCED_VERSION,
					.b = DEFAULT_BYTES };
	cu_result result;
	int descriptor;

	path = path && *path ? path : FENCED_SOCKET;
	if (size && *size && units_parse_size(size, &hello.b) != UNITS_OK) {
		fprintf(stderr, "gvmfence_client: GVM_FENCED_MEMORY=%s is no size\n", size);
		return CU_INVALID_VALUE;
	}
	if (strlen(path) >= sizeof(address.sun_path))
		return CU_INVALID_VALUE;
	strcpy(address.sun_path, path);
	connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (connection < 0 ||
	    connect(connection, (struct sockaddr *)&address, sizeof(address))) {
		fprintf(stderr, "gvmfence_client: %s: %s\n", path, strerror(errno));
		close(connection);
		connection = -1;
		return CU_NOT_INITIALIZED;
	}
	descriptor = make_window();
	if (descriptor < 0) {
		close(connection);
		connection = -1;
		return CU_OUT_OF_MEMORY;
	}
	result = exchange(&hello, descriptor);
	close(descriptor);
	if (result == CU_OUT_OF_MEMORY)
		fprintf(stderr, "gvmfence_client: gvmfenced has no partition of %llu bytes\n",
			hello.b);
	return result;
}

cu_result connection_open(void)
{
	cu_result result = CU_OK;

	pthread_mutex_lock(&lock);
	if (!window)
		result = open_locked();
	else if (connection < 0)
		result = FENCED_NO_MANAGER;
	pthread_mutex_unlock(&lock);
	return result;
}
