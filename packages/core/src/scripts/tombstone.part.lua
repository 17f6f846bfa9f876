-- tombstone: up to which sequence copies of an owner's commands are refused.
-- A value that is no number refuses nothing.
local function isLate(tombstone, sequence)
  local through = tonumber(redis.call('get', tombstone) or '')
  return through ~= nil and tonumber(sequence) <= through
end

-- For a release: refuses copies from now on. Returns whether this run is itself a copy; a full release need not know.
-- It comes before any access to the lock. If the lock's key has another type, the next command fails and ends the script;
-- without a tombstone a late copy of the acquire would take the lock, unowned, once that key is gone.
-- PEXPIRE is a write that Redis allows when it is out of memory, and SET passes after it. On a demoted primary it fails,
-- instead of an answer from stale data.
local function refuseCopies(tombstone, holds, sequence, through, ttl)
  local isCopy = holds > 0 and isLate(tombstone, sequence)
  if isCopy or through ~= '0' then
    redis.call('pexpire', tombstone, ttl)
  end
  if not isCopy and through ~= '0' then
    redis.call('set', tombstone, through, 'px', ttl)
  end
  return isCopy
end
