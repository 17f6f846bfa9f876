-- life: how long a waiter may claim to be alive.
-- One attempt or heartbeat never counts for longer than that. A longer claim was not written by a client, or was written
-- before the clock was set back: a living client renews its claim with its next heartbeat, a dead one does not.
local LONGEST_LIFE_MS = 120000
