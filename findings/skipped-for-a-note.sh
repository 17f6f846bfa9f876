#!/bin/bash
# Workers take the most urgent job: SELECT … ORDER BY urgency LIMIT 1 FOR UPDATE SKIP LOCKED. Nobody works on job 1.
# Somewhere a transaction is open that has inserted a note, with a foreign key to job 1. Which job does a worker get?
#
# The usual guess: job 1. The other transaction has written to another table, and only read that job 1 exists; plain
# reads and even UPDATE of the job's state go on beside it.
#
# What happens in PostgreSQL: job 2, as if job 1 were taken. The check of the foreign key locks the row of the job with
# FOR KEY SHARE until the note is committed, FOR UPDATE conflicts with that, and SKIP LOCKED does not tell a worker from a
# writer of notes. And the other way: while a worker has the job, nobody can insert a note to it. FOR NO KEY UPDATE,
# which is what UPDATE of other columns takes, excludes workers just as well and does neither. Seen on 15.18 and 18.4.
#
# Why it matters: progress, logs and results of a job refer to it, and are often written in long transactions. Urgent
# jobs are passed over for that time with no error, and a single worker finds its queue empty. Queues want
# FOR NO KEY UPDATE SKIP LOCKED.
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
sql -c 'CREATE TABLE jobs (id int PRIMARY KEY, state int, urgency int)' -c 'INSERT INTO jobs VALUES (1, 0, 1), (2, 0, 2)'
sql -c 'CREATE TABLE notes (job int REFERENCES jobs, line text)'

open_transaction() { # runs its argument in a transaction, and leaves that open; its last line is `ready`
  coproc other { sql; }
  other_pid=$other_PID
  echo "BEGIN; $1; SELECT 'ready';" >&"${other[1]}"
  while read -r -t 10 line <&"${other[0]}" && [ "$line" != ready ]; do :; done
}
roll_back() { kill "$other_pid" && wait "$other_pid" 2>>"$folder/log" || true; }

seen=''
for strength in 'FOR UPDATE' 'FOR NO KEY UPDATE'; do
  take="SELECT id FROM jobs WHERE state = 0 ORDER BY urgency LIMIT 1 $strength SKIP LOCKED"
  open_transaction "INSERT INTO notes VALUES (1, 'customer has called')"
  got=$(sql -c "$take")
  changed=$(sql -c 'BEGIN; UPDATE jobs SET state = 1 WHERE id = 1 RETURNING id; ROLLBACK')
  roll_back
  open_transaction "$take"
  second=$(sql -c "$take")
  insert="SET lock_timeout = 500; INSERT INTO notes VALUES (1, 'half done') RETURNING 'inserted'"
  note=$(sql -c "$insert" 2>>"$folder/log") || note='not inserted'
  roll_back
  echo "  $strength SKIP LOCKED, beside an open note to job 1: the worker gets job $got (an UPDATE there changes job $changed)"
  echo "    while a worker has job 1: the second worker gets job $second, and a note to job 1 is $note"
  seen+="$got $changed $second $note|"
done
[ "$seen" = '2 1 2 not inserted|1 1 2 inserted|' ] ||
  { echo 'This is not the behaviour that the head of this script names.'; exit 1; }
