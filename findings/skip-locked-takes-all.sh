#!/bin/bash
# 100 jobs are due. Worker 1 takes the most urgent one: SELECT … ORDER BY urgency, id LIMIT 1 FOR UPDATE SKIP LOCKED.
# What does worker 2 get with the same statement while the transaction of worker 1 is open?
#
# The usual guess: the second job. LIMIT 1 takes one row, and SKIP LOCKED skips that one. In PostgreSQL it is so.
#
# What happens in MariaDB: worker 2 gets nothing, at once, as if no job were due. InnoDB locks each row that it reads.
# To sort without a fitting index it reads all due rows, and LIMIT applies after that: worker 1 has locked all 100, and
# SKIP LOCKED makes worker 2 skip them. READ COMMITTED changes nothing. An index in the order of ORDER BY does: then
# worker 2 gets the second job. Seen on MariaDB 10.11.19, beside PostgreSQL 15.18.
#
# Why it matters: a queue in a table serves any number of workers in PostgreSQL. In MariaDB it serves one at a time, and
# no error or wait shows it, as soon as that index is missing or the optimizer prefers another.
#
# Needs bash, and what Debian's mariadb-server and postgresql-15 install. About 15 seconds.
[ -n "${LIMITED:-}" ] || LIMITED=1 exec timeout 60 bash "$0"
set -euo pipefail
folder=$(mktemp -d) && chmod 755 "$folder"
servers=()
trap 'kill -QUIT "${servers[@]}" 2>/dev/null && wait "${servers[@]}" || true; rm -rf "$folder"' EXIT

as() { # a server refuses to run as root: there it runs as the user of its package
  [ "$(id -u)" != 0 ] || set -- setpriv --reuid "$1" --regid "$1" --init-groups "${@:2}"
  [ "$(id -u)" = 0 ] || shift
  exec "$@" >>"$folder/log" 2>&1
}
mkdir "$folder/mysql" "$folder/postgres"
[ "$(id -u)" != 0 ] || { chown mysql "$folder/mysql" && chown postgres "$folder/postgres"; }
touch "$folder/log" && chmod 666 "$folder/log"

(as mysql mariadb-install-db --no-defaults --datadir="$folder/mysql/data" --auth-root-authentication-method=normal)
(as mysql mariadbd --no-defaults --datadir="$folder/mysql/data" --skip-networking --socket="$folder/mysql/socket") &
servers+=($!)
bin=/usr/lib/postgresql/15/bin
(as postgres "$bin/initdb" -D "$folder/postgres/data" -U root -A trust --no-sync)
(as postgres "$bin/postgres" -D "$folder/postgres/data" -c listen_addresses= -k "$folder/postgres" -c fsync=off) &
servers+=($!)
mariadb=(mariadb --no-defaults -u root -S "$folder/mysql/socket" --skip-column-names --batch --unbuffered)
postgres=(psql -h "$folder/postgres" -U root -d postgres --no-psqlrc --tuples-only --no-align --quiet)
until "${mariadb[@]}" -e 'CREATE DATABASE work' 2>>"$folder/log"; do sleep 0.2; done
until "${postgres[@]}" -c 'SELECT 1' >>"$folder/log" 2>&1; do sleep 0.2; done
mariadb+=(work)

take='SELECT id FROM jobs WHERE state = 0 ORDER BY urgency, id LIMIT 1 FOR UPDATE SKIP LOCKED;'
seen=''
compare() { # the level of isolation, an index of the table, and the client
  local level=$1 index=$2 one two pid && shift 2
  local begin="BEGIN; $take"
  [ "$level" = 'default isolation' ] || begin="SET SESSION $level; BEGIN; $take"
  "$@" >>"$folder/log" 2>&1 <<SQL
    DROP TABLE IF EXISTS jobs; CREATE TABLE jobs (id int PRIMARY KEY, state int, urgency int$index);
    INSERT INTO jobs VALUES $(for id in {1..100}; do echo "($id, 0, $id),"; done) (101, 1, 0);
SQL
  coproc worker { "$@"; }
  pid=$worker_PID
  echo "$begin" >&"${worker[1]}"
  read -r -t 10 one <&"${worker[0]}"
  two=$("$@" <<<"$begin")
  echo "  $level${index:+, with an index in the order}: worker 1 gets job $one, worker 2 ${two:-nothing}"
  seen+="$one ${two:-nothing}|"
  kill "$pid" && wait "$pid" 2>>"$folder/log" || true
}
echo "PostgreSQL $("${postgres[@]}" -c 'SHOW server_version'):"
compare 'default isolation' '' "${postgres[@]}"
echo "MariaDB $("${mariadb[@]}" -e 'SELECT version()'):"
compare 'default isolation' '' "${mariadb[@]}"
compare 'TRANSACTION ISOLATION LEVEL READ COMMITTED' '' "${mariadb[@]}"
compare 'default isolation' ', KEY due (state, urgency, id)' "${mariadb[@]}"
[ "$seen" = '1 2|1 nothing|1 nothing|1 2|' ] ||
  { echo 'This is not the behaviour that the head of this script names.'; exit 1; }
