-- read: the reports of several clients.
-- KEYS    [1..] reports; last a key that is never written
-- ARGV    none
-- RETURNS for each the report, '' if there is none, and how long it lasts, ms
-- RETRY   safe: changes nothing
redis.call('del', KEYS[#KEYS])
local answer = {}
for i = 1, #KEYS - 1 do
  answer[#answer + 1] = redis.call('get', KEYS[i]) or ''
  answer[#answer + 1] = redis.call('pttl', KEYS[i])
end
return answer
