-- give: makes a waiter the owner of a free lock, until its client does not count as alive any more, and says so.
-- Its client hears that in its inbox, with the end of that life, which it knows as the answer to a request of its own.
-- What is told is a doorbell: whoever missed it finds itself the owner at its next try.
local function inboxOf(owner, prefix)
  return prefix .. string.match(owner, '^(.*):')
end

-- behind: the thread ids of those of its client that come next, each behind a comma; nil for nobody.
local function give(lock, owner, untilMs, inboxPrefix, behind)
  local untilText = string.format('%.0f', untilMs)
  redis.call('hset', lock, owner, 1)
  redis.call('pexpireat', lock, untilText)
  redis.call('publish', inboxOf(owner, inboxPrefix), 'grant:' .. untilText .. ':' .. owner .. (behind or ''))
end
