-- shown: whether an owner is one of the holders that a caller has seen, and now wants released by force.
-- A long name, and that of a hold that was handed over, is shown cut, with an ellipsis for the rest.
-- Without any, every owner is meant.
local function isShown(owner, named)
  for _, holder in ipairs(named) do
    local beginning = string.match(holder, '^(.+)\226\128\166$')
    if owner == holder or (beginning ~= nil and string.sub(owner, 1, #beginning) == beginning) then
      return true
    end
  end
  return #named == 0
end

-- Another owner beside them keeps the lock: it came in since.
local function areShown(owners, named)
  for _, owner in ipairs(owners) do
    if not isShown(owner, named) then
      return false
    end
  end
  return true
end
