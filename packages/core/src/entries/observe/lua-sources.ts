// Generated from the .lua files by scripts/lua-sources.mjs. Do not edit.
import { luaParts } from '../door.js'

const {
  clock,
  lockShape,
  publish,
} = luaParts

export const observeSources = {
  'observe/clients': `-- Holdfast: observe/clients
${clock}redis.call('del', KEYS[2])
return redis.call('zrangebyscore', KEYS[1], clock(), '+inf', 'withscores')
`,
  'observe/keys': `-- Holdfast: observe/keys
redis.call('del', KEYS[#KEYS])
local answer = {}
for i = 1, #KEYS - 1 do
answer[#answer + 1] = redis.call('type', KEYS[i]).ok
answer[#answer + 1] = redis.call('pttl', KEYS[i])
end
return answer
`,
  'observe/look': `-- Holdfast: observe/look
${lockShape}local LONGEST_LIFE_MS = 120000
local function numberOf(reply)
return type(reply) == 'number' and reply or 0
end
local function waitedMs(nowUs, since)
local ms = math.floor((nowUs - tonumber(since)) / 1000)
return ms > 0 and ms < 1e13 and ms or 0
end
local function notedAt(key, lock, now)
local text = redis.pcall('get', key)
local at, owner = string.match(type(text) == 'string' and text or '', '^(%d+) %S+ (.+)$')
if at and #at <= 15 and redis.call('hexists', lock, owner) == 1 then
return owner, now - tonumber(at)
end
return '', ''
end
local function waitersOfFairLock(q, nowUs, most)
local told, count = {}, numberOf(redis.pcall('llen', q.list))
for _, owner in ipairs(count > 0 and redis.call('lrange', q.list, 0, most - 1) or {}) do
local arrival = redis.pcall('zscore', q.arrivals, owner)
told[#told + 1] = owner
told[#told + 1] = type(arrival) == 'string' and waitedMs(nowUs, arrival) or ''
end
return count, told
end
local function waitersOfPlainLock(queue, nowUs, most)
local told, owners = {}, redis.pcall('zrangebyscore', queue, 0, '+inf', 'withscores', 'limit', 0, most)
for i = 1, owners.err and 0 or #owners, 2 do
local untilMs = -tonumber(redis.call('zscore', queue, 'alive:' .. owners[i]) or 0)
if untilMs > nowUs / 1000 and untilMs <= nowUs / 1000 + LONGEST_LIFE_MS then
told[#told + 1] = owners[i]
told[#told + 1] = waitedMs(nowUs, owners[i + 1])
end
end
return #told / 2, told
end
local function waitingWriters(writers, now, most)
local told, owners = {}, redis.pcall('zrangebyscore', writers, now, now + LONGEST_LIFE_MS, 'limit', 0, most)
for i = 1, owners.err and 0 or #owners do
told[2 * i - 1], told[2 * i] = owners[i], ''
end
return owners.err and 0 or numberOf(redis.pcall('zcount', writers, now, now + LONGEST_LIFE_MS)), told
end
local time = redis.call('time')
local nowUs = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(nowUs / 1000)
local most = tonumber(ARGV[1])
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
`,
  'observe/read': `-- Holdfast: observe/read
redis.call('del', KEYS[#KEYS])
local answer = {}
for i = 1, #KEYS - 1 do
answer[#answer + 1] = redis.call('get', KEYS[i]) or ''
answer[#answer + 1] = redis.call('pttl', KEYS[i])
end
return answer
`,
  'observe/report': `-- Holdfast: observe/report
${clock}local now = clock()
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
redis.call('zrem', KEYS[2], ARGV[1])
if ARGV[2] == '0' then
redis.call('del', KEYS[1])
return 1
end
redis.call('set', KEYS[1], ARGV[3], 'px', ARGV[2])
redis.call('zadd', KEYS[2], now + tonumber(ARGV[2]), ARGV[1])
redis.call('pexpire', KEYS[2], math.max(redis.call('pttl', KEYS[2]), tonumber(ARGV[2])))
return 1
`,
  'observe/tell': `-- Holdfast: observe/tell
${publish}redis.call('del', KEYS[1])
return publish('publish', ARGV[1], ARGV[2]) or 0
`,
}
