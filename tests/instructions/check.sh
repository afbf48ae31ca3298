#!/usr/bin/env bash
# That the program runs on every x86-64 processor: only functions that are called where the processor has them,
# as their names say, have instructions on wide vectors.
# And that program and Python module have the optimised product of matrices, of those that the objects of a library have:
# one that calls no function for each operation on vectors.
#   check.sh PROGRAM [MODULE]
set -euo pipefail
for file; do
  product=$(nm "$file" | awk '$3 ~ /gebp_kernelIddl.*EEclE/ && !found++ { print $3 }')
  calls=$(objdump --disassemble="$product" --no-show-raw-insn "$file" | grep -c '\bcall\b' || true)
  if [[ -z $product ]] || ((calls > 10)); then
    echo "$file: products of matrices make $calls calls in '$product'"
    exit 1
  fi
done
objdump --disassemble --no-show-raw-insn "$1" | awk '
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
