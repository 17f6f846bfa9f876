// Generated from the .lua files by scripts/lua-sources.mjs. Do not edit.
import { luaParts } from '../door.js'

const {
  clock,
  lockForget,
  lockNote,
  publish,
  tombstone,
  touch,
} = luaParts

export const shareSources = {
  'share/enter': `-- Holdfast: share/enter
${touch}${tombstone}${clock}${lockNote}local now, holder = clock(), redis.call('hkeys', KEYS[1])[1]
local kept = redis.call('hmget', KEYS[4], 'run', 'stored', 'fresh', 'usable', 'outdated', 'generation')
local run, stored, outdated, generation = kept[1], kept[2], kept[5], kept[6]
local mine = holder == ARGV[1]
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
redis.call('hdel', KEYS[4], 'outdated')
redis.call('pexpire', KEYS[4], ARGV[11])
end
describe(KEYS[3], ARGV[1], 1, ARGV[6])
return { 1, now, older, older and leftMs }
`,
  'share/finish': `-- Holdfast: share/finish
${tombstone}${lockForget}${clock}${publish}refuseCopies(KEYS[2], 0, ARGV[2], ARGV[3], ARGV[4])
local known = redis.call('hmget', KEYS[4], 'outdated', 'generation')
local isOutdated, generation = known[1] == ARGV[1], known[2]
local mine = redis.call('hdel', KEYS[1], ARGV[1]) == 1
forget(KEYS[3], ARGV[1])
if not mine then
return 0
end
local stored = string.format('%.0f', clock()) .. ' ' .. ARGV[5]
redis.call('set', KEYS[5], (isOutdated and '!' or generation or '-') .. ' ' .. stored, 'px', ARGV[6])
if string.sub(ARGV[5], 1, 1) == 'v' then
redis.call('hdel', KEYS[4], 'run', 'stored', 'fresh', 'usable', 'outdated')
local livesMs = generation and ARGV[6] or '0'
if ARGV[8] ~= '0' and not isOutdated then
redis.call('hset', KEYS[4], 'run', ARGV[1], 'stored', stored, 'fresh', ARGV[7], 'usable', ARGV[8])
livesMs = tonumber(ARGV[8]) > tonumber(livesMs) and ARGV[8] or livesMs
end
redis.call('pexpire', KEYS[4], livesMs)
elseif isOutdated then
redis.call('hdel', KEYS[4], 'outdated')
redis.call('pexpire', KEYS[4], ARGV[6])
end
publish(ARGV[10], ARGV[9], '0')
return isOutdated and 2 or 1
`,
  'share/invalidate': `-- Holdfast: share/invalidate
${clock}local outdated, before = unpack(redis.call('hmget', KEYS[2], 'outdated', 'generation'))
redis.call('del', KEYS[2])
local holder = redis.call('hkeys', KEYS[1])[1]
local latest = tonumber(string.match(before or '', '^%d+$') or '0')
redis.call('hset', KEYS[2], 'generation', string.format('%.0f', math.max(clock(), latest + 1)))
if holder then
redis.call('hset', KEYS[2], 'outdated', holder)
end
redis.call('pexpire', KEYS[2], holder and ARGV[1] or ARGV[2])
return holder ~= outdated and holder or ''
`,
}
