// Generated from the .lua files by scripts/embed-lua.mjs. Do not edit.
export const luaSources = {
  'batch': `-- batch: many transitions in one script, each as if it had come alone.
-- KEYS    [1] a key that nobody ever writes   [2..] the keys of each item, one item after another
-- ARGV    [1] JSON, because parsing hundreds of arguments costs more: of each item its transition and its ARGV
-- RETURNS a list in the order of the items: the answer of each, or its error
-- RETRY   safe: each item is; an error of the whole script comes before the first item
local transitions = {
  ['lock/acquire'] = { keys = 2, run = function(KEYS, ARGV)
    -- acquire: take a free lock for an owner, or set the hold count of an owner that has it.
    -- KEYS    [1] lock hash (owner -> holds)   [2] latch of this owner
    -- ARGV    [1] owner   [2] holds to have afterwards   [3] lease ms   [4] sequence of this command
    --         [5] highest sequence whose copies must be refused from now on, 0 for none   [6] latch ttl ms
    -- RETURNS 1 acquired, 2 lost (a re-entry found nothing to re-enter), 3 superseded (a late copy),
    --         {ttl ms, holder, holds} when somebody else has it
    -- RETRY   safe: writes the absolute count; a copy that comes after the acquisition ended meets the latch
    local holds = tonumber(ARGV[2])

    if holds == 1 and ARGV[5] == '0' and redis.call('exists', KEYS[1], KEYS[2]) == 0 then
      -- HSET comes first: it is what Redis refuses when out of memory, and a write before it would let it pass.
      redis.call('hset', KEYS[1], ARGV[1], 1)
      redis.call('pexpire', KEYS[1], ARGV[3])
      return 1
    end

    local latched = redis.call('get', KEYS[2])
    local mine = redis.call('hget', KEYS[1], ARGV[1])
    local free = not mine and redis.call('exists', KEYS[1]) == 0
    local superseded = latched and tonumber(ARGV[4]) <= tonumber(latched)

    if not superseded and (mine or (free and holds == 1)) then
      redis.call('hset', KEYS[1], ARGV[1], holds)
      redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[3])))
      if ARGV[5] ~= '0' then
        redis.call('set', KEYS[2], ARGV[5], 'px', ARGV[6])
      end
      return 1
    end

    -- A write that changes nothing: on a demoted primary it fails, instead of an answer from stale data.
    redis.call('hdel', KEYS[1], '')
    if superseded then
      return 3
    end
    if holds > 1 then
      return 2
    end
    local holder = redis.call('hgetall', KEYS[1])
    return { redis.call('pttl', KEYS[1]), holder[1], holder[2] }
  end },
  ['lock/release'] = { keys = 2, run = function(KEYS, ARGV)
    -- release: lower the hold count of an owner; at 0 delete the lock and wake waiters.
    -- KEYS    [1] lock hash (owner -> holds)   [2] latch of this owner
    -- ARGV    [1] owner   [2] holds to keep   [3] sequence of this command
    --         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] latch ttl ms
    --         [6] unlock channel   [7] PUBLISH or SPUBLISH
    -- RETURNS 1 released, 2 still held, 3 superseded (a late copy), 0 this owner holds nothing
    -- RETRY   safe: writes the absolute count; a full release that runs again finds nothing and answers 0
    local holds = tonumber(ARGV[2])

    -- A write that changes nothing comes first. On a demoted primary it fails, and after it Redis lets the
    -- count and the latch be written even when it is out of memory.
    redis.call('hdel', KEYS[1], '')

    local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
    if holds > 0 then
      local latched = redis.call('get', KEYS[2])
      if latched and tonumber(ARGV[3]) <= tonumber(latched) then
        return 3
      end
    end
    if ARGV[4] ~= '0' then
      redis.call('set', KEYS[2], ARGV[4], 'px', ARGV[5])
    end
    if not mine then
      return 0
    end
    if holds > 0 then
      redis.call('hset', KEYS[1], ARGV[1], holds)
      return 2
    end
    redis.call('del', KEYS[1])
    redis.call(ARGV[7], ARGV[6], '0')
    return 1
  end },
}

-- A write that changes nothing, of a kind that Redis refuses when it is out of memory: an acquire behind a
-- release would pass, because a script that has written may go on. Refused, the items are sent one by one.
redis.call('setrange', KEYS[1], 0, '')

local answers = {}
local key = 1
for i, item in ipairs(cjson.decode(ARGV[1])) do
  local transition = transitions[item[1]]
  local keys = {}
  for position = 1, transition.keys do
    keys[position] = KEYS[key + 1]
    key = key + 1
  end
  -- pcall: the error of one item is not the failure of its neighbours. Redis before 7 raises text.
  local ran, answer = pcall(transition.run, keys, item[2])
  if not ran then
    answer = { err = type(answer) == 'table' and answer.err or answer }
  end
  answers[i] = answer
end
return answers
`,
  'lock/acquire': `-- acquire: take a free lock for an owner, or set the hold count of an owner that has it.
-- KEYS    [1] lock hash (owner -> holds)   [2] latch of this owner
-- ARGV    [1] owner   [2] holds to have afterwards   [3] lease ms   [4] sequence of this command
--         [5] highest sequence whose copies must be refused from now on, 0 for none   [6] latch ttl ms
-- RETURNS 1 acquired, 2 lost (a re-entry found nothing to re-enter), 3 superseded (a late copy),
--         {ttl ms, holder, holds} when somebody else has it
-- RETRY   safe: writes the absolute count; a copy that comes after the acquisition ended meets the latch
local holds = tonumber(ARGV[2])

if holds == 1 and ARGV[5] == '0' and redis.call('exists', KEYS[1], KEYS[2]) == 0 then
  -- HSET comes first: it is what Redis refuses when out of memory, and a write before it would let it pass.
  redis.call('hset', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[3])
  return 1
end

local latched = redis.call('get', KEYS[2])
local mine = redis.call('hget', KEYS[1], ARGV[1])
local free = not mine and redis.call('exists', KEYS[1]) == 0
local superseded = latched and tonumber(ARGV[4]) <= tonumber(latched)

if not superseded and (mine or (free and holds == 1)) then
  redis.call('hset', KEYS[1], ARGV[1], holds)
  redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[3])))
  if ARGV[5] ~= '0' then
    redis.call('set', KEYS[2], ARGV[5], 'px', ARGV[6])
  end
  return 1
end

-- A write that changes nothing: on a demoted primary it fails, instead of an answer from stale data.
redis.call('hdel', KEYS[1], '')
if superseded then
  return 3
end
if holds > 1 then
  return 2
end
local holder = redis.call('hgetall', KEYS[1])
return { redis.call('pttl', KEYS[1]), holder[1], holder[2] }
`,
  'lock/force-release': `-- force-release: delete the lock whoever has it, wake waiters, tell the clients that had it.
-- KEYS    [1] lock hash (owner -> holds)
-- ARGV    [1] unlock channel   [2] PUBLISH or SPUBLISH   [3] prefix of the inbox channels of clients
-- RETURNS the number of owners that lost it
-- RETRY   safe: a second run finds nothing
local owners = redis.call('hkeys', KEYS[1])
-- DEL also of nothing: on a demoted primary it fails, instead of an answer from stale data.
redis.call('del', KEYS[1])
if #owners == 0 then
  return 0
end
redis.call(ARGV[2], ARGV[1], '0')
for _, owner in ipairs(owners) do
  local client = string.match(owner, '^(.-):')
  if client then
    redis.call('publish', ARGV[3] .. client, owner)
  end
end
return #owners
`,
  'lock/inspect': `-- inspect: who has the lock, how often, and for how long still.
-- KEYS    [1] lock hash (owner -> holds)
-- ARGV    none
-- RETURNS {ttl ms, owner, holds, owner, holds, ...}; ttl is -2 without a lock, -1 without a time to live
-- RETRY   safe: changes nothing
-- A write that changes nothing: on a demoted primary it fails, instead of an answer from stale data.
redis.call('hdel', KEYS[1], '')
local answer = redis.call('hgetall', KEYS[1])
table.insert(answer, 1, redis.call('pttl', KEYS[1]))
return answer
`,
  'lock/release': `-- release: lower the hold count of an owner; at 0 delete the lock and wake waiters.
-- KEYS    [1] lock hash (owner -> holds)   [2] latch of this owner
-- ARGV    [1] owner   [2] holds to keep   [3] sequence of this command
--         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] latch ttl ms
--         [6] unlock channel   [7] PUBLISH or SPUBLISH
-- RETURNS 1 released, 2 still held, 3 superseded (a late copy), 0 this owner holds nothing
-- RETRY   safe: writes the absolute count; a full release that runs again finds nothing and answers 0
local holds = tonumber(ARGV[2])

-- A write that changes nothing comes first. On a demoted primary it fails, and after it Redis lets the
-- count and the latch be written even when it is out of memory.
redis.call('hdel', KEYS[1], '')

local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
if holds > 0 then
  local latched = redis.call('get', KEYS[2])
  if latched and tonumber(ARGV[3]) <= tonumber(latched) then
    return 3
  end
end
if ARGV[4] ~= '0' then
  redis.call('set', KEYS[2], ARGV[4], 'px', ARGV[5])
end
if not mine then
  return 0
end
if holds > 0 then
  redis.call('hset', KEYS[1], ARGV[1], holds)
  return 2
end
redis.call('del', KEYS[1])
redis.call(ARGV[7], ARGV[6], '0')
return 1
`,
  'lock/renew': `-- renew: make sure that each lock an owner still has lives at least a lease from now.
-- KEYS    [1..] lock hashes
-- ARGV    [1] lease ms   [2..] owner of each lock, in the order of KEYS
-- RETURNS a list in the order of KEYS: 1 renewed, 0 this owner does not have it
-- RETRY   safe: compares the owner, never creates, never shortens
local lease = tonumber(ARGV[1])
local answers = {}
for i, key in ipairs(KEYS) do
  -- pcall: a key of another type under one name is that lock's loss, not a failure of its neighbours.
  local touched = redis.pcall('hdel', key, '')
  if type(touched) == 'table' and touched.err then
    if string.sub(touched.err, 1, 9) ~= 'WRONGTYPE' then
      return touched
    end
    answers[i] = 0
  elseif redis.call('hexists', key, ARGV[i + 1]) == 1 then
    redis.call('pexpire', key, math.max(redis.call('pttl', key), lease))
    answers[i] = 1
  else
    answers[i] = 0
  end
end
return answers
`,
} as const

export const inBatches: readonly string[] = ['lock/acquire', 'lock/release']
