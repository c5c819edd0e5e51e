/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The policies that come with gvmd, in the order of help and documents. A new one is a file of
 * its own, which defines policy_NAME, and a line here. Included with GVMD_POLICY() defined; no
 * guard.
 */
GVMD_POLICY(rules)
GVMD_POLICY(dyn)
GVMD_POLICY(ac)
GVMD_POLICY(slo)
GVMD_POLICY(timeshare)
GVMD_POLICY(debt)
GVMD_POLICY(detect)
