-- record_schedule_fire.
--
-- KEYS[1], [2] the scope's operations    KEYS[3] schedules    KEYS[4] the schedule's fires: fire id -> stored fire
-- ARGV  also: id, fire_id, stored, limit (how many are kept)
-- Reply {"="}

return write_once(function()
  if redis.call("HEXISTS", KEYS[3], request.id) == 0 then return refuse("schedule-not-found") end
  put(KEYS[4], request.fire_id, request.stored)
  keep_newest(KEYS[4], request.limit)
  return { "=" }
end)
