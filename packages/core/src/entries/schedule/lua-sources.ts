// Generated from the .lua files by scripts/lua-sources.mjs. Do not edit.
import { luaParts } from '../door.js'

const {
  clock,
  touch,
} = luaParts
const scheduleTicks = `local function ticksAt(key)
local ticks = {}
local kept = redis.call('hgetall', key)
for i = 1, #kept, 2 do
ticks[tonumber(kept[i])] = cjson.decode(kept[i + 1])
end
return ticks
end
`
const scheduleTicks2 = `local function asText(number)
return string.format('%.0f', number)
end
local function isTooFarAhead(tick, now)
return tick > now + 3600000
end
local function note(key, tick, entry, limits)
redis.call('hset', key, asText(tick), cjson.encode(entry))
redis.call('pexpire', key, limits.ttl)
if redis.call('hlen', key) > tonumber(limits.most) then
local oldest = tick
for _, field in ipairs(redis.call('hkeys', key)) do
oldest = math.min(oldest, tonumber(field))
end
redis.call('hdel', key, asText(oldest))
end
end
`

export const scheduleSources = {
  'schedule/begin': `-- Holdfast: schedule/begin
${touch}${scheduleTicks}${clock}${scheduleTicks2}local owner, limits = ARGV[1], { ttl = ARGV[4], most = ARGV[5] }
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
`,
  'schedule/finish': `-- Holdfast: schedule/finish
${touch}${scheduleTicks}${clock}${scheduleTicks2}touch(KEYS[2])
local isLost = ARGV[2] == 'done' and redis.call('hexists', KEYS[1], ARGV[1]) == 0
for tick, entry in pairs(ticksAt(KEYS[2])) do
if entry.owner == ARGV[1] and entry.state == 'running' then
entry.state = isLost and 'lost' or ARGV[2]
entry.to = asText(clock())
if ARGV[3] ~= '' then
entry.error = ARGV[3]
end
note(KEYS[2], tick, entry, { ttl = ARGV[4], most = ARGV[5] })
return 1
end
end
return 0
`,
  'schedule/miss': `-- Holdfast: schedule/miss
${touch}${scheduleTicks}${clock}${scheduleTicks2}touch(KEYS[1])
local now = clock()
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 or isTooFarAhead(tonumber(ARGV[1]), now) then
return 0
end
local entry = { state = 'missed', from = asText(now) }
note(KEYS[1], tonumber(ARGV[1]), entry, { ttl = ARGV[2], most = ARGV[3] })
return 1
`,
  'schedule/read': `-- Holdfast: schedule/read
${touch}touch(KEYS[2])
return { redis.call('hkeys', KEYS[1]), redis.call('hgetall', KEYS[2]) }
`,
}
