#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# "gvmfence patch --retarget" leaves the decision to ptxas: what the lower architecture has is assembled, and what it does not
# have is refused. Skipped without ptxas. Usage: NAME.sh GVMFENCE SOURCE
set -eu
command -v ptxas >/dev/null || { echo "no ptxas"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One instruction in a kernel for sm_90: lowered, accepted or refused.
judge() { # VERDICT TARGET INSTRUCTION
	cat >"$work/in.ptx" <<-END
	.version 8.0
	.target sm_90
	.address_size 64
	.visible .entry k (.param .u64 a)
	{
	.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b16 %h<9>; .reg .pred %p<9>;
	.shared .align 16 .b8 s[64];
	ld.param.u64 %rd1, [a];
	mov.u32 %r1, s;
	$3
	st.global.u32 [%rd1], %r2;
	ret;
	}
	END
	ptxas -arch=sm_90 "$work/in.ptx" -o "$work/cubin"
	"$1" patch "$work/in.ptx" --retarget "$2" --out "$work/out.ptx" 2>"$work/said"
}

verdict() { # EXPECTED TARGET INSTRUCTION
	judge "$gvmfence" "$2" "$3"
	grep -q "^.target $2\$" "$work/out.ptx"
	if ptxas -arch="$2" "$work/out.ptx" -o "$work/cubin" 2>"$work/said"; then said=accepted; else said=refused; fi
	[ $said = "$1" ] || { echo "$3 for $2: $said, expected $1"; cat "$work/said"; exit 1; }
}

gvmfence=$1
ptxas --version | grep -qE 'release (11\.[89]|1[2-9])' || { echo "ptxas does not know sm_90"; exit 77; }
verdict accepted sm_80 'add.u32 %r2, %r1, 1;'
verdict accepted sm_75 'ld.global.u32 %r2, [%rd1+4];'
verdict accepted sm_80 'cp.async.ca.shared.global [%r1], [%rd1], 16;'
verdict refused sm_75 'cp.async.ca.shared.global [%r1], [%rd1], 16;'
verdict refused sm_80 'mov.u32 %r2, %cluster_ctaid.x;'
verdict refused sm_80 'barrier.cluster.arrive; barrier.cluster.wait;'
verdict refused sm_80 'griddepcontrol.wait;'
verdict refused sm_80 'fence.acq_rel.cluster;'
verdict refused sm_75 'redux.sync.add.s32 %r2, %r1, -1;'
verdict refused sm_75 'max.NaN.f32 %f1, %f2, %f3;'

# The corpus lowered as far as it goes, and to an older version of PTX where that has sm_80.
"$gvmfence" patch "$2/tests/guardian/corpus/kernels.nvcc13-sm90.ptx" --retarget sm_80 --ptx-version 7.0 --out "$work/out.ptx"
"$gvmfence" verify "$work/out.ptx" >/dev/null
ptxas -arch=sm_80 "$work/out.ptx" -o "$work/cubin"
echo "ptxas decides as expected"
