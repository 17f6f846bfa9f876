-- forget: removes the note of a hold that is over. One of any other owner stays.
local function forget(key, owner)
  if string.sub(redis.call('get', key) or '', -#owner - 1) == ' ' .. owner then
    redis.call('del', key)
  end
end
