-- save_schedule and claim_schedule_fire, once core has decided what is stored.
--
-- KEYS[1], [2] the scope's operations    KEYS[3] schedules, ordered map: schedule id -> stored schedule
-- ARGV  also: id, compare = whether to compare with `expected` (nil: there must be none), stored (nil: write nothing)
-- Reply {"=", whether it was written, 0 or 1}

return write_once(function()
  local current = redis.call("HGET", KEYS[3], request.id)
  if request.compare and (current and value_of(current) or nil) ~= request.expected then return refuse("stale") end
  if not request.stored then return { "=", 0 } end
  put(KEYS[3], request.id, request.stored)
  return { "=", 1 }
end)
