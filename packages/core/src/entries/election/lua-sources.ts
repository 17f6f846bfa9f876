// Generated from the .lua files by scripts/lua-sources.mjs. Do not edit.
import { luaParts } from '../door.js'

const {
  clock,
  fairLockEndHold7,
  fairLockGrantToFirst3,
  fairLockHead2,
  fairLockLeavePassed,
  fairLockLiveness3,
  fairLockQueue2,
  fairLockRepair2,
  fencedLockAssignToken,
  lockForget,
  lockGrant,
  lockGrant3,
  lockIsFree,
  publish,
  tombstone,
  touch,
} = luaParts
const electionCandidates = `local function firstOf(key, client)
for place, owner in ipairs(redis.call('lrange', key, 0, -1)) do
if string.match(owner, '^(.*):') == client then
return owner, place
end
end
end
`
const electionTerms2 = `local function msNow()
return string.format('%.0f', clock())
end
local function latestTerm(key)
local text = redis.call('lindex', key, -1)
local isRead, term = pcall(cjson.decode, text or '')
return isRead and type(term) == 'table' and term or nil
end
local function replaceLatest(key, term)
local before = redis.call('lindex', key, -1)
redis.call('rpush', key, cjson.encode(term))
redis.call('lrem', key, 1, before)
end
`

export const electionSources = {
  'election/accept': `-- Holdfast: election/accept
${touch}${publish}${clock}${electionTerms2}${electionCandidates}touch(KEYS[1])
local term = latestTerm(KEYS[2])
if not term or term.token ~= ARGV[2] or term.to or redis.call('hexists', KEYS[1], term.owner) == 0 then
return 0
end
if not firstOf(KEYS[3], ARGV[1]) then
return 0
end
term.yes = ARGV[3] .. ':' .. ARGV[1]
replaceLatest(KEYS[2], term)
publish(ARGV[5], ARGV[4], '1:yes')
return 1
`,
  'election/ask': `-- Holdfast: election/ask
${touch}${publish}${clock}${electionTerms2}${electionCandidates}touch(KEYS[1])
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
return -1
end
if not firstOf(KEYS[3], ARGV[2]) then
return 0
end
local term = latestTerm(KEYS[2])
if not term or term.owner ~= ARGV[1] then
return 1
end
if term.yes == ARGV[3] .. ':' .. ARGV[2] then
return 2
end
publish(ARGV[5], ARGV[4], '1:ask:' .. term.token .. ':' .. ARGV[3] .. ':' .. ARGV[2])
return 1
`,
  'election/begin': `-- Holdfast: election/begin
${touch}${publish}${clock}${electionTerms2}local function countOn(key, token)
local known = redis.pcall('get', key)
local isLess = type(known) == 'string' and (#known < #token or (#known == #token and known < token))
if not known or isLess then
redis.call('set', key, token)
end
end
${fencedLockAssignToken}touch(KEYS[1])
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
return 0
end
local term = latestTerm(KEYS[2])
if not term or term.owner ~= ARGV[1] then
local token = ARGV[3]
if token == '' then
local failure
if term then
countOn(KEYS[3], term.token)
end
token, failure = assignToken(KEYS[3], false, ARGV[5], '0')
if failure then
return failure
end
end
term = { owner = ARGV[1], token = token, data = ARGV[2], from = ARGV[4] == '' and msNow() or ARGV[4] }
redis.call('rpush', KEYS[2], cjson.encode(term))
if redis.call('llen', KEYS[2]) > tonumber(ARGV[7]) then
redis.call('lrem', KEYS[2], 1, redis.call('lindex', KEYS[2], 0))
end
publish(ARGV[9], ARGV[8], '1:term')
end
redis.call('pexpire', KEYS[2], ARGV[6])
return { term.token, term.from }
`,
  'election/look': `-- Holdfast: election/look
${touch}touch(KEYS[1])
local owner = redis.call('hkeys', KEYS[1])[1] or ''
local told = {}
local kept = redis.call('lrange', KEYS[2], ARGV[1] == '' and -1 or 0, -1)
for i = #kept, 1, -1 do
told[#told + 1] = kept[i]
local isRead, term = pcall(cjson.decode, kept[i])
if isRead and type(term) == 'table' and term.token == ARGV[1] then
break
end
end
local queue = KEYS[3] and redis.call('lrange', KEYS[3], 0, -1) or {}
return { owner == '' and -2 or redis.call('pttl', KEYS[1]), owner, told, queue }
`,
  'election/release': `-- Holdfast: election/release
${publish}${touch}${clock}${fairLockQueue2}local LONGEST_LIFE_MS = 120000
${fairLockLiveness3}${fairLockRepair2}${fairLockHead2}${lockGrant}${lockGrant3}${fairLockGrantToFirst3}${fairLockLeavePassed}${lockForget}${lockIsFree}${fairLockEndHold7}${tombstone}${electionTerms2}${electionCandidates}local function moveToFront(q, client)
local owner, place = firstOf(q.list, client)
if not owner or place == 1 then
return
end
local first = redis.call('lindex', q.list, 0)
redis.call('lrem', q.list, 1, owner)
redis.call('linsert', q.list, 'before', first, owner)
local time = redis.call('zscore', q.scores, first)
if time then
redis.call('zadd', q.scores, 'xx', 'lt', time, owner)
end
local earliest = redis.call('zrange', q.arrivals, 0, 0, 'withscores')[2]
if earliest then
redis.call('zadd', q.arrivals, 'xx', tonumber(earliest) - 1, owner)
end
end
local function openQueue()
return queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[5])
end
local mine = redis.pcall('hexists', KEYS[1], ARGV[1]) == 1
if mine and ARGV[9] ~= '' then
touch(KEYS[1])
besideLock(function()
moveToFront(openQueue(), ARGV[9])
end)
end
refuseCopies(KEYS[6], 0, ARGV[2], ARGV[3], ARGV[4])
local answer = endHold(KEYS[1], ARGV[1], KEYS[8], openQueue, {}, ARGV[6], ARGV[7], ARGV[8])
if mine then
besideLock(function()
local term = latestTerm(KEYS[7])
if term and term.owner == ARGV[1] then
term.to = msNow()
replaceLatest(KEYS[7], term)
publish(ARGV[11], ARGV[10], '1:term')
end
end)
end
return answer
`,
}
