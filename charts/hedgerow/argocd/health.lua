-- Health of Hedgerow's kinds for Argo CD (resource.customizations of argocd-cm, key hedgerow.dev/*).
--
-- Why: Argo CD takes an unknown kind for healthy the moment it exists. Input: `obj`. Output: status and message.
-- A tripped guardrail leaves a policy Healthy, with its message: it is a decision about load, not a failure, and a
-- sync of several waves would wait for it for ever. Suspended only where a person switched something off or has to
-- resume it. Argo CD runs Lua 5.1 with nothing but the base and table libraries, for one second.

local function condition(kind)
  for _, found in ipairs(obj.status.conditions or {}) do
    if found.type == kind then return found end
  end
  return { status = "Absent", reason = "", message = "" }
end

local function said(status, found)
  local message = found.message or ""
  if message == "" then message = found.reason or "" end
  return { status = status, message = message }
end

-- What is to be done by hand before this policy hedges again, or nil.
local function by_hand()
  local spec = obj.spec or {}
  if spec.suspend then return "switched off by spec.suspend" end
  local off = {}
  for _, cohort in ipairs(spec.cohorts or {}) do
    if cohort.suspend then table.insert(off, cohort.name .. " is switched off by its suspend") end
  end
  for _, cohort in ipairs(obj.status.cohorts or {}) do
    if cohort.hold then
      table.insert(off, cohort.name .. " is held until " .. cohort.hold["until"])
    elseif cohort.state == "Suspended" and not cohort["until"] then
      table.insert(off, cohort.name .. " waits to be resumed: " .. (cohort.message or cohort.reason or ""))
    end
  end
  if #off > 0 then return table.concat(off, "; ") end
  return nil
end

local seen = obj.status and obj.status.observedGeneration
if seen == nil or seen == -1 then
  return { status = "Progressing", message = "the operator has not seen it yet" }
end
if seen ~= obj.metadata.generation then
  return { status = "Progressing", message = "the operator has not seen the latest change yet" }
end

local stalled, accepted = condition("Stalled"), condition("Accepted")
if stalled.status == "True" then return said("Degraded", stalled) end
if accepted.status == "False" then return said("Degraded", accepted) end

local programmed, ready = condition("Programmed"), condition("Ready")
if programmed.reason == "RolloutFailed" or programmed.reason == "ChildRejected" then
  return said("Degraded", programmed)
end

local off = by_hand()
if off then return { status = "Suspended", message = off } end
if ready.status ~= "True" then return said("Progressing", ready) end

local breached, healthy = condition("GuardrailBreached"), condition("Healthy")
if breached.status == "True" then return said("Healthy", breached) end
if healthy.status == "False" then return said("Healthy", healthy) end
return { status = "Healthy", message = "" }
