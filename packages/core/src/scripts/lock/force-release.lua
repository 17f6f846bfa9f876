-- force-release: delete the lock, whichever owner has it, wake waiters, notify the clients that had it.
-- KEYS    [1] lock hash (owner -> holds)   [2] note of the hold
-- ARGV    [1] unlock channel   [2] PUBLISH or SPUBLISH, '' to wake nobody
--         [3] prefix of the inbox channels of clients
-- RETURNS the number of owners that lost it
-- RETRY   safe: a second run finds nothing
local owners = redis.call('hkeys', KEYS[1])
-- DEL even if there is no key: on a demoted primary it fails, instead of an answer from stale data.
redis.call('del', KEYS[1], KEYS[2])
if #owners == 0 then
  return 0
end
if ARGV[2] ~= '' then
  redis.call(ARGV[2], ARGV[1], '0')
end
for _, owner in ipairs(owners) do
  local client = string.match(owner, '^(.-):')
  if client then
    redis.call('publish', ARGV[3] .. client, owner)
  end
end
return #owners
