-- grant: makes a waiter the owner of a free lock, until its client no longer counts as alive, and notifies the client.
-- The message goes to the client's inbox, with the end of that window, which the client knows from one of its own replies.
-- The message only rings: a client that missed it finds itself the owner at its next attempt. It has the protocol number
-- and a proof that its sender can read the queue, and not only publish: a digest of the message and the waiter's nonce.
local function inboxOf(owner, prefix)
  return prefix .. (string.match(owner, '^(.*):') or owner)
end

-- insert life
-- insert publish

-- inbox: of its client; nonce: of the waiter, as the queue has it.
-- behind: the thread ids of those of its client that come next, each behind a comma; nil for none.
-- Returns whether it was granted. It is not to a client that could not be told, which would be an owner that does not know.
local function grant(lock, owner, untilMs, inbox, nonce, behind)
  local untilText = string.format('%.0f', untilMs)
  local told = untilText .. ':' .. owner .. (behind or '')
  redis.call('hset', lock, owner, 1)
  redis.call('pexpireat', lock, untilText)
  local isTold = publish('publish', inbox, '2:grant:' .. redis.sha1hex(nonce .. told .. nonce) .. ':' .. told)
  if not isTold then
    redis.call('del', lock)
  end
  return isTold
end
