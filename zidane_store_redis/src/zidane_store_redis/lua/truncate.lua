-- truncate: remove a turn and all after it.
--
-- KEYS  as in _session.lua
-- ARGV  also: turn_id
-- Reply {"=", position, removed turns...}

return write_session(function()
  local refusal = judge_existence() or judge_guard()
  if refusal then return refusal end
  local found = redis.call("HGET", DIGESTS, request.turn_id)
  if not found then return refuse("turn-not-found") end
  local position = tonumber(found:sub(18))
  local answer = { "=", text(position) }
  for at, turn in ipairs(redis.call("LRANGE", TURNS, position, -1)) do
    answer[at + 2] = turn
  end
  cut_turns(position)
  moved(true)
  return answer
end)
