-- delete_schedule.
--
-- KEYS[1], [2] the scope's operations    KEYS[3] schedules    KEYS[4] the schedule's fires
-- ARGV  also: id
-- Reply {"=", 0 or 1}

return write_once(function()
  local removed = redis.call("HDEL", KEYS[3], request.id)
  redis.call("DEL", KEYS[4])
  return { "=", removed }
end)
