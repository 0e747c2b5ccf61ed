#!/usr/bin/env bash
# Builds the peers and the SIMD loops in FOLDER (a Cargo workspace with the binaries simple, limits-timely and
# limits-renoir) and prints their lines in the columns of flugs-bench. The machine should do nothing else meanwhile.
set -euo pipefail
if [ $# -lt 1 ] || [ ! -f "$1/Cargo.toml" ]; then
    echo "usage: $0 FOLDER [EVENTS [TARGET_DIR]]" >&2
    exit 2
fi
folder=$(cd "$1" && pwd)
events=${2:-20000000}
target=${3:-$folder/target}
(cd "$folder" && CARGO_TARGET_DIR="$target" cargo build --release --quiet)
bin=$target/release

printf 'bench\tparameters\tevents\tseconds\tM/s\tcpu_s\tM/cpu_s\tpeak_MB\tdetails\n'

# Runs a command and prints what it says through awk, with the processor time and memory that it took.
measured() {
    local script=$1
    shift
    local out usage
    usage=$(mktemp)
    out=$(/usr/bin/time -f '%U %S %M' -o "$usage" "$@")
    awk -v events="$events" -v usage="$(tail -1 "$usage")" "$script" <<<"$out"
    rm -f "$usage"
}

# "timely sum1k 2w 81.20 M/s 0.246 s out 4000 1f..."
peer='{
    split(usage, u, " ")
    workers = $3; sub(/w$/, "", workers)
    details = ""
    for (i = 9; i <= NF; i++) details = details (i > 9 ? " " : "") $i
    cpu = u[1] + u[2]; by_cpu = ""
    if (cpu > 0) by_cpu = sprintf("%.3f", events / cpu / 1e6)
    printf "%s\tquery=%s workers=%s\t%s\t%s\t%s\t%.3f\t%s\t%.0f\tout=%s\n", $1, $2, workers, events, $6, $4, \
        cpu, by_cpu, u[3] * 1024 / 1e6, details
}'
# "limit: word count    1t    68.10 M words/s    14.68 ns   0.294 s"; one process prints several, so processor
# time and memory belong to none of them.
limit='/^limit: / {
    at = match($0, / [0-9]+t /)
    name = substr($0, 8, at - 8); sub(/ +$/, "", name); gsub(/[ ,]+/, "_", name)
    split(substr($0, at), f, " "); threads = f[1]; sub(/t$/, "", threads)
    printf "limit\twork=%s threads=%s\t%s\t%s\t%s\t\t\t\t\n", name, threads, events, f[7], f[2]
}'

measured "$limit" "$bin/simple" "$events"
for workers in 1 2; do
    for query in sum1k sum1m wc; do
        measured "$peer" "$bin/limits-timely" "$query" "$workers" "$events"
        # renoir walks all keys at each watermark, so few of them are its best case; its windows start at each key's first row.
        WATERMARK_EVERY=200000 measured "$peer" "$bin/limits-renoir" "$query" "$workers" "$events"
    done
done
