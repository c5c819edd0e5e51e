#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""From ncu's CSV (--page raw) on standard input: each kernel's hit rates of L1 and L2, and the means by sectors.
Fails if there are no kernels in it: the counters could not be read."""
import csv
import sys

L1, L2, SECTORS, NS = ("l1tex__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct", "l1tex__t_sectors.sum",
                       "gpu__time_duration.sum")


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0


def main():
    lines = [line for line in sys.stdin if line.startswith('"')]
    rows = [row for row in csv.DictReader(lines) if row.get("ID")]
    kernels = {}
    for row in rows:
        one = kernels.setdefault(row["Kernel Name"].split("(")[0], [])
        one.append([number(row[key]) for key in (L1, L2, SECTORS, NS)])
    if not kernels:
        sys.exit(1)
    everything = []
    print("kernel launches L1_percent L2_percent sectors ns")
    for name, launches in list(kernels.items()) + [("all", everything)]:
        sectors = sum(launch[2] for launch in launches)
        # Accesses that miss L1 reach L2.
        missed = sum(launch[2] * (100 - launch[0]) for launch in launches)
        l1 = sum(launch[0] * launch[2] for launch in launches) / sectors if sectors else 0
        l2 = sum(launch[1] * launch[2] * (100 - launch[0]) for launch in launches) / missed if missed else 0
        print("%s %d %.1f %.1f %.0f %.0f" % (name, len(launches), l1, l2, sectors, sum(launch[3] for launch in launches)))
        if not name.startswith("fill_"):
            everything += launches if name != "all" else []


if __name__ == "__main__":
    main()
