/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * For tests of single files of the shim beside the stand-in for RM: system calls go to it, and
 * the last warning is kept. Two clients have two GPUs each, with a channel group on each and two
 * channels in that.
 */
#ifndef TESTS_SHIM_RM_BESIDE_H
#define TESTS_SHIM_RM_BESIDE_H

#include "rm.h"
#include "rm_stand_in.h"
#include "suite.h"

extern char beside_warning[256];

void beside_begin(void);
void beside_end(void);

#endif
