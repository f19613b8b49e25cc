-- upsert_artifact, once core has decided what is stored: a compare-and-swap on the state of the session's artifacts.
--
-- KEYS  as in _session.lua
-- ARGV  also: artifacts_at (what was read), artifact_id, stored, or nil where the id belongs to another artifact,
--       evicted = ids to remove
-- Reply {"=", stored}

return write_session(function()
  local refusal = judge_existence() or judge_guard()
  if refusal then return refusal end
  if head.artifacts_at ~= request.artifacts_at then return refuse("stale") end
  if not request.stored then return refuse("artifact-id") end
  begin_writing()
  call_in_chunks("HDEL", ARTIFACTS, request.evicted)
  local added = put(ARTIFACTS, request.artifact_id, request.stored) and 1 or 0
  head.artifacts = text(head.artifacts + added - #request.evicted)
  redis.call("ZADD", INDEX, 0, "a" .. request.id)
  moved(false)
  head.artifacts_at = head.rev
  return { "=", request.stored }
end)
