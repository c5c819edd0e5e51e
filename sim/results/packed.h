/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Files that are compressed by zstd, as streams. gvmcollect needs no zstd: there both
 * calls fail with ENOTSUP.
 */
#ifndef SIM_RESULTS_PACKED_H
#define SIM_RESULTS_PACKED_H

#include <stdio.h>

#define PACKED_ENDING ".zst"

/*
 * A stream whose bytes are compressed into @below: one frame, with a checksum. fclose() ends
 * the frame and leaves @below open. NULL: errno says why.
 */
FILE *packed_write(FILE *below);

/*
 * A stream of what @below has compressed. fclose() closes @below, too. A damaged or cut-off
 * frame is an error of reading, EBADMSG. NULL: errno says why, and @below stays open.
 */
FILE *packed_read(FILE *below);

#endif
