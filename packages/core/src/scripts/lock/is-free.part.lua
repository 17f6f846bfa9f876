-- is-free: whether nobody has a lock.
-- Fields can have times of their own: the key outlives its last field by up to 100 ms, and HLEN counts that field on Valkey.
-- pcall: what has another type is not free.
local function isFree(lock)
  local fields = redis.call('exists', lock) == 1 and redis.pcall('hkeys', lock)
  return not fields or #fields == 0 and not fields.err
end
