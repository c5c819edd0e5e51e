/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Control files: the papers' gcgroup interface (GVM Table 2, Ghost Table 2) as a table of
 * names. Scenario events, the policy daemon and the files in debugfs all use gvm_control_read()
 * and gvm_control_write().
 */
#ifndef GVM_CONTROL_H
#define GVM_CONTROL_H

#include "gvm/container.h"

/* The longest text that a control file takes or gives, with its terminating zero. */
#define GVM_CONTROL_TEXT_MAX 256

/* The kind of a control file's text, and its parser. */
enum gvm_control_kind {
	GVM_CONTROL_BYTES,     /* gvm_parse_bytes(); "max" is GVM_NO_LIMIT */
	GVM_CONTROL_TIMESLICE, /* gvm_parse_timeslice_us() */
	GVM_CONTROL_NUMBER,    /* gvm_parse_u64() */
	GVM_CONTROL_TEXT,      /* several lines; never writable */
};

/*
 * One control file, described for parsers, debugfs, collectors, help and documents.
 * A new control file is a new row of the table in service/control.c and nothing else.
 */
struct gvm_control_file {
	const char *name;    /* "gmem.limit.high" */
	const char *alias;   /* name in the public GVM driver, or NULL */
	const char *summary; /* one line for help and documents, without a full stop */
	const char *unit; /* of the number, "bytes" or "us"; "" for a bare number or for text */
	u32 mode;	  /* permission bits: 0444, 0644 or 0200 */
	u8 kind;	  /* enum gvm_control_kind */
	u64 min;	  /* smallest and largest value that a write takes, in @unit */
	u64 max;
	bool tsg_mutex; /* show needs the device's tsg_mutex, which may be held over RPCs */
	/*
	 * Write the value as text with a newline into buf; its length or -EINTR. NULL:
	 * write-only.
	 */
	int (*show)(struct gvm_container *container, char *buf, size_t size);
	/* Work before the value holds, for a writer that can wait. 0 or -EINTR. Or NULL. */
	int (*prepare)(struct gvm_container *container, u64 value);
	/* Take a value between min and max. 0 or -errno. NULL: read-only. */
	int (*store)(struct gvm_container *container, u64 value);
	/*
	 * Work that follows a stored value; long work only with @wait. 0, or the error that
	 * left the work unfinished; the value holds all the same. Or NULL.
	 */
	int (*apply)(struct gvm_container *container, bool wait);
};

/* All control files, in the order in which a directory lists them. CONTEXT: atomic. */
u32 gvm_control_count(void);
const struct gvm_control_file *gvm_control_at(u32 index);

/* The file called @name, also by its alias; NULL if there is none. CONTEXT: atomic. */
const struct gvm_control_file *gvm_control_find(const char *name);

/*
 * Read or write a control file by name. read returns the length of the text. write takes @size
 * bytes that need no terminator and may end in white space. On a quiesced device a write waits
 * for the resume, before it changes anything.
 *
 * Errors: -ENOENT no such file, -EACCES not readable or writable, -EINVAL malformed or out of
 * range (nothing changed), -E2BIG text too long, -EINTR the thread is being killed, or has a
 * signal while it waits for a resume (nothing changed), -ENODEV the GPU is lost, -EIO its books
 * are broken, -EOPNOTSUPP a compute.* file of a container that shares a TSG, or the error of an
 * RPC. After -EINTR, -EAGAIN (the device is being quiesced) or an eviction's error a limit may
 * hold while its reclaim is unfinished: see gvm_reclaim(). After -ETIMEDOUT, -EAGAIN or -EINTR
 * a freeze may hold while a TSG is still on the GPU: see gvm_compute_await_frozen(). CONTEXT:
 * process.
 */
int gvm_control_read(struct gvm_container *container, const char *name, char *buf, size_t size);

/*
 * As gvm_control_read(), but without sleep. -EAGAIN: another thread holds a mutex. CONTEXT:
 * process.
 */
int gvm_control_peek(struct gvm_container *container, const char *name, char *buf, size_t size);
int gvm_control_write(struct gvm_container *container, const char *name, const char *text,
		      size_t size);

/*
 * As gvm_control_write(), but without a wait for reclaim: a lowered limit holds at once,
 * listeners are told, and the memory above it leaves when the container next needs some.
 * -EAGAIN: the device is quiesced. CONTEXT: process.
 */
int gvm_control_set(struct gvm_container *container, const char *name, const char *text,
		    size_t size);

/*
 * Parsers of policy/parse.c. Each takes a whole zero-terminated text, without surrounding
 * space, and returns 0, -EINVAL (malformed) or -ERANGE (does not fit). CONTEXT: atomic.
 *   bytes   decimal integer; K, M, G for powers of 1024; "max"; 6e9
 *   us      decimal integer: bare or "ms" is milliseconds, "us" microseconds
 */
int gvm_parse_u64(const char *text, u64 *ret_value);
int gvm_parse_bytes(const char *text, u64 *ret_bytes);
int gvm_parse_timeslice_us(const char *text, u64 *ret_us);

#endif
