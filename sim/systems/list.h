/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The systems, in the order of help and documents. A new one is a file of its own, which
 * defines system_NAME, and a line here. Included with SIM_SYSTEM() defined; no guard.
 */
SIM_SYSTEM(exclusive)
SIM_SYSTEM(stock)
SIM_SYSTEM(gvm)
SIM_SYSTEM(ghost)
SIM_SYSTEM(ghost_uvm)
SIM_SYSTEM(gpreempt)
SIM_SYSTEM(tgs)
SIM_SYSTEM(xsched)
SIM_SYSTEM(mps)
SIM_SYSTEM(guardian)
SIM_SYSTEM(mig)
SIM_SYSTEM(vgpu)
SIM_SYSTEM(gvtg)
