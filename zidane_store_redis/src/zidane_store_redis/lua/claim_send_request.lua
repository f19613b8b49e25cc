-- claim_send_request.
--
-- KEYS  as in _session.lua
-- ARGV  also: request_id, fingerprint_sent, owner (stored), limit (how many are kept)
-- Reply {"=", 1}, or {"=", 0, what holds the id}

return write_session(function()
  local refusal = judge_existence()
  if refusal then return refusal end
  local held = not is_new and redis.call("HGET", SENDS, request.request_id)
  if held then return { "=", 0, value_of(held) } end
  refusal = judge_guard()
  if refusal then return refusal end
  if is_new then begin_writing() end
  put(SENDS, request.request_id, cmsgpack.pack({ request.fingerprint_sent, now_text, request.owner or false, false }))
  keep_newest(SENDS, request.limit)
  if is_new then moved(true) end
  return { "=", 1 }
end)
