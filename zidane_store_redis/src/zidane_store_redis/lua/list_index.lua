-- A range of the index, once what has expired is out of it.
--
-- KEYS[1] index  [2] sorted set of what expires when  [3] hash of where those stand in the index
-- ARGV[1] the kind of members: i, p, r, q or a  [2] place, or ""  [3] limit, or -1
-- ARGV[4] member behind which to begin, or ""  [5] for r and q: where [4] is an id, its updated_at; else ""
-- Reply the members: for i, p and a ids, for r and q recency ":" id

local time = redis.call("TIME")
sweep(KEYS[1], KEYS[2], KEYS[3], time[1] * 1000 + math.floor(time[2] / 1000), -1)

local begin = ARGV[1] .. ARGV[2]
local from = "[" .. begin
if ARGV[4] ~= "" then
  from = "(" .. begin .. (ARGV[5] == "" and "" or recency(ARGV[5]) .. ":") .. ARGV[4]
end
-- The end is the next text of this beginning's length; bytes that are full carry.
local bytes = #begin
while begin:byte(bytes) == 255 do
  bytes = bytes - 1
end
local to = "(" .. begin:sub(1, bytes - 1) .. string.char(begin:byte(bytes) + 1)

local members = redis.call("ZRANGEBYLEX", KEYS[1], from, to, "LIMIT", 0, ARGV[3])
for at, member in ipairs(members) do
  members[at] = member:sub(#begin + 1)
end
return members
