/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The application types, in the order of help and documents. A new one is a file of its own,
 * which defines NAME_app, and a line here. Included with SIM_APP() defined; no guard.
 */
SIM_APP(llm_server)
SIM_APP(diffusion)
SIM_APP(pages)
SIM_APP(phases)
SIM_APP(transfer)
SIM_APP(llm_rank)
