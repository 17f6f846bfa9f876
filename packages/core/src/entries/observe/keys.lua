-- keys: the contents of the keys that one lock may have.
-- KEYS    [1..] keys; last a key that is never written
-- ARGV    none
-- RETURNS for each its type, none if it does not exist, and its ttl, ms
-- RETRY   safe: changes nothing
redis.call('del', KEYS[#KEYS])
local answer = {}
for i = 1, #KEYS - 1 do
  answer[#answer + 1] = redis.call('type', KEYS[i]).ok
  answer[#answer + 1] = redis.call('pttl', KEYS[i])
end
return answer
