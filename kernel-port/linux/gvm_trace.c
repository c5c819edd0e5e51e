// SPDX-License-Identifier: MIT OR GPL-2.0
/* Makes the tracepoints that gvm_trace.h declares. */
#include "gvm/container.h"

#define CREATE_TRACE_POINTS
#include "gvm_trace.h"
