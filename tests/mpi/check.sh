#!/usr/bin/env bash
# check.sh POPGRAD MPIRUN [ROUNDS]: sweeps under mpirun have the bytes of one process: with 2 and 4 processes, and
# where a process, or all of them, are killed (ROUNDS times at a random moment) and the same command is given
# again.
set -euo pipefail

popgrad=$1
rounds=${3:-5}
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd "$folder"
# In a container the tests run as root, on fewer cores than processes.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun=("$2" --oversubscribe --bind-to none -q)
# shellcheck disable=SC2054
sweep=(sweep scb sgd --T 20 --batch 4 --over eta=0.001:0.1:15 --over steps=60000,80000 --runs 2
  --success 'loss<=2.9')
cells=30

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}
same() { cmp -s whole.csv "$1" || fail "$1 has other bytes than one process's"; }
# rows FILE: how many are kept beside it, each of another cell.
rows() {
  if [[ ! -f $1.journal ]]; then
    printf '%s\n' $(($(wc -l <"$1") - 1))
    return
  fi
  [[ -z $(cut -f 1 "$1.journal" | sort | uniq -d) ]] || fail "$1: a cell was made twice"
  local lines
  lines=$(wc -l <"$1.journal")
  printf '%s\n' $((lines > 0 ? lines - 1 : 0))
}
# rank_of PID
rank_of() { cat "/proc/$1/environ" 2>/dev/null | tr '\0' '\n' | sed -n 's/^OMPI_COMM_WORLD_RANK=//p'; }

"$popgrad" "${sweep[@]}" -q -o whole.csv

for count in 1 2 4; do
  begin=${EPOCHREALTIME/./}
  "${mpirun[@]}" -n "$count" "$popgrad" "${sweep[@]}" -q -o "of-$count.csv" >output 2>&1
  [[ ! -s output ]] || fail "$count processes said: $(cat output)"
  same "of-$count.csv"
done
length=$(((${EPOCHREALTIME/./} - begin) / 1000))  # of the last one, in ms
"${mpirun[@]}" -n 3 "$popgrad" "${sweep[@]}" -q >printed.csv
same printed.csv
echo "1, 2 and 4 processes: the same bytes"

# Ensembles: rows, states and events; one that is interrupted goes on from its checkpoint.
ensemble=(run scb sgd --T 20 --batch 4 --steps 3000 --runs 50 --save 5)
for more in "" --states "--optimiser adam"; do
  # shellcheck disable=SC2086
  "$popgrad" "${ensemble[@]}" $more -o ensemble.json 2>alone
  mv ensemble.json alone.json
  for count in 2 4; do
    # shellcheck disable=SC2086
    "${mpirun[@]}" -n "$count" "$popgrad" "${ensemble[@]}" $more -o ensemble.json 2>output
    cmp ensemble.json alone.json || fail "an ensemble $more of $count processes has other bytes"
    cmp output alone || fail "an ensemble $more of $count processes says $(cat output)"
  done
done
ensemble=(run scb sgd --T 20 --batch 4 --steps 100000 --runs 50 --save 5 -q)
"$popgrad" "${ensemble[@]}" -o alone.csv
"${mpirun[@]}" -n 4 "$popgrad" "${ensemble[@]}" -o part.csv >output 2>&1 &
job=$!
sleep 2
kill -TERM "$job"
wait "$job" || true
if [[ -f part.csv.checkpoint.json ]]; then "$popgrad" run --resume part.csv.checkpoint.json -o part.csv; fi
[[ -f part.csv ]] || fail "nothing was saved of an ensemble: $(cat output)"
cmp part.csv alone.csv || fail "an ensemble that was interrupted has other bytes"
for words in "run scb gd --steps 5 --save 2" "run scb moments --T 8 --t1 inf" "run joma reduced --save 3"; do
  # shellcheck disable=SC2086
  [[ $("${mpirun[@]}" -n 3 "$popgrad" $words -q -o -) == "$("$popgrad" $words -q -o -)" ]] ||
    fail "$words is not the same under mpirun"
done
echo "ensembles of 2 and 4 processes: the same bytes"

# A mistake is told once, whoever makes it: here the first process, there the one that has the cell.
for words in "sweep scb sgd --over taw=1" "sweep scb sgd --over batch=4,8,0,2,-1 --steps 5 -o bad.csv"; do
  status=0
  # shellcheck disable=SC2086
  "${mpirun[@]}" -n 3 "$popgrad" $words >output 2>&1 || status=$?
  rm -f bad.csv*
  # shellcheck disable=SC2086
  alone=$("$popgrad" $words 2>&1) || true
  ((status == 2)) || fail "$words: status $status"
  [[ $(grep '^popgrad' output) == "$alone" ]] || fail "$words: $(cat output), and alone: $alone"
  rm -f bad.csv*
done
[[ $("${mpirun[@]}" -n 3 "$popgrad" list joma 2>/dev/null) == "$("$popgrad" list joma)" ]] ||
  fail "list is not the same under mpirun"
echo "mistakes are told once"

# interrupted HOW FILE: one call of the sweep, on which HOW PIDS is called after a moment; every call goes on
# from where the one before was. Prints how many rows there are.
interrupted() {
  local how=$1 file=$2 before=0 moment job pids=() pid
  [[ ! -f $file.journal ]] || before=$(rows "$file")
  "${mpirun[@]}" -n 4 "$popgrad" "${sweep[@]}" --jobs 1 -o "$file" >output 2>&1 &
  job=$!
  moment=$((length / 4 + RANDOM % (length / 2)))
  sleep "$((moment / 1000)).$(printf '%03d' $((moment % 1000)))"
  for pid in $(pgrep -P "$job" || true); do
    pids+=("$(rank_of "$pid"):$pid")
  done
  "$how" "$job" "${pids[@]}"
  wait "$job" 2>/dev/null || true
  if ((before > 0)) && grep -q 'there already' output; then
    grep -q "$before of $cells cells" output || fail "$how: of $before rows: $(cat output)"
  fi
  if [[ -f $file || -f $file.journal ]]; then rows "$file"; else echo 0; fi
}
kill_rank() {
  local which=$((RANDOM % 4)) entry
  for entry in "${@:2}"; do
    [[ $entry != "$which:"* ]] || kill -KILL "${entry#*:}" 2>/dev/null || true
  done
}
kill_all() {
  local entry
  kill -KILL "$1" 2>/dev/null || true
  for entry in "${@:2}"; do kill -KILL "${entry#*:}" 2>/dev/null || true; done
}
# As a batch system does: mpirun itself passes the signal on only after a second.
ask_to_end() {
  local entry
  for entry in "${@:2}"; do kill -TERM "${entry#*:}" 2>/dev/null || true; done
}
for how in kill_rank kill_all ask_to_end; do
  told=
  for ((round = 0; round < rounds; ++round)); do
    told+=" $(interrupted "$how" "$how.csv")"
    if [[ -f $how.csv && ! -f $how.csv.journal ]]; then
      # It came to its end: from the start again.
      same "$how.csv"
      rm "$how.csv"
    fi
  done
  "${mpirun[@]}" -n 2 "$popgrad" "${sweep[@]}" --jobs 1 -q -o "$how.csv"
  same "$how.csv"
  printf '%s %d times, rows after each: %s\n' "$how" "$rounds" "$told"
  sha256sum whole.csv "$how.csv"
done
