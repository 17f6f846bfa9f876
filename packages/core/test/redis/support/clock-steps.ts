import type { Redis } from 'ioredis'

// Every time in Redis is one of its clock, of those who wait and of keys that end. Set back by so much it finds all of them
// that much further ahead: moved there, they are what a clock that was set back leaves behind.
const SET_BACK = `
local by = tonumber(ARGV[1])
local function text(number) return string.format('%.0f', number) end
local move = {
  hash = function(key)
    for field, value in string.gmatch(table.concat(redis.call('hgetall', key), '\\n') .. '\\n', '([^\\n]*)\\n([^\\n]*)\\n') do
      local untilMs, since, marks = string.match(value, '^(%d+) (%d+) ?(.*)$')
      if untilMs then
        value = text(untilMs + by) .. ' ' .. text(since + by) .. ' ' .. marks
      elseif field ~= ':span' then
        value = text(value + by)
      end
      redis.call('hset', key, field, value)
    end
  end,
  zset = function(key, kind)
    local members = redis.call('zrange', key, 0, -1, 'withscores')
    for i = 1, #members, 2 do
      local name, score = members[i], tonumber(members[i + 1])
      -- Nonces are no times.
      if string.sub(name, 1, 2) ~= '2:' then
        local inMicros = kind == 'arrivals' or kind == 'line' and score > 0
        redis.call('zadd', key, text(score + (score < 0 and -by or by) * (inMicros and 1000 or 1)), name)
      end
    end
  end,
}
for _, key in ipairs(redis.call('keys', '*')) do
  local kind = string.match(key, '^holdfast:(%a+):')
    or string.match(key, '^redisson_lock_(timeout):') or string.match(key, ':(timeout)$')
  local type = redis.call('type', key).ok
  -- Other hashes of ours keep numbers that are no times.
  if kind and move[type] and (type == 'zset' or kind == 'heartbeats') then move[type](key, kind) end
  local left = redis.call('pttl', key)
  if left > 0 then redis.call('pexpire', key, left + by) end
end
`

/** Changes all times as if the clock of Redis had been set back, while nobody is in the midst of anything. */
export async function setClockBack(redis: Redis, ms: number): Promise<void> {
  await redis.eval(SET_BACK, 0, ms)
}
