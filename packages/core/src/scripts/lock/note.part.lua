-- note: since when an owner has the lock, and the trace it is part of, for those whom it refuses.
-- A note of any other owner is of a hold that is over. It is never worth more than what it tells: what has its name and
-- is no note is left as it is, and the lock is taken and refused as without one.

-- What is wanted is nothing (nil or ''), or the time to live of the note, ms, and a traceparent or '-'. A first acquire
-- that runs again keeps its time; a re-entry makes no note, because it does not know the time.
local function describe(key, owner, holds, wanted)
  local ttl, traceparent = string.match(wanted or '', '^(%d+) (%S+)$')
  -- False: there is none; a table: something else is there.
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

-- How many ms the owner has had the lock, and the traceparent or '-'; nothing where there is no note of it, or no key.
local function noteOf(key, owner)
  local text = key and redis.pcall('get', key)
  if type(text) ~= 'string' or string.sub(text, -#owner - 1) ~= ' ' .. owner then
    return nil
  end
  -- Ms since 1970 have 13 digits until the year 2286, and a traceparent 55 characters.
  local at, traceparent = string.match(text, '^(%d+) (%S+) ')
  if at and #at <= 15 and #traceparent <= 200 then
    local time = redis.call('time')
    return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) - tonumber(at), traceparent
  end
end
