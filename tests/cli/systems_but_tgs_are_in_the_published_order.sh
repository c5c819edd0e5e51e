#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# GVM's Figures 12a and 13a, one run each: bars that differ by more than 20 % are in the published order but
# for five pairs with TGS, and values are within 30 % but for those listed. Diffusion's speed beside a lightly loaded
# server is within 25 %. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
. "$(dirname "$0")/order.inc"

# Bars that are known to be further off, and how far they may be: systems without memory limits,
# most of which change with the seed by more than that.
cat >exceptions <<'END'
isolation,client_ttft_ms.p50,stock,0.1,2
isolation,client_itl_ms.p99,stock,0.35,1.3
isolation,client_ttft_ms.p50,gpreempt,0.02,2
isolation,client_ttft_ms.p99,gpreempt,0.15,2.5
isolation,client_itl_ms.p99,gpreempt,0.3,2
isolation,throughput,gpreempt,0.7,1.4
isolation,client_ttft_ms.p50,tgs,0.004,5
isolation,client_ttft_ms.p99,tgs,0.03,2.5
isolation,client_itl_ms.p50,tgs,0.4,2
isolation,client_itl_ms.p99,tgs,0.4,2
isolation,throughput,tgs,0.04,2
isolation,client_ttft_ms.p50,xsched,0.3,2
isolation,client_itl_ms.p99,xsched,0.25,2
compute,light_progress,gvm,0.75,1.25
END

# Pairs that have changed places: all of TGS, whose pipeline starves (DEVIATIONS.md, TGS). Under ten seeds the
# last one is in order in four, the others in none (DEVIATIONS.md has all that change with the seed).
cat >swapped <<'END'
isolation,client_ttft_ms.p50,gpreempt,tgs
isolation,client_ttft_ms.p99,gpreempt,tgs
isolation,client_ttft_ms.p99,tgs,xsched
isolation,client_ttft_ms.p99,tgs,gvm
isolation,client_itl_ms.p50,gpreempt,tgs
isolation,client_itl_ms.p50,tgs,gvm
END

check isolation 30 0.7 1.3
check compute 9 0.7 1.3
