-- forget: removes the note of a hold that is over. One of any other owner stays.
local function forget(key, owner)
  local text = redis.pcall('get', key)
  if type(text) == 'string' and string.sub(text, -#owner - 1) == ' ' .. owner then
    redis.call('del', key)
  end
end
