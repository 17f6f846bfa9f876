-- shown: whether an owner is the holder that a caller was shown, and now wants released by force.
-- A long name, and that of a hold that was handed over, is shown cut, with an ellipsis for the rest.
local function isShown(owner, holder)
  local beginning = string.match(holder, '^(.+)\226\128\166$')
  return owner == holder or (beginning ~= nil and string.sub(owner, 1, #beginning) == beginning)
end
