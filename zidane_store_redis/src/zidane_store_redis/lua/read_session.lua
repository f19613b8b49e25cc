-- A session, or a part of its history, at one revision. Writes nothing.
--
-- KEYS[1] head  [2] turns  [3] runs  [4] metadata
-- ARGV[1] the first position, or -n for the last n turns
-- ARGV[2] how many turns, or "" for all
-- ARGV[3] "1" to read runs and metadata too
-- Reply nil, or {seconds, microseconds, head, first position, lengths of the turns, the turns joined, runs, metadata}
--
-- The turns are one text with their lengths beside it: a client takes it apart much faster than it reads a thousand
-- replies, and one damaged turn hides no other.

local head = redis.call("HGETALL", KEYS[1])
if #head == 0 then return nil end
local count = redis.call("LLEN", KEYS[2])
local first = tonumber(ARGV[1])
if first < 0 then first = math.max(0, count + first) end
local last = ARGV[2] == "" and count or math.min(count, first + ARGV[2])
local turns, lengths = {}, {}
if last > first then turns = redis.call("LRANGE", KEYS[2], first, last - 1) end
for at, turn in ipairs(turns) do
  lengths[at] = #turn
end
local time, runs, metadata = redis.call("TIME"), {}, {}
if ARGV[3] == "1" then
  runs, metadata = redis.call("HGETALL", KEYS[3]), redis.call("HGETALL", KEYS[4])
end
return { time[1] .. "", time[2] .. "", head, first, table.concat(lengths, " "), table.concat(turns), runs, metadata }
