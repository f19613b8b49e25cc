-- In front of every write on a session: its head, the judgements in the contract's order, and the parts of a write.
--
-- KEYS[3] head      hash, see FIELDS; `sum` is a checksum of the others
-- KEYS[4] turns     list of stored turns, in order
-- KEYS[5] digests   hash: turn id -> "u" (a user turn) or "-", 16 bytes of digest, position
-- KEYS[6] runs      ordered map: run id -> stored run
-- KEYS[7] metadata  ordered map: "m" key -> stored value; "x" key -> value of an unknown key of the header
-- KEYS[8] artifacts ordered map: artifact id -> stored artifact
-- KEYS[9] sends     ordered map: request id -> {fingerprint, created_at, owner, result}, MessagePack
-- KEYS[10] the shard's revision counter
-- KEYS[11] index    KEYS[12] sorted set of what expires when    KEYS[13] hash of where those stand in the index
-- ARGV[1] also: id, fence, expected_rev, ttl (milliseconds), and create = {creation, created, agent, root, place,
--         metadata, extra} where the write carries the session's creation. A list of named values is {{name, value}...}
--
-- A script judges before it writes: an error in the middle would keep what was written before it.

local HEAD, TURNS, DIGESTS, RUNS, METADATA = KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local ARTIFACTS, SENDS, REVISION = KEYS[8], KEYS[9], KEYS[10]
local INDEX, EXPIRY, PLACES = KEYS[11], KEYS[12], KEYS[13]
local CONTENT = { TURNS, DIGESTS, RUNS, METADATA, ARTIFACTS, SENDS, OPERATIONS, OPERATIONS_BEFORE }

local SWEPT_BY_A_WRITE = 10

local FIELDS = {
  "creation", "created", "updated", "status", "rev", "agent", "root", "place", "owner", "epoch", "active",
  "turns", "users", "first", "runs", "artifacts", "artifacts_at", "expires",
}

local head, stored_head, is_new, new_rev = nil, nil, false, nil

local function checksum(fields)
  local parts = {}
  for at, name in ipairs(FIELDS) do
    parts[at] = fields[name] and (#fields[name] .. ":" .. fields[name]) or "-"
  end
  return redis.sha1hex(table.concat(parts)):sub(1, 16)
end

-- Read the head; whether it is undamaged.
local function read_head()
  local flat = redis.call("HGETALL", HEAD)
  if #flat == 0 then return true end
  head, stored_head = {}, {}
  for at = 1, #flat, 2 do
    head[flat[at]], stored_head[flat[at]] = flat[at + 1], flat[at + 1]
  end
  return head.sum == checksum(head)
end

local function is_less(one, other) -- decimal integers of any length
  local negative = one:sub(1, 1) == "-"
  if negative ~= (other:sub(1, 1) == "-") then return negative end
  if one == other then return false end
  local shorter = #one < #other or (#one == #other and one < other)
  return shorter ~= negative
end

local function later(one, other)
  return is_less(one, other) and other or one
end

local function quiet_ms()
  return head.status == "running" and text(math.max(0, now - head.active)) or false
end

-- The judgements ----------------------------------------------------------------------------

local function judge_existence()
  local create = request.create
  if head then
    return create and create.creation ~= head.creation and refuse("exists") or nil
  elseif not create then
    return refuse("not-found")
  end
  is_new = true
  head = {
    creation = create.creation, created = create.created, updated = text(now), status = "idle", rev = "0",
    agent = create.agent, root = create.root, place = create.place, active = "0",
    turns = "0", users = "0", runs = "0", artifacts = "0", artifacts_at = "0",
  }
end

local function judge_guard()
  if request.fence and request.fence ~= head.epoch then
    return refuse("fenced", request.fence, head.epoch or false)
  elseif request.expected_rev and request.expected_rev ~= head.rev then
    return refuse("revision", request.expected_rev, head.rev)
  end
end

-- While a claim holds, only a write with its fence may touch status, owner or runs.
local function is_protected()
  return head.epoch and not request.fence
end

local function protect_run()
  return is_protected() and refuse("in-progress", head.owner or false, quiet_ms()) or nil
end

-- Those of a batch that are neither stored nor twice in it, and a refusal where an id is taken by another turn.
local function new_turns(turns, digests)
  local fresh = {}
  for _, turn in ipairs(turns) do
    local taken = digests[turn.id]
    if not taken then
      digests[turn.id] = turn.digest
      fresh[#fresh + 1] = turn
    elseif taken ~= turn.digest then
      return nil, refuse("turn-conflict", turn.id)
    end
  end
  return fresh
end

-- Whether runs differ from the stored ones: in anything at all, or in one of those given.
local function runs_differ(runs, replaces_all)
  local stored, known = entries_of(RUNS), {}
  if replaces_all and #stored ~= #runs then return true end
  for _, entry in ipairs(stored) do
    known[entry.field] = entry.value
  end
  for at, run in ipairs(runs) do
    local here = replaces_all and stored[at].field ~= run[1]
    if here or known[run[1]] ~= run[2] then return true end
  end
  return false
end

-- The parts of a write ----------------------------------------------------------------------

local function put_all(key, prefix, values)
  for _, pair in ipairs(values) do
    put(key, prefix .. pair[1], pair[2])
  end
end

local function next_rev()
  return text(redis.call("INCR", REVISION))
end

-- The first part of every write that adds something. A server that is full refuses a script's first write, and no
-- later one: so INCR comes first, as a command that it refuses. A creation also writes its metadata, where nothing of
-- an earlier session may be left.
local function begin_writing()
  new_rev = next_rev()
  if is_new then
    if redis.call("EXISTS", unpack(CONTENT)) > 0 then redis.call("DEL", unpack(CONTENT)) end
    put_all(METADATA, "m", request.create.metadata)
    put_all(METADATA, "x", request.create.extra)
  end
end

-- values over the stored keys without `removed`, or in place of all
local function change_metadata(change)
  local removed = {}
  for at, key in ipairs(change.removed) do
    removed[at] = "m" .. key
  end
  if change.replaces_all then
    for _, entry in ipairs(entries_of(METADATA, "m")) do
      removed[#removed + 1] = entry.field
    end
  end
  call_in_chunks("HDEL", METADATA, removed)
  put_all(METADATA, "m", change.values)
end

local function put_runs(runs)
  for _, run in ipairs(runs) do
    if put(RUNS, run[1], run[2]) then
      head.runs = text(head.runs + 1)
    end
  end
end

-- Remove the runs that a snapshot lacks; all of them where it has them in another order.
local function drop_other_runs(runs)
  local wanted, kept, dropped, stored = {}, {}, {}, entries_of(RUNS)
  for _, run in ipairs(runs) do
    wanted[run[1]] = true
  end
  for _, entry in ipairs(stored) do
    local list = wanted[entry.field] and kept or dropped
    list[#list + 1] = entry.field
  end
  for at, id in ipairs(kept) do
    if not runs[at] or runs[at][1] ~= id then
      dropped = {}
      for position, entry in ipairs(stored) do
        dropped[position] = entry.field
      end
      break
    end
  end
  call_in_chunks("HDEL", RUNS, dropped)
  head.runs = text(head.runs - #dropped)
end

local function add_turns(turns)
  local stored, digests, position = {}, {}, tonumber(head.turns)
  for at, turn in ipairs(turns) do
    local role = turn.user and "u" or "-"
    if turn.user then
      head.users = text(head.users + 1)
      head.first = head.first or text(position)
    end
    stored[at] = turn.stored
    digests[2 * at - 1], digests[2 * at] = turn.id, role .. turn.digest .. text(position)
    position = position + 1
  end
  call_in_chunks("RPUSH", TURNS, stored)
  call_in_chunks("HSET", DIGESTS, digests)
  head.turns = text(position)
end

-- Remove all turns from a position on.
local function cut_turns(position)
  if position >= tonumber(head.turns) then return end
  local flat, gone = redis.call("HGETALL", DIGESTS), {}
  for at = 1, #flat, 2 do
    if tonumber(flat[at + 1]:sub(18)) >= position then
      gone[#gone + 1] = flat[at]
      if flat[at + 1]:sub(1, 1) == "u" then
        head.users = text(head.users - 1)
      end
    end
  end
  call_in_chunks("HDEL", DIGESTS, gone)
  if position == 0 then redis.call("DEL", TURNS) else redis.call("LTRIM", TURNS, 0, position - 1) end
  head.turns = text(position)
  if head.first and tonumber(head.first) >= position then head.first = nil end
end

-- How many turns at the beginning are the same already.
local function same_turns(turns)
  local stored = redis.call("LRANGE", TURNS, 0, -1)
  local same = 0
  while same < #turns and stored[same + 1] == turns[same + 1].stored do
    same = same + 1
  end
  return same
end

-- Make `turns` the history, rewriting what lies behind the first `same`.
local function replace_turns(turns, same)
  cut_turns(same)
  local behind = {}
  for at = same + 1, #turns do
    behind[#behind + 1] = turns[at]
  end
  add_turns(behind)
end

-- The last part of every write that moves the revision, and its answer.
local function moved(touch, added)
  local previous = head.rev
  head.rev = new_rev or next_rev()
  if touch then head.updated = later(head.updated, text(now)) end
  if request.fence then head.active = text(now) end
  return { "=", head.rev, previous, added or 0 }
end

local function is_pinned()
  local pinned = redis.call("HGET", METADATA, "mpinned")
  return pinned and value_of(pinned):sub(13) == "true" -- behind the envelope of the codec
end

-- Let all keys of the session live equally long.
local function set_expiry()
  local position = head.place .. head.updated
  if request.ttl and not is_pinned() then
    head.expires = text(now + request.ttl)
    redis.call("ZADD", EXPIRY, head.expires, request.id)
    redis.call("HSET", PLACES, request.id, position)
    for _, key in ipairs(CONTENT) do
      redis.call("PEXPIREAT", key, head.expires)
    end
  elseif head.expires then
    head.expires = nil
    redis.call("ZREM", EXPIRY, request.id)
    redis.call("HDEL", PLACES, request.id)
    redis.call("PERSIST", HEAD)
    for _, key in ipairs(CONTENT) do
      redis.call("PERSIST", key)
    end
  end
end

local function store_head()
  local changed, removed = {}, {}
  head.sum = checksum(head)
  for name, value in pairs(head) do
    if not stored_head or stored_head[name] ~= value then
      changed[#changed + 1], changed[#changed + 2] = name, value
    end
  end
  for name in pairs(stored_head or {}) do
    if not head[name] then removed[#removed + 1] = name end
  end
  if #removed > 0 then redis.call("HDEL", HEAD, unpack(removed)) end
  if #changed > 0 then redis.call("HSET", HEAD, unpack(changed)) end
  if head.expires then redis.call("PEXPIREAT", HEAD, head.expires) end
end

local function store_session()
  local before, after = nil, head.place .. head.updated
  if stored_head then
    before = stored_head.place .. stored_head.updated
  else -- one of this id that expired may still stand in the index
    local left = redis.call("HGET", PLACES, request.id)
    if left then move_in_index(INDEX, request.id, left, nil) end
  end
  set_expiry()
  store_head()
  if before ~= after then move_in_index(INDEX, request.id, before, after) end
  if request.ttl then sweep(INDEX, EXPIRY, PLACES, now, SWEPT_BY_A_WRITE) end
end

-- Every write on a session: the operation's first answer, or what `act` judges and does now.
local function write_session(act)
  local answer = first_answer()
  if answer then return answer end
  if not read_head() then return refuse("damaged") end
  answer = act()
  if answer[1] == "=" and head then -- nothing is kept for a session that there is not
    keep_answer(answer)
    store_session()
  end
  return answer
end
