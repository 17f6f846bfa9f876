#!/bin/bash
# A row must be inserted once. The check, the insert and the advisory lock that makes them exclusive fit into one
# statement of PostgreSQL: WITH l AS (SELECT pg_advisory_xact_lock(1)) INSERT … WHERE NOT EXISTS …. Does it exclude?
#
# The usual guess: yes. Callers get the lock one after the other, and by the time that one has it, the row of the one
# before is committed, so NOT EXISTS finds it.
#
# What happens: two rows. Written like that, the lock is not even taken: a SELECT in WITH that nothing refers to does not
# run, though its function is volatile, and MATERIALIZED changes nothing. Where the INSERT reads FROM l, it waits for the
# lock, and inserts the row all the same: it sees the table as it was when the statement began to wait. In a
# transaction of REPEATABLE READ that is so too when the lock is a statement of its own, before: the snapshot is taken
# by the statement that waits. What excludes is READ COMMITTED and two statements. Seen on PostgreSQL 15.18 and 18.4.
#
# Why it matters: to save a round trip, people put the lock into the statement that it should protect. It waits as a lock
# does, under no load nothing is seen, and under load rows and jobs appear twice.
#
# Needs bash, and what Debian's postgresql-15 installs. About 10 seconds.
[ -n "${LIMITED:-}" ] || LIMITED=1 exec timeout 60 bash "$0"
set -euo pipefail
folder=$(mktemp -d) && chmod 755 "$folder"
server=''
trap '[ -z "$server" ] || { kill -QUIT "$server" && wait "$server"; } 2>/dev/null || true; rm -rf "$folder"' EXIT

bin=/usr/lib/postgresql/15/bin
mkdir "$folder/data" && chmod 700 "$folder/data"
as=()
if [ "$(id -u)" = 0 ]; then # the server refuses to run as root
  as=(setpriv --reuid postgres --regid postgres --init-groups)
  chown postgres "$folder" "$folder/data"
fi
"${as[@]}" "$bin/initdb" -D "$folder/data" -U holder -A trust --no-sync >"$folder/log" 2>&1
"${as[@]}" "$bin/postgres" -D "$folder/data" -c listen_addresses= -k "$folder" -c fsync=off >>"$folder/log" 2>&1 &
server=$!
sql() { psql -h "$folder" -U holder -d postgres --no-psqlrc --tuples-only --no-align --quiet "$@"; }
until sql -c 'SELECT 1' >>"$folder/log" 2>&1; do sleep 0.1; done
echo "PostgreSQL $(sql -c 'SHOW server_version')"
sql -c 'CREATE TABLE invoices (number int)'

lock='SELECT pg_advisory_xact_lock(1)'
once='NOT EXISTS (SELECT FROM invoices WHERE number = 42)'
seen=''
race() { # what the second caller does while the first has the lock and has inserted its row
  sql -c 'TRUNCATE invoices'
  coproc first { sql; }
  local pid=$first_PID line
  echo "BEGIN; $lock; INSERT INTO invoices VALUES (42); SELECT 'inserted';" >&"${first[1]}"
  while read -r -t 10 line <&"${first[0]}" && [ "$line" != inserted ]; do :; done
  sql -c "$2" >>"$folder/log" &
  local second=$! waiting=0 rows
  while [ $waiting = 0 ] && kill -0 "$second" 2>>"$folder/log"; do # until it waits, or has ended
    waiting=$(sql -c "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
  done
  echo 'COMMIT; \q' >&"${first[1]}"
  wait "$pid" "$second" 2>>"$folder/log" || true
  rows=$(sql -c 'SELECT count(*) FROM invoices')
  echo "  $1: callers that waited $waiting, rows of invoice 42 in the end $rows"
  seen+="$waiting $rows|"
}
race 'the lock in WITH' "WITH l AS ($lock) INSERT INTO invoices SELECT 42 WHERE $once"
race 'the lock in WITH … AS MATERIALIZED' "WITH l AS MATERIALIZED ($lock) INSERT INTO invoices SELECT 42 WHERE $once"
race 'the lock in WITH, and INSERT … FROM it' "WITH l AS ($lock) INSERT INTO invoices SELECT 42 FROM l WHERE $once"
race 'two statements, REPEATABLE READ' \
  "BEGIN ISOLATION LEVEL REPEATABLE READ; $lock; INSERT INTO invoices SELECT 42 WHERE $once; COMMIT"
race 'two statements, READ COMMITTED' "BEGIN; $lock; INSERT INTO invoices SELECT 42 WHERE $once; COMMIT"
[ "$seen" = '0 2|0 2|1 2|1 2|1 1|' ] || { echo 'This is not the behaviour that the head of this script names.'; exit 1; }
