-- The index of a scope's sessions in one shard: a sorted set of score 0, whose members are in the order of their bytes.
--
--   "i" id                        all, by id
--   "p" place id                  of one project, by id; a place is 16 bytes that stand for the project
--   "r" recency ":" id            all, most recently updated first, ties by id
--   "q" place recency ":" id      of one project, the same
--   "a" id                        those that have artifacts
--
-- Where a session stands is its position: place .. updated_at. Only sessions that can expire have it also in `places`,
-- because nothing else tells where an expired one stood.

local COMPLEMENT = {
  ["0"] = "9", ["1"] = "8", ["2"] = "7", ["3"] = "6", ["4"] = "5",
  ["5"] = "4", ["6"] = "3", ["7"] = "2", ["8"] = "1", ["9"] = "0",
}

-- A text whose byte order is the descending order of decimal integers of any length.
local function recency(updated)
  if updated:sub(1, 1) == "-" then
    return string.format("n%04d%s", #updated - 1, updated:sub(2))
  end
  return (string.format("%04d%s", #updated, updated):gsub("%d", COMPLEMENT))
end

local function members_at(position, id)
  local place, key = position:sub(1, 16), recency(position:sub(17))
  return { "i" .. id, "p" .. place .. id, "r" .. key .. ":" .. id, "q" .. place .. key .. ":" .. id }
end

-- Move a session in the index; without `before` it is new there, without `after` it leaves.
local function move_in_index(index, id, before, after)
  local old = before and members_at(before, id) or {}
  local new = after and members_at(after, id) or {}
  local removed, added = {}, {}
  for at = 1, 4 do
    if old[at] ~= new[at] then
      removed[#removed + 1] = old[at]
      if new[at] then
        added[#added + 1] = 0
        added[#added + 1] = new[at]
      end
    end
  end
  if not after then
    removed[#removed + 1] = "a" .. id
  end
  if #removed > 0 then redis.call("ZREM", index, unpack(removed)) end
  if #added > 0 then redis.call("ZADD", index, unpack(added)) end
end

-- Take out of the index what has expired, the first `limit` of it.
local function sweep(index, expiry, places, now, limit)
  local gone = redis.call("ZRANGEBYSCORE", expiry, "-inf", string.format("(%.0f", now), "LIMIT", 0, limit)
  for _, id in ipairs(gone) do
    local position = redis.call("HGET", places, id)
    if position then move_in_index(index, id, position, nil) end
    redis.call("HDEL", places, id)
    redis.call("ZREM", expiry, id)
  end
end
