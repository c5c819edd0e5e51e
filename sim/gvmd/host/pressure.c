// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Pressure without a kernel module
 * ================================
 *
 * With gvm.ko a container hears of pressure by its descriptor of /dev/gvm. Without the module
 * the shim has the control files, and nothing posts events. This service does:
 *
 *     gvmctl set, a policy ---> gmem.limit.high --.
 *                                                 +--> current > limit --> a line to the
 *                                                 process
 *     the shim ---------------> gmem.current -----'
 *
 * An event says how many bytes are above the limit. The application gives what it can. The
 * shim refuses further allocations meanwhile, and nothing is taken by force: there is no
 * driver to do so. The event is repeated as long as the process is above its limit, because
 * one answer may give only a part.
 *
 * A connection needs no words of its own. The kernel says which process it is, and it hears of
 * itself and of its descendants: a server that starts workers hears of them. So no process can
 * listen to its neighbours, and the socket is open to all users. A connection goes with
 * the process that made it: a child that has inherited it would hear of the next
 * process of the same number.
 *
 * A line is one write. A peer that does not read loses events, as a reader of gvm.ko's
 * descriptor does, and sees the gap in the sequence.
 */
#include "gvmd/host/pressure.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/units.h"
#include "ctl/host_files.h"

#define PRESSURE_GREETING "gvm-pressure 1\n"
/* Each has two descriptors. */
#define PRESSURE_PEERS_MAX     960
#define PRESSURE_PEERS_OF_USER 240
#define PRESSURE_OTHER_FDS     64
#define PRESSURE_BACKLOG       64
#define PRESSURE_ANCESTORS     64

/* Since Linux 6.5; Debian 12's headers are older. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/*
 * How many connections the descriptors allow. A process usually has 1024, and
 * may have more if it asks.
 */
static size_t room_for_peers(void)
{
	const rlim_t wanted = 2 * PRESSURE_PEERS_MAX + PRESSURE_OTHER_FDS;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return PRESSURE_PEERS_OF_USER;
	if (files.rlim_cur < wanted) {
		files.rlim_cur = wanted < files.rlim_max ? wanted : files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (files.rlim_cur >= wanted)
		return PRESSURE_PEERS_MAX;
	return files.rlim_cur < PRESSURE_OTHER_FDS ? 0 :
						     (files.rlim_cur - PRESSURE_OTHER_FDS) / 2;
}

int pressure_open(struct pressure *pressure)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat info;
	int probe;
	int status = 0;

	if (strlen(pressure->path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	pressure->peers_max = room_for_peers();
	strcpy(address.sun_path, pressure->path);
	pressure->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (pressure->fd < 0)
		return -errno;
	/* SOCK_NONBLOCK: a server that is stuck has no room for one more. */
	probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (probe >= 0 && connect(probe, (struct sockaddr *)&address, sizeof(address)) &&
	    errno == ECONNREFUSED && !lstat(pressure->path, &info) && S_ISSOCK(info.st_mode))
		unlink(pressure->path); /* its server has died */
	if (probe >= 0)
		close(probe);
	if (bind(pressure->fd, (struct sockaddr *)&address, sizeof(address)))
		status = -errno;
	else if (chmod(pressure->path, 0666) || listen(pressure->fd, PRESSURE_BACKLOG)) {
		status = -errno;
		unlink(pressure->path);
	}
	if (status)
		close(pressure->fd);
	return status;
}

static void peer_close(const struct pressure_peer *peer)
{
	close(peer->fd);
	if (peer->pidfd >= 0)
		close(peer->pidfd);
}

void pressure_close(struct pressure *pressure)
{
	for (size_t i = 0; i < pressure->peer_count; i++)
		peer_close(&pressure->peers[i]);
	free(pressure->peers);
	free(pressure->told);
	close(pressure->fd);
	unlink(pressure->path);
}

/* Send a line at once or not at all. False: the peer has gone. */
static bool peer_send(const struct pressure_peer *peer, const char *line)
{
	ssize_t sent = send(peer->fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL);

	return sent < 0 ? errno == EAGAIN || errno == EINTR : (size_t)sent == strlen(line);
}

/* May a user have one more? No user can take all of them. */
static bool has_room(const struct pressure *pressure, uid_t uid)
{
	size_t count = 0;

	for (size_t i = 0; i < pressure->peer_count; i++)
		count += pressure->peers[i].uid == uid;
	return pressure->peer_count < pressure->peers_max && count < PRESSURE_PEERS_OF_USER;
}

/*
 * What /proc tells of a process: its parent, 0 for none, and when it started. False: it
 * has ended, or is hidden.
 */
static bool read_stat(pid_t pid, pid_t *ret_parent, u64 *ret_start)
{
	char path[64], text[512];
	const char *end;
	FILE *file;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	/* "PID (NAME) STATE PPID", and the start is field 22: a name may have brackets. */
	if (fgets(text, sizeof(text), file)) {
		end = strrchr(text, ')');
		found = end &&
			sscanf(end + 1,
			       " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
			       "%*d %*d %*d %*d %llu",
			       ret_parent, ret_start) == 2;
	}
	fclose(file);
	return found;
}

/*
 * Note which process a connection is of. Before Linux 6.5 it is the one that has the number
 * now: the connection is no older than the last look, and a number does not come again that
 * soon. False: it has ended.
 */
static bool identify(struct pressure_peer *peer)
{
	socklen_t size = sizeof(peer->pidfd);
	pid_t parent;

	if (!getsockopt(peer->fd, SOL_SOCKET, SO_PEERPIDFD, &peer->pidfd, &size))
		return true;
	peer->pidfd = -1;
	if (errno != ENOPROTOOPT)
		return false;
	if (!read_stat(peer->pid, &parent, &peer->start))
		peer->start = 0;
	return true;
}

/* Has the process ended that made a connection? */
static bool has_ended(const struct pressure_peer *peer)
{
	struct pollfd ended = { .fd = peer->pidfd, .events = POLLIN };
	pid_t parent;
	u64 start;

	if (peer->pidfd >= 0)
		return poll(&ended, 1, 0) > 0;
	return peer->start && (!read_stat(peer->pid, &parent, &start) || start != peer->start);
}

/*
 * Take the connections that wait, but no more than can wait at once: some come as
 * fast as they are closed.
 */
static int take_peers(struct pressure *pressure)
{
	struct ucred who;
	socklen_t size = sizeof(who);
	int fd;

	for (int i = 0; i <= PRESSURE_BACKLOG; i++) {
		struct pressure_peer *peer;

		fd = accept4(pressure->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			break;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) ||
		    !has_room(pressure, who.uid)) {
			close(fd);
			continue;
		}
		peer = reallocarray(pressure->peers, pressure->peer_count + 1, sizeof(*peer));
		if (!peer) {
			close(fd);
			return -ENOMEM;
		}
		pressure->peers = peer;
		peer += pressure->peer_count;
		*peer = (struct pressure_peer){ .fd = fd, .pid = who.pid, .uid = who.uid };
		if (!identify(peer)) {
			close(fd);
			continue;
		}
		pressure->peer_count++;
		peer_send(peer, PRESSURE_GREETING);
	}
	return 0;
}

static void drop_peer(struct pressure *pressure, size_t index)
{
	peer_close(&pressure->peers[index]);
	pressure->peers[index] = pressure->peers[--pressure->peer_count];
}

/* Words of a peer are read and ignored: a later format may have some. */
static void drop_ended(struct pressure *pressure)
{
	char words[256];

	for (size_t i = pressure->peer_count; i-- > 0;) {
		ssize_t length =
			recv(pressure->peers[i].fd, words, sizeof(words), MSG_DONTWAIT);

		if (!length || (length < 0 && errno != EAGAIN && errno != EINTR) ||
		    has_ended(&pressure->peers[i]))
			drop_peer(pressure, i);
	}
}

/* Tell all peers that are @told's process or an ancestor of it. */
static void tell(struct pressure *pressure, const struct pressure_told *told)
{
	char line[160];
	pid_t pid = told->pid, parent;
	u64 start;

	snprintf(line, sizeof(line), "pressure pid=%d gpu=%llu target=%llu sequence=%llu\n",
		 (int)told->pid, told->gpu, told->target_bytes, told->sequence);
	for (int i = 0; pid > 0 && i < PRESSURE_ANCESTORS; i++) {
		for (size_t j = pressure->peer_count; j-- > 0;) {
			if (pressure->peers[j].pid != pid)
				continue;
			/* The number may be a new process's since the last look. */
			if (!has_ended(&pressure->peers[j]) &&
			    peer_send(&pressure->peers[j], line))
				pressure->events++;
			else
				drop_peer(pressure, j);
		}
		pid = read_stat(pid, &parent, &start) ? parent : 0;
	}
}

/*
 * Is there an event to tell of a process with @current bytes under @limit (U64_MAX: none)?
 * Notes it in @told. An event is told when the target changes, and again after @repeat_ns.
 */
static bool is_due(struct pressure_told *told, u64 current, u64 limit, u64 now_ns,
		   u64 repeat_ns)
{
	u64 target = current > limit ? current - limit : 0;
	bool due =
		target && (target != told->target_bytes || now_ns - told->date_ns >= repeat_ns);

	told->target_bytes = target;
	if (!due)
		return false;
	told->sequence++;
	told->date_ns = now_ns;
	return true;
}

/* What was told of a process on a GPU; a new row at first. NULL: no memory. */
static struct pressure_told *find_told(struct pressure *pressure, pid_t pid, u64 gpu)
{
	struct pressure_told *told;

	for (size_t i = 0; i < pressure->told_count; i++)
		if (pressure->told[i].pid == pid && pressure->told[i].gpu == gpu)
			return &pressure->told[i];
	told = reallocarray(pressure->told, pressure->told_count + 1, sizeof(*told));
	if (!told)
		return NULL;
	pressure->told = told;
	told += pressure->told_count++;
	*told = (struct pressure_told){ .pid = pid, .gpu = gpu };
	return told;
}

/* A size in a control file. False: the file is not there now, or has no size. */
static bool read_bytes(const struct ctl_container *container, const char *file, u64 *ret_bytes)
{
	char text[CTL_TEXT_MAX];

	return !ctl_read(container, file, text) &&
	       units_parse_size(text, ret_bytes) == UNITS_OK;
}

int pressure_tick(struct pressure *pressure, u64 now_ns)
{
	struct ctl_list list;
	size_t left = 0;
	int status = take_peers(pressure);

	drop_ended(pressure);
	if (status || ctl_list(pressure->root, &list))
		return -ENOMEM;
	for (size_t i = 0; i < pressure->told_count; i++)
		pressure->told[i].here = false;
	for (size_t i = 0; !status && i < list.count; i++) {
		const struct ctl_container *container = &list.containers[i];
		struct pressure_told *told;
		u64 current, limit;

		if (container->ended || !container->pid)
			continue;
		told = find_told(pressure, (pid_t)container->pid, container->gpu);
		if (!told) {
			status = -ENOMEM;
			break;
		}
		/*
		 * gvm.ko stands before the shim in the list, and its books are the true ones.
		 */
		if (told->here)
			continue;
		told->here = true;
		if (read_bytes(container, "gmem.current", &current) &&
		    read_bytes(container, "gmem.limit.high", &limit) &&
		    is_due(told, current, limit, now_ns, pressure->repeat_ns))
			tell(pressure, told);
	}
	/* A later process of the same number starts with sequence 1. */
	for (size_t i = 0; !status && i < pressure->told_count; i++)
		if (pressure->told[i].here)
			pressure->told[left++] = pressure->told[i];
	if (!status)
		pressure->told_count = left;
	ctl_list_destroy(&list);
	return status;
}
