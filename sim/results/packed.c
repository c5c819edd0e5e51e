// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#define LEVEL  3
#define BUFFER 65536

struct packed {
	FILE *below;
	ZSTD_CCtx *writes; /* or NULL */
	ZSTD_DCtx *reads;
	ZSTD_inBuffer in; /* of reading: the part of buf that is not decompressed yet */
	size_t left;	  /* of reading: 0 at the end of a frame */
	char buf[BUFFER];
};

/* Compress @in, and with @end the end of the frame. Returns 0 or -1 and errno. */
static int compress(struct packed *packed, ZSTD_inBuffer *in, ZSTD_EndDirective end)
{
	size_t left;

	do {
		ZSTD_outBuffer out = { packed->buf, sizeof(packed->buf), 0 };

		left = ZSTD_compressStream2(packed->writes, &out, in, end);
		if (ZSTD_isError(left)) {
			errno = ENOMEM;
			return -1;
		}
		if (fwrite(packed->buf, 1, out.pos, packed->below) != out.pos)
			return -1;
	} while (end == ZSTD_e_end ? left != 0 : in->pos < in->size);
	return 0;
}

static ssize_t write_cookie(void *cookie, const char *bytes, size_t size)
{
	ZSTD_inBuffer in = { bytes, size, 0 };

	return compress(cookie, &in, ZSTD_e_continue) ? 0 : (ssize_t)size;
}

static int close_cookie(void *cookie)
{
	struct packed *packed = cookie;
	ZSTD_inBuffer none = { NULL, 0, 0 };
	int status;

	if (packed->writes)
		status = compress(packed, &none, ZSTD_e_end);
	else
		status = fclose(packed->below);
	ZSTD_freeCCtx(packed->writes);
	ZSTD_freeDCtx(packed->reads);
	free(packed);
	return status;
}

static ssize_t read_cookie(void *cookie, char *bytes, size_t size)
{
	struct packed *packed = cookie;
	ZSTD_outBuffer out = { bytes, size, 0 };

	while (!out.pos) {
		if (packed->in.pos == packed->in.size) {
			packed->in.size =
				fread(packed->buf, 1, sizeof(packed->buf), packed->below);
			packed->in.pos = 0;
			if (!packed->in.size && ferror(packed->below))
				return -1;
		}
		if (!packed->in.size) {
			errno = EBADMSG;
			return packed->left ? -1 : 0;
		}
		packed->left = ZSTD_decompressStream(packed->reads, &out, &packed->in);
		if (ZSTD_isError(packed->left)) {
			errno = EBADMSG;
			return -1;
		}
	}
	return (ssize_t)out.pos;
}

/* Wrap a stream; @packed has its context or has had no memory for it. */
static FILE *open_cookie(struct packed *packed, const char *mode, cookie_io_functions_t calls)
{
	FILE *stream = packed && (packed->writes || packed->reads) ?
			       fopencookie(packed, mode, calls) :
			       NULL;

	if (stream)
		return stream;
	if (packed) {
		ZSTD_freeCCtx(packed->writes);
		ZSTD_freeDCtx(packed->reads);
	}
	free(packed);
	errno = ENOMEM;
	return NULL;
}

FILE *packed_write(FILE *below)
{
	struct packed *packed = calloc(1, sizeof(*packed));

	if (packed) {
		packed->below = below;
		packed->writes = ZSTD_createCCtx();
	}
	if (packed && packed->writes) {
		ZSTD_CCtx_setParameter(packed->writes, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(packed->writes, ZSTD_c_checksumFlag, 1);
	}
	return open_cookie(packed, "w",
			   (cookie_io_functions_t){ .write = write_cookie,
						    .close = close_cookie });
}

FILE *packed_read(FILE *below)
{
	struct packed *packed = calloc(1, sizeof(*packed));

	if (packed) {
		packed->below = below;
		packed->in.src = packed->buf;
		packed->left = 1;
		packed->reads = ZSTD_createDCtx();
	}
	return open_cookie(packed, "r",
			   (cookie_io_functions_t){ .read = read_cookie,
						    .close = close_cookie });
}
