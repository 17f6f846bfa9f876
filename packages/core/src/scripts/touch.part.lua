-- touch: a write that changes nothing, of a kind that Redis allows when it is out of memory.
-- On a demoted primary it fails, instead of an answer from stale data. After it Redis lets the rest of the script write
-- even when it is out of memory.
local function touch(key)
  redis.call('hdel', key, '')
end
