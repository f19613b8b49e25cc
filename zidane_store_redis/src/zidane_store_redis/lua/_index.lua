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

-- A text whose byte order is the descending order of decimal integers of any length: 9 minus each digit of the length
-- and of the number. A number computes that for all times that clocks tell.
local function recency(updated)
  local digits = #updated
  if updated:sub(1, 1) == "-" then
    return string.format("n%04d%s", digits - 1, updated:sub(2))
  elseif digits <= 15 then
    return string.format("%04d%0" .. digits .. ".0f", 9999 - digits, 10 ^ digits - 1 - updated)
  end
  return (string.format("%04d%s", digits, updated):gsub("%d", function(digit) return tostring(9 - digit) end))
end

-- Move a session in the index; without `before` it is new there, without `after` it leaves.
local function move_in_index(index, id, before, after)
  local old = before and recency(before:sub(17)) .. ":" .. id
  local new = after and recency(after:sub(17)) .. ":" .. id
  local from, to = before and before:sub(1, 16), after and after:sub(1, 16)
  if before and from == to then
    redis.call("ZREM", index, "r" .. old, "q" .. from .. old)
    redis.call("ZADD", index, 0, "r" .. new, 0, "q" .. to .. new)
    return
  end
  if before then
    redis.call("ZREM", index, "r" .. old, "q" .. from .. old, "i" .. id, "p" .. from .. id)
  end
  if after then
    redis.call("ZADD", index, 0, "r" .. new, 0, "q" .. to .. new, 0, "i" .. id, 0, "p" .. to .. id)
  else
    redis.call("ZREM", index, "a" .. id)
  end
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
