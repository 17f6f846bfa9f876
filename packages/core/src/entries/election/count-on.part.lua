-- count-on: lets a counter of tokens go on from a token, where Redis has lost the counter alone or has an older one.
local function countOn(key, token)
  local known = redis.pcall('get', key)
  local isLess = type(known) == 'string' and (#known < #token or (#known == #token and known < token))
  if not known or isLess then
    redis.call('set', key, token)
  end
end
