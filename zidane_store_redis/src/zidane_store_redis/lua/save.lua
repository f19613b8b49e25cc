-- save, and save_meta (no turns).
--
-- KEYS  as in _session.lua
-- ARGV  also: turns as in append_turns.lua, runs = {{id, stored}...}, metadata = {values, removed, replaces_all},
--       agent, root, place, updated, status, extra
-- Reply {"=", rev, rev before, turns written}

local function set_header()
  head.agent = request.agent
  if request.root and not head.root then
    head.root, head.place = request.root, request.place
  end
  head.updated = is_new and request.updated or later(head.updated, request.updated)
  put_all(METADATA, "x", request.extra)
end

-- A snapshot never starts a run, and never ends one that it does not hold.
local function set_status()
  if request.status ~= "running" and not is_protected() then
    head.status, head.owner, head.epoch = request.status, nil, nil
  end
end

return write_session(function()
  local refusal = judge_existence() or judge_guard()
  if refusal then return refusal end
  if head.epoch and runs_differ(request.runs, request.turns ~= nil) then
    refusal = protect_run()
    if refusal then return refusal end
  end
  local turns, conflict, added = nil, nil, 0
  if request.turns then
    turns, conflict = new_turns(request.turns, {})
    if conflict then return conflict end
  end
  begin_writing()
  if turns then
    local same = same_turns(turns)
    replace_turns(turns, same)
    added = #turns - same
    drop_other_runs(request.runs)
  end
  put_runs(request.runs)
  change_metadata(request.metadata)
  set_header()
  set_status()
  return moved(false, added)
end)
