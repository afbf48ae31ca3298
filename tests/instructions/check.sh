#!/usr/bin/env bash
# That the program runs on every x86-64 processor: only functions that are called where the processor has them,
# as their names say, have instructions on wide vectors.
#   check.sh PROGRAM
set -euo pipefail
objdump --disassemble --no-show-raw-insn "$@" | awk '
  />:$/ { name = $2 }
  /%zmm/ { wide[name] = "AVX-512"; chosen[name] = name ~ /avx512/ }
  /%ymm/ && !(name in wide) { wide[name] = "AVX2"; chosen[name] = name ~ /avx512|avx2|each_entry_wide/ }
  END {
    for (name in wide) {
      ++count
      if (!chosen[name]) { print name " has " wide[name] " instructions on every processor"; failed = 1 }
    }
    # A program without any is not the one to examine.
    if (count < 10) { print "functions with wide vectors: " count + 0 ", 10 or more expected"; failed = 1 }
    exit failed
  }'
