-- settle_send_request.
--
-- KEYS  as in _session.lua
-- ARGV  also: request_id, result (stored), or nil to drop the claim
-- Reply {"=", 0 or 1}

return write_session(function()
  local held = head and redis.call("HGET", SENDS, request.request_id)
  if not held then return { "=", 0 } end
  local refusal = judge_guard()
  if refusal then return refusal end
  if request.result then
    begin_writing()
    local record = cmsgpack.unpack(value_of(held))
    record[4] = request.result
    put(SENDS, request.request_id, cmsgpack.pack(record))
  else
    redis.call("HDEL", SENDS, request.request_id)
  end
  moved(false)
  return { "=", 1 }
end)
