// Generated from the .lua files by scripts/embed-lua.mjs. Do not edit.
export const travelSources = {
  'travel/adopt': `-- Holdfast: travel/adopt
local function touch(key)
redis.call('hdel', key, '')
end
local function isLate(tombstone, sequence)
local through = tonumber(redis.call('get', tombstone) or '')
return through ~= nil and tonumber(sequence) <= through
end
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
local function describe(key, owner, holds, wanted)
local ttl, traceparent = string.match(wanted or '', '^(%d+) (%S+)$')
local known = ttl and redis.pcall('get', key)
if not ttl or type(known) == 'table' then
return
end
if known and string.sub(known, -#owner - 1) == ' ' .. owner then
redis.call('pexpire', key, math.max(redis.call('pttl', key), tonumber(ttl)))
elseif holds == 1 then
local time = redis.call('time')
local at = time[1] .. string.format('%03d', math.floor(tonumber(time[2]) / 1000))
redis.call('set', key, at .. ' ' .. traceparent .. ' ' .. owner, 'px', ttl)
end
end
local function noteOf(key, owner)
local text = key and redis.pcall('get', key)
if type(text) ~= 'string' or string.sub(text, -#owner - 1) ~= ' ' .. owner then
return nil
end
local at, traceparent = string.match(text, '^(%d+) (%S+) ')
if at and #at <= 15 and #traceparent <= 200 then
local time = redis.call('time')
return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) - tonumber(at), traceparent
end
end
touch(KEYS[1])
if isLate(KEYS[2], ARGV[4]) then
return 3
end
local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
if not mine and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
local holder = redis.call('hgetall', KEYS[1])
return { redis.call('pttl', KEYS[1]), holder[1] or '', holder[2] or 0 }
end
local function assignToken(counter, hasOne, source, ttl)
local token = hasOne and redis.call('get', counter)
if not token then
local counted = redis.pcall('incr', counter)
if type(counted) == 'table' or counted < 1 then
local failure = type(counted) == 'table' and counted.err or 'WRONGTYPE A token is never negative'
return nil, redis.error_reply(failure .. ' (key "' .. counter .. '")')
end
token = redis.call('get', counter)
if source == 'time' then
local time = redis.call('time')
local now = time[1] .. string.format('%06d', time[2])
if #now > #token or (#now == #token and now > token) then
redis.call('set', counter, now)
token = now
end
end
end
if ttl ~= '0' then
redis.call('pexpire', counter, ttl)
end
return token
end
local token, failure
if KEYS[4] then
token, failure = assignToken(KEYS[4], mine, ARGV[8], ARGV[9])
end
if failure then
return failure
end
redis.call('hset', KEYS[1], ARGV[1], 1)
redis.call('hdel', KEYS[1], ARGV[2])
redis.call('pexpire', KEYS[1], mine and math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[3])) or ARGV[3])
if ARGV[5] ~= '0' then
redis.call('set', KEYS[2], ARGV[5], 'px', ARGV[6])
end
describe(KEYS[3], ARGV[1], 1, ARGV[7])
return token and { token } or 1
`,
  'travel/hand-over': `-- Holdfast: travel/hand-over
local function isLate(tombstone, sequence)
local through = tonumber(redis.call('get', tombstone) or '')
return through ~= nil and tonumber(sequence) <= through
end
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
local function forget(key, owner)
local text = redis.pcall('get', key)
if type(text) == 'string' and string.sub(text, -#owner - 1) == ' ' .. owner then
redis.call('del', key)
end
end
refuseCopies(KEYS[2], 0, ARGV[4], ARGV[4], ARGV[5])
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
return redis.call('hexists', KEYS[1], ARGV[2])
end
redis.call('hset', KEYS[1], ARGV[2], 1)
redis.call('hdel', KEYS[1], ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[3])
if KEYS[3] then
forget(KEYS[3], ARGV[1])
end
return 1
`,
}
