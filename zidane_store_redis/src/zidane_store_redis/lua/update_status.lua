-- update_status.
--
-- KEYS  as in _session.lua
-- ARGV  also: status, owner (stored), touch
-- Reply {"=", rev, rev before, 0}

return write_session(function()
  local refusal = judge_existence() or judge_guard() or protect_run()
  if refusal then return refusal end
  begin_writing()
  head.status = request.status
  if request.status == "running" then
    head.owner, head.active = request.owner or head.owner, now_text
  else
    head.owner, head.epoch = nil, nil
  end
  return moved(request.touch)
end)
