-- keys: the contents of the keys that one lock may have.
-- KEYS    [1..] keys; last a key that is never written
-- ARGV    none
-- RETURNS for each its type, none if it does not exist, and its ttl, ms
-- RETRY   safe: changes nothing
local last = KEYS[#KEYS]
local function touchProbe(key)
  redis.call('del', key)
end
touchProbe(last)
local answer = {}
local function add(key)
  answer[#answer + 1] = redis.call('type', key).ok
  answer[#answer + 1] = redis.call('pttl', key)
end
for i = 1, #KEYS - 1 do
  add(KEYS[i])
end
return answer
