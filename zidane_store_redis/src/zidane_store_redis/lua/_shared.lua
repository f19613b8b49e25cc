-- In front of every write: the request, the clock, refusals, ordered maps, repeated operations.
--
-- KEYS[1] operations   hash: operation -> {stamp, answer}, MessagePack; the field "" is when the hash was begun
-- KEYS[2] operations, the generation before
-- ARGV[1] the request, MessagePack. Here: op, and either seq (a call of a client's lane) or fingerprint (of a call that
--         the user named); wait = whether replicas are waited for
--
-- A reply is {"=", answer...} or {"!", refusal, facts...}. Times and revisions are decimal texts: a Lua number that is
-- turned into text by itself loses digits. What users wrote is bytes here and never decoded: cjson changes JSON.

local OPERATIONS, OPERATIONS_BEFORE = KEYS[1], KEYS[2]
local KEPT_AT_LEAST, KEPT_FOR_MS = 256, 600000
local CHUNK = 1000 -- arguments of one call: unpack() fails at 8,000

local request = cmsgpack.unpack(ARGV[1])

local function text(number)
  return string.format("%.0f", number)
end

local function refuse(...)
  return { "!", ... }
end

local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local now_text = text(now)

local function call_in_chunks(command, key, arguments)
  for first = 1, #arguments, CHUNK do
    redis.call(command, key, unpack(arguments, first, math.min(first + CHUNK - 1, #arguments)))
  end
end

-- Ordered maps: hashes that keep the order in which their fields were first put, as order .. ":" .. value. The field ""
-- is the counter.

local function value_of(raw)
  return raw:sub(raw:find(":", 1, true) + 1)
end

-- Insert, or replace in place. Whether the field is new.
local function put(key, field, value)
  local old = redis.call("HGET", key, field)
  local order = old and old:match("^%d+") or redis.call("HINCRBY", key, "", 1)
  redis.call("HSET", key, field, order .. ":" .. value)
  return not old
end

-- Operations. A lane is a client's sequence of calls, one after the other: its newest answer is all that can be asked
-- for again, and what comes with a smaller number was overtaken, so it must not take effect any more.

local in_place = false -- whether the operation's field is there already

local function first_answer()
  if not request.op then return nil end
  local kept = redis.call("HGET", OPERATIONS, request.op)
  in_place = kept
  kept = kept or redis.call("HGET", OPERATIONS_BEFORE, request.op)
  if not kept then return nil end
  local stamp, answer = unpack(cmsgpack.unpack(kept))
  if request.seq then
    if stamp < request.seq then return nil end
    if stamp > request.seq then return refuse("superseded") end
  elseif stamp ~= request.fingerprint then
    return refuse("operation-conflict")
  end
  if request.wait then -- WAIT answers for the last write of this connection, so there has to be one
    redis.call("HSET", OPERATIONS, request.op, kept)
  end
  return answer
end

local function keep_answer(answer)
  if not request.op then return end
  if not in_place then
    local size = redis.call("HLEN", OPERATIONS)
    if size > KEPT_AT_LEAST and now - redis.call("HGET", OPERATIONS, "") >= KEPT_FOR_MS then
      redis.call("RENAME", OPERATIONS, OPERATIONS_BEFORE)
      size = 0
    end
    if size == 0 then redis.call("HSET", OPERATIONS, "", now_text) end
  end
  redis.call("HSET", OPERATIONS, request.op, cmsgpack.pack({ request.seq or request.fingerprint, answer }))
end

-- Every write on what belongs to no session: the first answer, or what `act` does now.
local function write_once(act)
  local answer = first_answer()
  if answer then return answer end
  answer = act()
  if answer[1] == "=" then keep_answer(answer) end
  return answer
end
