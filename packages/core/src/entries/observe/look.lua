-- look: what Redis knows about several locks of any kind: holders, lease and waiters.
-- KEYS    [1..] for each lock: its hash (owner -> holds; of a read-write lock also mode), note of the hold, token counter,
--         list and arrivals of a fair lock, queue of a plain lock, waiting writers; last a key that is never written
-- ARGV    [1] how many waiters of each lock to return   [2] 1: another library's string counts as a lock, too
--         [3] 1: this one lock was asked for by its name, and nothing is guessed: a key without a time to live counts, and
--         a key that is no lock is an error of Redis's kind WRONGTYPE
-- RETURNS for each lock 0, if it is free or its key is no lock; or {ttl ms, {owner, holds, ...; of a read-write lock also
--         mode, its value} or {first 200 bytes of a string, -1}, token or '', owner of a note or '', for how many ms it has
--         held the lock or '', the queue that has waiters ('fair', 'plain', 'writers', or '' for none), how many wait,
--         {waiter, for how many ms it has waited or '', ...}}
-- RETRY   safe: changes nothing
-- insert observe/holding
local time = redis.call('time')
local nowUs = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(nowUs / 1000)
local most = tonumber(ARGV[1])
-- A write that changes nothing: a demoted primary refuses it, instead of an answer from stale data.
redis.call('del', KEYS[#KEYS])

local function waitersAt(q, queue, writers, isReadWrite)
  if isReadWrite then
    local count, told = waitingWriters(writers, now, most)
    return count > 0 and 'writers' or '', count, told
  end
  local count, told = waitersOfFairLock(q, nowUs, most)
  if count > 0 then return 'fair', count, told end
  count, told = waitersOfPlainLock(queue, nowUs, most)
  return count > 0 and 'plain' or '', count, told
end

local function tokenAt(key)
  local token = redis.pcall('get', key)
  return type(token) == 'string' and token or ''
end

local isAsked = ARGV[3] == '1'

local function stringAt(key, ttl)
  return { ttl, { redis.call('getrange', key, 0, 199), '-1' }, '', '', '', '', 0, {} }
end

local function lockAt(i)
  local key = KEYS[i]
  local ttl = redis.call('pttl', key)
  if ttl == -2 or (ttl <= 0 and not isAsked) then return 0 end
  local size = redis.pcall('hlen', key)
  if type(size) == 'table' then
    local kind = (isAsked or ARGV[2] == '1') and redis.call('type', key).ok
    if kind == 'string' and ARGV[2] == '1' then return stringAt(key, ttl) end
    -- Of a hash, that this user may not read it.
    return isAsked and (kind == 'hash' and size or redis.error_reply('WRONGTYPE The key is a ' .. kind)) or 0
  end
  local fields, isReadWrite = fieldsOfLock(key, size, isAsked)
  if not fields then
    return isAsked and redis.error_reply(NO_LOCK) or 0
  end
  local owner, heldMs = notedAt(KEYS[i + 1], key, now)
  local queue, count, told = waitersAt({ list = KEYS[i + 3], arrivals = KEYS[i + 4] }, KEYS[i + 5], KEYS[i + 6], isReadWrite)
  return { ttl, fields, tokenAt(KEYS[i + 2]), owner, heldMs, queue, count, told }
end

if isAsked then
  local found = lockAt(1)
  return type(found) == 'table' and found.err and found or { found }
end
local answer = {}
for i = 1, #KEYS - 1, 7 do
  answer[#answer + 1] = lockAt(i)
end
return answer
