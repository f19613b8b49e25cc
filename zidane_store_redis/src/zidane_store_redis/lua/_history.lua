-- Comparing and replacing histories, for the scripts that rewrite what is stored.

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
