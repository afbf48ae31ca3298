#!/usr/bin/env bash
# That the libraries run on every x86-64 processor: instructions on wide vectors are in functions alone
# that are called where the processor has them, which their names tell.
#   check.sh LIBRARY...
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
    # A library without any is not what is to be looked at.
    if (count < 10) { print "functions with wide vectors: " count + 0 ", 10 or more expected"; failed = 1 }
    exit failed
  }'
