-- Reading and trimming ordered maps, for the scripts that look at a whole one.

-- All as {field =, value =, order =}, in order; those whose field has the prefix where one is given.
local function entries_of(key, prefix)
  local flat, entries = redis.call("HGETALL", key), {}
  for at = 1, #flat, 2 do
    local field, raw = flat[at], flat[at + 1]
    if field ~= "" and (not prefix or field:sub(1, #prefix) == prefix) then
      entries[#entries + 1] = { field = field, value = value_of(raw), order = tonumber(raw:match("^%d+")) }
    end
  end
  table.sort(entries, function(one, other) return one.order < other.order end)
  return entries
end

-- Remove the oldest fields, so that at most `limit` stay.
local function keep_newest(key, limit)
  local surplus = redis.call("HLEN", key) - 1 - limit
  if surplus > 0 then
    local entries = entries_of(key)
    for at = 1, surplus do
      redis.call("HDEL", key, entries[at].field)
    end
  end
end
