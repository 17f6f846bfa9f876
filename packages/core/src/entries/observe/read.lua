-- read: the reports of several clients.
-- KEYS    [1..] reports; last a key that is never written
-- ARGV    none
-- RETURNS for each the report, '' if there is none, and how long it lasts, ms
-- RETRY   safe: changes nothing
local last = KEYS[#KEYS]
local function touchProbe(key)
  redis.call('del', key)
end
touchProbe(last)
local answer = {}
local function add(key)
  answer[#answer + 1] = redis.call('get', key) or ''
  answer[#answer + 1] = redis.call('pttl', key)
end
for i = 1, #KEYS - 1 do
  add(KEYS[i])
end
return answer
