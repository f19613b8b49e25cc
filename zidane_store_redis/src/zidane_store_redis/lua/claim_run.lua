-- claim_run: a compare-and-swap on the epoch of the run that holds the session.
--
-- KEYS  as in _session.lua
-- ARGV  also: owner (stored), displaces (an epoch)
-- Reply {"=", claimed 0 or 1, epoch, rev, status before, rev before, holder before (stored) or false, its silence in ms}

return write_session(function()
  local refusal = judge_existence() or judge_guard()
  if refusal then return refusal end
  local previous, holder, epoch = head.status, head.owner or false, head.epoch or "0"
  if previous == "running" and epoch ~= request.displaces then
    return { "=", 0, epoch, head.rev, previous, "0", holder, quiet_ms() }
  end
  begin_writing()
  local before = head.rev
  head.rev = new_rev
  head.status, head.owner, head.epoch, head.active = "running", request.owner, head.rev, now_text
  head.updated = later(head.updated, now_text)
  return { "=", 1, head.epoch, head.rev, previous, before, holder, "0" }
end)
