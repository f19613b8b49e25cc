-- In front of every write on a session: its head, the judgements in the contract's order, and the parts of a write.
--
-- KEYS[3] head      hash, see judge_existence; `sum` is a checksum of the others
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

local SWEPT_BY_A_WRITE = 10
local NONE = "\1" -- an absent field, in the checksum

local head, stored_head, is_new, new_rev = nil, nil, false, nil

-- Of all fields; none has a NUL in it but the place, which has always 16 bytes.
local function checksum(of)
  return redis.sha1hex(
    of.creation .. "\0" .. of.created .. "\0" .. of.updated .. "\0" .. of.status .. "\0" .. of.rev .. "\0"
    .. (of.agent or NONE) .. "\0" .. (of.root or NONE) .. "\0" .. (of.owner or NONE) .. "\0" .. (of.epoch or NONE)
    .. "\0" .. of.active .. "\0" .. of.turns .. "\0" .. of.users .. "\0" .. (of.first or NONE) .. "\0" .. of.runs
    .. "\0" .. of.artifacts .. "\0" .. of.artifacts_at .. "\0" .. (of.expires or NONE) .. "\0" .. of.place
  ):sub(1, 16)
end

-- Read the head; whether it is undamaged.
local function read_head()
  local flat = redis.call("HGETALL", HEAD)
  if #flat == 0 then return true end
  head, stored_head = {}, {}
  for at = 1, #flat, 2 do
    head[flat[at]], stored_head[flat[at]] = flat[at + 1], flat[at + 1]
  end
  local intact, sum = pcall(checksum, head)
  return intact and head.sum == sum
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
    creation = create.creation, created = create.created, updated = now_text, status = "idle", rev = "0",
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
    local left = { TURNS, DIGESTS, RUNS, METADATA, ARTIFACTS, SENDS, OPERATIONS, OPERATIONS_BEFORE }
    if redis.call("EXISTS", unpack(left)) > 0 then redis.call("DEL", unpack(left)) end
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
    for _, field in ipairs(redis.call("HKEYS", METADATA)) do
      if field:sub(1, 1) == "m" then removed[#removed + 1] = field end
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

-- The last part of every write that moves the revision, and its answer.
local function moved(touch, added)
  local previous = head.rev
  head.rev = new_rev or next_rev()
  if touch then head.updated = later(head.updated, now_text) end
  if request.fence then head.active = now_text end
  return { "=", head.rev, previous, added or 0 }
end

local function is_pinned()
  local pinned = redis.call("HGET", METADATA, "mpinned")
  return pinned and value_of(pinned):sub(13) == "true" -- behind the envelope of the codec
end

-- Let all keys of the session live equally long.
local function expire_all(command, ...)
  for _, key in ipairs({ HEAD, TURNS, DIGESTS, RUNS, METADATA, ARTIFACTS, SENDS, OPERATIONS, OPERATIONS_BEFORE }) do
    redis.call(command, key, ...)
  end
end

local function set_expiry()
  if request.ttl and not is_pinned() then
    head.expires = text(now + request.ttl)
    redis.call("ZADD", EXPIRY, head.expires, request.id)
    redis.call("HSET", PLACES, request.id, head.place .. head.updated)
  elseif head.expires then
    head.expires = nil
    redis.call("ZREM", EXPIRY, request.id)
    redis.call("HDEL", PLACES, request.id)
    expire_all("PERSIST")
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
  if head.expires then expire_all("PEXPIREAT", head.expires) end
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
