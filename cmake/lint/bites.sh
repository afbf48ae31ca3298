#!/usr/bin/env bash
# bites.sh STAMP SOURCE CLANG_TIDY [OPTION ...]: every line of SOURCE and of the header beside it
# that ends in `// expect: CHECK` must be reported by that check. Makes STAMP if so.
set -euo pipefail
stamp=$1 source=$2
shift 2
mkdir -p "$(dirname "$stamp")"
# As the sources are: inside of a unit (PopgradUnits.cmake).
unit=$stamp.cpp
printf '#include "%s"  // NOLINT(bugprone-suspicious-include)\n' "$source" >"$unit"
# Finding mistakes is what is asked for: the exit status says nothing.
found=$("$@" "$unit" -- -std=c++20 -Wall 2>/dev/null || true)
missed=0
while IFS=: read -r file line text; do
  check=${text##*// expect: }
  if ! grep -qE "^[^ ]*$(basename "$file"):$line:.*[[,]$check[],]" <<<"$found"; then
    printf '%s:%s: clang-tidy does not report %s here\n' "$file" "$line" "$check" >&2
    missed=1
  fi
done < <(grep -n -H -F '// expect: ' "$source" "${source%.cpp}.hpp")
((!missed)) || exit 1
touch "$stamp"
