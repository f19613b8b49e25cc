-- delete. Its answer outlives the session, so it is kept with the scope's operations.
--
-- KEYS  as in _session.lua, but KEYS[1] and [2] are the scope's operations; [14] and [15] are the session's
-- Reply {"=", 0 or 1}

return write_once(function()
  read_head() -- a damaged one is no reason to keep it
  if not head then return { "=", 0 } end
  local refusal = judge_guard()
  if refusal then return refusal end
  -- first what frees memory: a full server refuses a script's first write only
  redis.call("DEL", HEAD, TURNS, DIGESTS, RUNS, METADATA, ARTIFACTS, SENDS, KEYS[14], KEYS[15])
  move_in_index(INDEX, request.id, head.place .. head.updated, nil)
  redis.call("ZREM", EXPIRY, request.id)
  redis.call("HDEL", PLACES, request.id)
  return { "=", 1 }
end)
