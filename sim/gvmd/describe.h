/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What policies see and which settings they have, as Markdown. */
#ifndef SIM_GVMD_DESCRIBE_H
#define SIM_GVMD_DESCRIBE_H

/* Print the tables of metrics and of each policy's settings to stdout. */
void gvmd_describe(void);

#endif
