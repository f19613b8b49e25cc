-- delete_artifact.
--
-- KEYS  as in _session.lua
-- ARGV  also: artifact_id
-- Reply {"=", 0 or 1}

return write_session(function()
  if not head or redis.call("HEXISTS", ARTIFACTS, request.artifact_id) == 0 then return { "=", 0 } end
  local refusal = judge_guard()
  if refusal then return refusal end
  redis.call("HDEL", ARTIFACTS, request.artifact_id)
  head.artifacts = text(head.artifacts - 1)
  if head.artifacts == "0" then redis.call("ZREM", INDEX, "a" .. request.id) end
  moved(false)
  head.artifacts_at = head.rev
  return { "=", 1 }
end)
