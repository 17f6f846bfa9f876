-- give: makes a waiter the owner of a free lock, until its client does not count as alive any more, and says so.
-- Its client hears that in its inbox, with the end of that life, which it knows as the answer to a request of its own.
-- What is told is a doorbell: whoever missed it finds itself the owner at its next try. It has the number of the protocol,
-- and a proof that whoever says it can read the line, and not only publish: a digest of it and of the waiter's nonce.
local function inboxOf(owner, prefix)
  return prefix .. (string.match(owner, '^(.*):') or owner)
end

-- insert life

-- inbox: of its client; nonce: of the waiter, as the line has it.
-- behind: the thread ids of those of its client that come next, each behind a comma; nil for nobody.
local function give(lock, owner, untilMs, inbox, nonce, behind)
  local untilText = string.format('%.0f', untilMs)
  local told = untilText .. ':' .. owner .. (behind or '')
  redis.call('hset', lock, owner, 1)
  redis.call('pexpireat', lock, untilText)
  redis.call('publish', inbox, '2:grant:' .. redis.sha1hex(nonce .. told .. nonce) .. ':' .. told)
end
