/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The proof that a patched module stays inside of its partition. A module is loaded only if it
 * verifies, so the patcher need not be trusted.
 *
 * The verifier has a parser, a list of opcodes and a data flow of its own. It shares the lexer
 * with the patcher (ptx_lex.h) and the names of the modes (bounds.h), and nothing else.
 *
 * What it proves of each instruction that may reach device memory: its address is the
 * register that a whole fence sequence has just written, in the same basic block, with
 * nothing in between; or a variable of the module with an offset inside of it. What it
 * proves of the registers of a fence: only these sequences write them, the bounds are
 * loaded once, at the start of each function, and no name of them is declared twice. An
 * instruction that it does not know is refused.
 */
#ifndef KERNEL_PORT_GUARDIAN_VERIFY_H
#define KERNEL_PORT_GUARDIAN_VERIFY_H

#include "verify_report.h"

/*
 * Verify a text. Returns 0 and fills *ret_report, which verify_report_destroy() frees; or a
 * negative enum sim_exit with one line in *err, "FILE:LINE: WORD: reason", and nothing to free.
 */
int verify_text(const struct ptx_text *text, struct verify_report *ret_report,
		struct sim_error *err);
void verify_report_destroy(struct verify_report *report);

/*
 * Would an instruction with this opcode be accepted anywhere? For the
 * comparison of both tables.
 */
bool verify_knows(const struct ptx_text *text, size_t at);

#endif
