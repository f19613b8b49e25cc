-- The write of mutate_history: a compare-and-swap on the revision that was read.
--
-- KEYS  as in _session.lua
-- ARGV  also: turns as in append_turns.lua, runs = {{id, stored}...} or nil where they stay, read_at
-- Reply {"=", rev, rev before, turns written}, or {"=", false} where nothing changed

return write_session(function()
  local refusal = judge_existence() or judge_guard()
  if refusal then return refusal end
  if head.rev ~= request.read_at then return refuse("revision", request.read_at, head.rev) end
  local turns, conflict = new_turns(request.turns, {})
  if conflict then return conflict end
  local changes_runs = request.runs and runs_differ(request.runs, true)
  refusal = changes_runs and protect_run()
  if refusal then return refusal end
  local same = same_turns(turns)
  if not changes_runs and same == #turns and #turns == tonumber(head.turns) then return { "=", false } end
  begin_writing()
  replace_turns(turns, same)
  if changes_runs then
    drop_other_runs(request.runs)
    put_runs(request.runs)
  end
  return moved(true, #turns - same)
end)
