-- force-release: delete the lock of any owner, or of named owners; grant it to the first in the queue, and notify both.
-- KEYS    [1] lock hash (owner -> holds)   [2] queue   [3] time-outs   [4] arrivals   [5] heartbeats
--         [6] note of the hold
-- ARGV    [1] ms that Redisson gives each waiter
--         [2] prefix of the inbox channels of clients   [3] unlock channel   [4] PUBLISH or SPUBLISH
--         [5..] the only owners to release; absent: any
-- RETURNS the number of owners that lost it, -1 if the lock is held, and not by those alone
-- RETRY   safe: a second run finds nothing, or another owner than those that a client names
-- insert touch
-- insert publish
-- insert lock/shown
-- insert fair-lock/head
-- insert fair-lock/grant-to-first
local owners = redis.call('hkeys', KEYS[1])
local named = {}
for i = 1, #ARGV - 4 do named[i] = ARGV[i + 4] end
if not areShown(owners, named) then
  touch(KEYS[1])
  return -1
end
-- DEL even if there is no key: on a demoted primary it fails, instead of an answer from stale data.
redis.call('del', KEYS[1], KEYS[6])
besideLock(function()
  local q = queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[1])
  local first = head(q)
  if first then
    grantToFirst(q, KEYS[1], first, ARGV[2], ARGV[3], ARGV[4])
  end
  tidy(q)
end)
for _, owner in ipairs(owners) do
  publish('publish', ARGV[2] .. clientOf(owner), owner)
end
return #owners
