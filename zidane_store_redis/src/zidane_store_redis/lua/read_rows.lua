-- Sessions without their turns, for listings. Writes nothing.
--
-- KEYS  head, metadata and turns of one session, then of the next
-- ARGV[1] "1" for the heads alone
-- Reply {seconds, microseconds, {head, metadata, first user turn or nil}...}

local time = redis.call("TIME")
local rows = { time[1], time[2] }
for at = 1, #KEYS, 3 do
  local head = redis.call("HGETALL", KEYS[at])
  local metadata, first = {}, false
  if ARGV[1] ~= "1" then
    metadata = redis.call("HGETALL", KEYS[at + 1])
    local position = redis.call("HGET", KEYS[at], "first")
    if position and redis.call("HEXISTS", KEYS[at + 1], "mtitle") == 0 then
      first = redis.call("LINDEX", KEYS[at + 2], position)
    end
  end
  rows[#rows + 1] = { head, metadata, first }
end
return rows
