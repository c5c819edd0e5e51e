// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Descriptors of exported memory go from process to process. A process that has exported memory
 * has a datagram socket with an abstract name, which the worker reads; there is none before. A
 * process that opens a handle asks there, and the answer has the descriptor:
 *
 *     opener    {id, secret}              ->  exporter, whose name is in the handle
 *     opener    {id, sizes} + descriptor  <-  exporter
 *
 * A datagram is whole or is not there. So a client that writes garbage, or says nothing, or asks
 * and does not read, keeps nothing busy: the worker never waits for one. A request with another
 * size or of another user is dropped without an answer. The kernel says whose it is
 * (SCM_CREDENTIALS). Everyone may see the name of the socket; the secret is in the handle alone.
 *
 * The opener asks again and again until TIMEOUT_NS: a request may find the queue full of others.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim.h"

#define TIMEOUT_NS (10000 * SHIM_MS)
/* The opener's patience before it asks again. */
#define AGAIN_MS 100
/* Requests that the worker answers before it looks at the GPU again. */
#define AT_A_TIME 32

struct passing_request {
	char magic[8];
	struct pinned_key key;
};

struct passing_answer {
	char magic[8];
	u64 id;
	u64 bytes, mapped; /* 0: there is no such memory, and no descriptor */
};

static const char magic[8] = "gvmipc1";
static struct shim_descriptor server = SHIM_NO_DESCRIPTOR;
static _Atomic u64 own_name; /* of the server; 0: none */
static pthread_mutex_t passing_lock = PTHREAD_MUTEX_INITIALIZER;

/* The abstract address of a name. */
static socklen_t address_of(u64 name, struct sockaddr_un *address)
{
	int length;

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
			  "gvm-shim-ipc-%016llx", name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* A socket whose messages say who sent them; -1: none. */
static int make_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The same name again where the application has closed the socket: it is in handles. */
static bool open_locked(void)
{
	struct sockaddr_un address;
	socklen_t length;
	u64 name = own_name;
	int fd;

	if (!name && (getrandom(&name, sizeof(name), 0) != sizeof(name) || !name))
		return false;
	fd = make_socket();
	if (fd < 0)
		return false;
	length = address_of(name, &address);
	if (bind(fd, (struct sockaddr *)&address, length)) {
		close(fd);
		return false;
	}
	descriptor_set(&server, fd);
	own_name = name;
	return true;
}

bool passing_open(u64 *ret_name)
{
	bool open;

	pthread_mutex_lock(&passing_lock);
	open = descriptor_of(&server) >= 0 || open_locked();
	*ret_name = own_name;
	if (open)
		shim_wake(); /* the worker has one more socket to wait for */
	if (shim_lost()) {
		/* Nobody reads it. Without it an opener does not wait for an answer. */
		descriptor_close(&server);
		open = false;
	}
	pthread_mutex_unlock(&passing_lock);
	return open;
}

bool passing_is_own(u64 name)
{
	return name && name == own_name;
}

int passing_fd(void)
{
	return own_name ? descriptor_of(&server) : -1;
}

/*
 * Read a message of @bytes into @message, from a process of this user. Sets its address, and its
 * descriptor or -1. False: it is none; errno is EAGAIN where there is no message at all.
 */
static bool receive(int socket, void *message, size_t bytes, struct sockaddr_un *ret_from,
		    socklen_t *ret_length, int *ret_fd)
{
	union {
		struct cmsghdr first;
		char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { message, bytes };
	struct msghdr head = { .msg_name = ret_from,
			       .msg_namelen = sizeof(*ret_from),
			       .msg_iov = &part,
			       .msg_iovlen = 1,
			       .msg_control = &control,
			       .msg_controllen = sizeof(control) };
	bool ours = false;
	ssize_t got;

	*ret_fd = -1;
	got = recvmsg(socket, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0)
		return false;
	for (struct cmsghdr *next = CMSG_FIRSTHDR(&head); next;
	     next = CMSG_NXTHDR(&head, next)) {
		struct ucred sender;

		if (next->cmsg_level != SOL_SOCKET)
			continue;
		if (next->cmsg_type == SCM_RIGHTS && next->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(ret_fd, CMSG_DATA(next), sizeof(*ret_fd));
		if (next->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&sender, CMSG_DATA(next), sizeof(sender));
		ours = sender.uid == getuid();
	}
	*ret_length = head.msg_namelen;
	if (ours && (size_t)got == bytes && !(head.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return true;
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	errno = EPROTO;
	return false;
}

/* It is dropped where the opener's queue is full: it asks again. */
static void give(const struct passing_request *request, struct sockaddr_un *to,
		 socklen_t length)
{
	union {
		struct cmsghdr first;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct passing_answer answer = { .id = request->key.id };
	struct iovec part = { &answer, sizeof(answer) };
	struct msghdr head = {
		.msg_name = to, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1
	};
	int fd = pinned_descriptor(shim_real(), &request->key, &answer.bytes, &answer.mapped);

	memcpy(answer.magic, magic, sizeof(magic));
	if (fd >= 0) {
		head.msg_control = &control;
		head.msg_controllen = sizeof(control);
		control.first = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.first), &fd, sizeof(fd));
	}
	if (sendmsg(passing_fd(), &head, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		shim_log("a process that asked for memory is not answered: error %d", errno);
	if (fd >= 0)
		close(fd);
}

void passing_serve(void)
{
	struct passing_request request;
	struct sockaddr_un from;
	socklen_t length;

	for (int i = 0; i < AT_A_TIME; i++) {
		int socket = passing_fd(), fd;

		if (socket < 0)
			return;
		if (receive(socket, &request, sizeof(request), &from, &length, &fd)) {
			if (fd >= 0)
				close(fd); /* nobody has asked for it */
			if (!memcmp(request.magic, magic, sizeof(magic)) &&
			    length > sizeof(sa_family_t))
				give(&request, &from, length);
		} else if (errno != EPROTO) {
			return;
		}
	}
}

/* Wait for the answer on a socket that is connected with the exporter. 0, or an errno. */
static int ask(int socket, const struct passing_request *request, struct passed *ret_passed)
{
	u64 until_ns = shim_now_ns() + TIMEOUT_NS;
	struct passing_answer answer;
	struct sockaddr_un from;
	socklen_t length;
	int fd;

	while (shim_now_ns() < until_ns) {
		struct pollfd wait = { .fd = socket, .events = POLLIN };

		if (send(socket, request, sizeof(*request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
			if (errno != EAGAIN && errno != EINTR)
				return errno;
			wait.events |= POLLOUT; /* its queue is full */
		}
		if (poll(&wait, 1, AGAIN_MS) <= 0 ||
		    !receive(socket, &answer, sizeof(answer), &from, &length, &fd))
			continue;
		if (!memcmp(answer.magic, magic, sizeof(magic)) &&
		    answer.id == request->key.id) {
			*ret_passed = (struct passed){ fd, answer.bytes, answer.mapped };
			return fd < 0 ? ENOENT : 0;
		}
		if (fd >= 0)
			close(fd);
	}
	return ETIMEDOUT;
}

int passing_ask(u64 name, const struct pinned_key *key, struct passed *ret_passed)
{
	struct passing_request request = { .key = *key };
	struct sockaddr_un own = { .sun_family = AF_UNIX }, address;
	socklen_t length = address_of(name, &address);
	int socket = make_socket(), error = 0;

	if (socket < 0)
		return errno;
	memcpy(request.magic, magic, sizeof(magic));
	/* A name of the kernel's choice: the answer goes there. A connected one hears no others. */
	if (bind(socket, (struct sockaddr *)&own, sizeof(sa_family_t)) ||
	    connect(socket, (struct sockaddr *)&address, length))
		error = errno;
	else
		error = ask(socket, &request, ret_passed);
	close(socket);
	return error;
}

void passing_close(void)
{
	pthread_mutex_lock(&passing_lock);
	descriptor_close(&server);
	pthread_mutex_unlock(&passing_lock);
}

/* The child of a fork has exported nothing. */
void passing_reset(void)
{
	pthread_mutex_init(&passing_lock, NULL);
	descriptor_close(&server);
	own_name = 0;
}
