-- release: lower the hold count of an owner; at 0 nothing of it is left, in the lock or in line, and the next has it.
-- KEYS    [1] lock hash (owner -> holds)   [2] queue   [3] time-outs   [4] arrivals   [5] heartbeats
--         [6] tombstone of this owner   [7] note of the hold, absent where it has none
-- ARGV    [1] owner   [2] holds to keep   [3] sequence of this command
--         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] tombstone ttl ms
--         [6] ms that Redisson gives each waiter
--         [7] prefix of the inbox channels of clients   [8] unlock channel   [9] PUBLISH or SPUBLISH
--         [10..] waiters that it was passed on to inside their process, which stand in line still
-- RETURNS 1 released, 2 still held, 3 superseded (a late copy), 0 this owner holds nothing,
--         -n released, and a waiter of ours has n ms to use it while others wait
-- RETRY   safe: writes the absolute count; a full release that runs again finds nothing and answers 0
-- insert touch
-- insert fair-lock/queue
-- insert fair-lock/grant-to-first
-- insert fair-lock/leave-passed
-- insert lock/forget
-- insert lock/is-free
-- insert tombstone
local holds = tonumber(ARGV[2])
if refuseCopies(KEYS[6], holds, ARGV[3], ARGV[4], ARGV[5]) then
  return 3
end

-- pcall: the way out of line is open also when something of another type has the name of the lock.
local mine = redis.pcall('hexists', KEYS[1], ARGV[1]) == 1

local q
-- A write, even if nothing is released. On a demoted primary it fails, and after it Redis lets the count and the line be
-- written even when it is out of memory.
if mine and holds == 0 then
  redis.call('del', KEYS[1])
else
  if holds == 0 then
    q = besideLock(function()
      local line = lineAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[6])
      remove(line, ARGV[1])
      tidy(line)
      return line
    end)
  end
  touch(KEYS[1])
end

if holds > 0 then
  if mine then
    redis.call('hset', KEYS[1], ARGV[1], holds)
  end
  return mine and 2 or 0
end
if KEYS[7] then
  forget(KEYS[7], ARGV[1])
end
local usedWithinMs = besideLock(function()
  q = q or lineAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[6])
  if q.listed == 0 and q.ours == 0 and #ARGV <= 9 then return 0 end
  local passed = {}
  for i = 1, #ARGV - 9 do passed[i] = ARGV[i + 9] end
  leavePassed(q, KEYS[1], passed, not mine)
  local first = (mine or isFree(KEYS[1])) and head(q)
  local ms = first and grantToFirst(q, KEYS[1], first, ARGV[7], ARGV[8], ARGV[9]) or 0
  tidy(q)
  return ms
end)
if mine and (usedWithinMs or 0) > 0 then return -usedWithinMs end
return mine and 1 or 0
