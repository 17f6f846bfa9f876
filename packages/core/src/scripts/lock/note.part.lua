-- note: since when an owner holds the lock, and the trace that it belongs to. Replies to refused callers have both.
-- A note that names another owner is left over from an earlier hold. Notes never decide who gets the lock: if the note's
-- key has another type or other content, it stays as it is, and acquires succeed or fail as without a note.

-- `wanted` is nil or '' for no note, else the note's time to live in ms and a traceparent or '-'. If a first acquire runs
-- again, the note keeps its time. A re-entry writes no new note, because it does not know when the hold began.
local function describe(key, owner, holds, wanted)
  local ttl, traceparent = string.match(wanted or '', '^(%d+) (%S+)$')
  -- false: there is no note; a table: the key has another type.
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

-- For how many ms the owner has held the lock, and its traceparent or '-'. Nil if no key is given, or its note names
-- another owner.
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
