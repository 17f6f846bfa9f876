-- terms: the latest terms of an election, the newest last, each as JSON.
-- owner, token, data (text), from and to (ms of Redis; no `to` while it goes on), and `yes`: what a candidate has answered
-- to the leader's question.
-- insert clock
local function msNow()
  return string.format('%.0f', clock())
end

-- Nil without one. What is no JSON counts as none: it is not ours, and makes room in time.
local function latestTerm(key)
  local text = redis.call('lindex', key, -1)
  local isRead, term = pcall(cjson.decode, text or '')
  return isRead and type(term) == 'table' and term or nil
end

-- The list is never empty in between, or its time to live would be lost.
local function replaceLatest(key, term)
  local before = redis.call('lindex', key, -1)
  redis.call('rpush', key, cjson.encode(term))
  redis.call('lrem', key, 1, before)
end
