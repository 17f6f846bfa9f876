-- enter: find the result that a caller may have, or the run that it can wait for; where there is neither, begin a run.
-- KEYS    [1] lock hash (owner -> holds)   [2] tombstone of this owner   [3] note of the hold   [4] kept result
--         [5] result of the run that this caller waits for; absent if it waits for none
-- ARGV    [1] owner   [2] lease ms   [3] sequence of this command
--         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] tombstone ttl ms
--         [6] '' for no note, else its ttl ms and a traceparent or '-'
--         [7] how old a kept result may be ms   [8] how old one may be that is served while a run is under way ms
--         [9] owner of the run that this caller waits for, or ''   [10] 1 to hear of that run's end without a result
--         [11] how long callers may fetch the result of a run that has ended ms
-- RETURNS {1, now ms} this owner runs, {2, now, result} kept, {3, now, result, 1 if it was invalidated} of the run that it
--         waits for, {4} that run ended without a result, {5, ttl ms, owner, 1 if its result will be outdated, now} a run is under way;
--         {1, ...} and {5, ...} end with a result and for how many ms more it may be served meanwhile, if there is one;
--         {6} superseded (a late copy)
-- RETRY   safe: a copy finds its own owner, and begins nothing twice; the tombstone refuses one that comes after the end
-- insert touch
-- insert tombstone
-- insert clock
-- insert lock/note
local now, holder = clock(), redis.call('hkeys', KEYS[1])[1]
local kept = redis.call('hmget', KEYS[4], 'run', 'stored', 'fresh', 'usable', 'outdated', 'generation')
local run, stored, outdated, generation = kept[1], kept[2], kept[5], kept[6]
local mine = holder == ARGV[1]
-- The first write of a script that begins a run is HSET, which Redis refuses when it is out of memory.
local function without(reply)
  touch(KEYS[1])
  return reply
end
if isLate(KEYS[2], ARGV[3]) then
  return without({ 6 })
end

if KEYS[5] and not mine then
  local result, isOutdated = run == ARGV[9] and stored, false
  local left = redis.call('get', KEYS[5])
  if left then
    local gap = string.find(left, ' ', 1, true)
    local before = string.sub(left, 1, gap - 1)
    result = string.sub(left, gap + 1)
    isOutdated = before == '!' or generation and before ~= generation
  end
  -- "n": it was given up before anything ran.
  local neverRan = result and string.find(result, '^%d+ n')
  if result and not neverRan then
    return without({ 3, now, result, isOutdated and 1 or 0 })
  end
  if not neverRan and holder ~= ARGV[9] and ARGV[10] == '1' then
    return without({ 4 })
  end
end

local older, leftMs
if stored then
  -- The clock may have been set back.
  local age = math.max(0, now - tonumber(string.match(stored, '^%d+')))
  if not mine and age < math.min(tonumber(kept[3]), tonumber(ARGV[7])) then
    return without({ 2, now, stored })
  end
  leftMs = math.min(tonumber(kept[4]), tonumber(ARGV[8])) - age
  older = leftMs > 0 and stored or nil
end
if holder and not mine then
  return without({ 5, redis.call('pttl', KEYS[1]), holder, outdated == holder and 1 or 0, now, older, older and leftMs })
end

redis.call('hset', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], mine and math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[2])) or ARGV[2])
if ARGV[4] ~= '0' then
  redis.call('set', KEYS[2], ARGV[4], 'px', ARGV[5])
end
if outdated and not mine then
  -- Of a run that ended without a result. The generation outlives what can be fetched.
  redis.call('hdel', KEYS[4], 'outdated')
  redis.call('pexpire', KEYS[4], ARGV[11])
end
describe(KEYS[3], ARGV[1], 1, ARGV[6])
return { 1, now, older, older and leftMs }
