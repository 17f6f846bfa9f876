-- begin: note that an owner of the lock runs a tick, unless the tick was run, is late, or comes too soon.
-- KEYS    [1] lock hash (owner -> holds)   [2] ticks of the schedule
-- ARGV    [1] owner   [2] tick, or '' for one by this clock   [3] ms from now on in which no other begins
--         [4] ttl of the ticks ms   [5] how many of them are kept   [6] least ms from the latest tick
--         [7] least ms from its beginning; 0 for each: not asked
-- RETURNS {1, tick, ticks before it that were not run or not finished, each returned once, ...} it runs, {2} it was run,
--         {3} a later one was, {4, ms} too soon by that many ms, {5} this owner does not have the lock, {6, now} it is too far ahead,
--         {7, ms, tick, ticks before it ...} it runs, that many ms after one of another client: two clocks, or two recipes
-- RETRY   safe: an owner runs one tick; a copy finds that tick, or that its owner has no lock any more
-- insert touch
-- insert schedule/ticks
local owner, limits = ARGV[1], { ttl = ARGV[4], most = ARGV[5] }
if redis.call('hexists', KEYS[1], owner) == 0 then
  touch(KEYS[2])
  return { 5 }
end
local ticks, now = ticksAt(KEYS[2]), clock()
if ARGV[2] ~= '' and isTooFarAhead(tonumber(ARGV[2]), now) then
  touch(KEYS[2])
  return { 6, asText(now) }
end
local mine, latest = nil, -1
for tick, entry in pairs(ticks) do
  if entry.owner == owner then
    mine = tick
  elseif entry.state ~= 'missed' and not isTooFarAhead(tick, now) then
    latest = math.max(latest, tick)
  end
end
local apart
if not mine then
  mine = tonumber(ARGV[2]) or math.max(now, latest + 1)
  local known, before = ticks[mine], ticks[latest]
  local wait = before and tonumber(before.notBefore) - now or 0
  if known and known.state ~= 'missed' then
    touch(KEYS[2])
    return { 2 }
  end
  if mine < latest or wait > 0 then
    if ARGV[2] ~= '' then
      note(KEYS[2], mine, { state = 'missed', from = asText(now) }, limits)
    end
    touch(KEYS[2])
    return mine < latest and { 3 } or { 4, wait }
  end
  if before and before.owner and string.match(before.owner, '^[^:]*') ~= string.match(owner, '^[^:]*') then
    if mine - latest < tonumber(ARGV[6]) then
      apart = mine - latest
    elseif now - before.from < tonumber(ARGV[7]) then
      apart = now - before.from
    end
  end
  if before and before.state == 'running' then
    -- The lock is this owner's: the owner that ran that tick has lost it.
    before.state = 'unfinished'
    note(KEYS[2], latest, before, limits)
  end
  local entry = { state = 'running', owner = owner, from = asText(now), notBefore = asText(now + ARGV[3]) }
  note(KEYS[2], mine, entry, limits)
end
local answer = apart and { 7, asText(apart), asText(mine) } or { 1, asText(mine) }
for tick, entry in pairs(ticks) do
  local isGap = entry.state == 'missed' or entry.state == 'unfinished'
  if isGap and tick < mine and (entry.toldTo or owner) == owner then
    entry.toldTo = owner
    note(KEYS[2], tick, entry, limits)
    table.insert(answer, asText(tick))
  end
end
return answer
