-- begin: note that an owner of the lock leads, with its data and the next token; or write again what Redis lost of that.
-- KEYS    [1] lock hash (owner -> holds)   [2] terms   [3] token counter
-- ARGV    [1] owner   [2] data   [3] '' to begin, else the token that this owner leads with
--         [4] '' to begin, else since when it leads, ms of Redis   [5] counter, or time   [6] ttl of the terms ms
--         [7] how many of them are kept   [8] channel of the election   [9] PUBLISH or SPUBLISH
-- RETURNS {token, since when it leads in ms of Redis}, 0 this owner does not have the lock
-- RETRY   safe: compares the owner; a copy finds the term of its owner, and answers the same token
-- insert touch
-- insert publish
-- insert election/terms
-- insert election/count-on
-- insert fenced-lock/assign-token
touch(KEYS[1])
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
