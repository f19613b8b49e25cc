-- renew_run: refresh the quiet clock of a claim. It needs no operation id: once more is the same.
--
-- KEYS  as in _session.lua
-- Reply {"="}

return write_session(function()
  local refusal = judge_existence() or judge_guard()
  if refusal then return refusal end
  head.active = now_text
  return { "=" }
end)
