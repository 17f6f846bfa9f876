-- tombstone: up to which number copies of an owner's commands are refused.
-- Something there that is no number refuses nothing.
local function isLate(tombstone, sequence)
  local through = tonumber(redis.call('get', tombstone) or '')
  return through ~= nil and tonumber(sequence) <= through
end

-- Of a release: refuses copies from now on. Returns whether it is one itself; a full release needs not know.
-- It comes before the lock is touched. Something of another type may have its name: the command that meets it ends the
-- script, and without a tombstone a late copy of the acquire would take the lock for nobody once that something is gone.
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
