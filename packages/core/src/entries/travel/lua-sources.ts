// Generated from the .lua files by scripts/lua-sources.mjs. Do not edit.
import { luaParts } from '../door.js'

const {
  fencedLockAssignToken,
  lockForget,
  lockNote,
  tombstone,
  touch,
} = luaParts

export const travelSources = {
  'travel/adopt': `-- Holdfast: travel/adopt
${touch}${tombstone}${lockNote}touch(KEYS[1])
if isLate(KEYS[2], ARGV[4]) then
return 3
end
local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
if not mine and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
local holder = redis.call('hgetall', KEYS[1])
return { holder[1] and redis.call('pttl', KEYS[1]) or -2, holder[1] or '', holder[2] or 0 }
end
${fencedLockAssignToken}local token, failure
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
${tombstone}${lockForget}refuseCopies(KEYS[2], 0, ARGV[4], ARGV[4], ARGV[5])
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
