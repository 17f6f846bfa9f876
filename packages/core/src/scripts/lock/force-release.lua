-- force-release: delete the lock of any owner, or of named owners; wake waiters, and notify the clients that had it.
-- KEYS    [1] lock hash (owner -> holds)   [2] note of the hold
-- ARGV    [1] unlock channel   [2] PUBLISH or SPUBLISH, '' to wake no waiter
--         [3] prefix of the inbox channels of clients   [4..] the only owners to release; absent: any
-- RETURNS the number of owners that lost it, -1 if the lock is held, and not by those alone
-- RETRY   safe: a second run finds nothing, or another owner than those that a client names
-- insert touch
-- insert publish
-- insert lock/shown
local owners = redis.call('hkeys', KEYS[1])
local named = {}
for i = 1, #ARGV - 3 do named[i] = ARGV[i + 3] end
if not areShown(owners, named) then
  touch(KEYS[1])
  return -1
end
-- DEL even if there is no key: on a demoted primary it fails, instead of an answer from stale data.
redis.call('del', KEYS[1], KEYS[2])
if #owners == 0 then
  return 0
end
if ARGV[2] ~= '' then
  publish(ARGV[2], ARGV[1], '0')
end
for _, owner in ipairs(owners) do
  local client = string.match(owner, '^(.-):')
  if client then
    publish('publish', ARGV[3] .. client, owner)
  end
end
return #owners
