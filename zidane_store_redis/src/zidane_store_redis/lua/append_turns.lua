-- append_turns, update_run (no turns) and patch_meta (no turns, no run, touch false).
--
-- KEYS  as in _session.lua
-- ARGV  also: turns = {{id, user, stored, digest}...}, run = {id, stored}, metadata = {values, removed, replaces_all},
--       touch = whether updated_at moves
-- Reply {"=", rev, rev before, turns added}

local function stored_digests(turns)
  local digests, ids = {}, {}
  for at, turn in ipairs(turns) do
    ids[at] = turn.id
  end
  for first = 1, is_new and 0 or #ids, CHUNK do
    local last = math.min(first + CHUNK - 1, #ids)
    for at, found in ipairs(redis.call("HMGET", DIGESTS, unpack(ids, first, last))) do
      if found then digests[ids[first + at - 1]] = found:sub(2, 17) end
    end
  end
  return digests
end

local function is_replay(turns, digests)
  for _, turn in ipairs(turns) do
    if digests[turn.id] ~= turn.digest then return false end
  end
  return #turns > 0
end

return write_session(function()
  local refusal = judge_existence()
  if refusal then return refusal end
  local digests = stored_digests(request.turns)
  if is_replay(request.turns, digests) then return { "=", head.rev, head.rev, 0 } end
  refusal = judge_guard()
  if refusal then return refusal end
  local fresh, conflict = new_turns(request.turns, digests)
  refusal = conflict or (request.run and protect_run())
  if refusal then return refusal end
  if #fresh == 0 and not (request.run or request.metadata or is_new) then
    return { "=", head.rev, head.rev, 0 }
  end
  begin_writing()
  if request.run then put_runs({ request.run }) end
  if request.metadata then change_metadata(request.metadata) end
  add_turns(fresh)
  return moved(request.touch, #fresh)
end)
