-- life: for how long a waiter may say that it lives.
-- Nobody lives longer than that on one try or heartbeat. What says so was not written by a client, or by a clock that was
-- set back since: whose life it is says so again at its next one, and the dead do not.
local LONGEST_LIFE_MS = 120000
