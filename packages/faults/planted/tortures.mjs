// Arguments of the torture, each made for one kind of mistake: it shows within seconds, many times, so that a run
// that misses it by chance is not to be expected. What is not under test is made cheap, and what could heal a
// mistake by itself (a lease that ends, a tick that makes a waiter try) is made rare.
const LONG_LEASE = '--lease 20000'
const ONE_PROCESS = '--processes 1 --flows 40 --locks 40 --delay 20'
const TWO_PROCESSES = '--processes 2 --flows 24 --locks 24 --delay 20'

/** Callers that push each other. */
export const CROWD = '--minutes 0.05 --faults script-flush --processes 2 --flows 24 --locks 16 --delay 10'
/** One process, so that nobody else takes what its waiters were not told of. */
export const ONLY_WAKES = `--minutes 0.05 --faults none --resync 10000 ${LONG_LEASE} --delay 40 --processes 1 --flows 200 --locks 80`
export const NO_WAKES = `--minutes 0.05 --faults none --drop 2 ${LONG_LEASE} --processes 1 --flows 200 --locks 80`
/** Nobody meets anybody, and every question takes 300 ms: a lease that was shortened has ended by the next one. */
export const SLOW = `--minutes 0.05 --faults none --delay 150 ${LONG_LEASE} --processes 1 --flows 60 --locks 5000`
/** A try takes long enough for its caller to go meanwhile. */
export const LATE_GRANTS = `--minutes 0.05 --faults none --delay 60 ${LONG_LEASE} --processes 1 --flows 60 --locks 30`

export const BROKEN = `--faults lose-reply,cut ${ONE_PROCESS}`
export const COPIED = `--faults late-copy ${LONG_LEASE} ${ONE_PROCESS}`
export const SILENT = `--faults black-hole ${LONG_LEASE} ${ONE_PROCESS}`
export const CUT_OFF = `--faults refuse ${LONG_LEASE} ${ONE_PROCESS}`
export const FULL = `--faults out-of-memory ${LONG_LEASE} ${ONE_PROCESS}`
export const STOPPED = `--faults process-stands-still,event-loop-blocked ${TWO_PROCESSES}`
export const KILLED = `--faults process-killed ${TWO_PROCESSES}`

export const FAIR = `--kinds fair --faults event-loop-blocked ${TWO_PROCESSES}`
export const ONLY_TURNS = `--kinds fair --faults none --resync 10000 ${LONG_LEASE} ${TWO_PROCESSES}`
export const READ_WRITE = `--kinds read-write --faults script-flush ${TWO_PROCESSES}`
/** Nobody tells a waiter of another process anything: it has to ask. */
export const ONLY_PAUSES = `--kinds spin --faults none --resync 10000 ${LONG_LEASE} ${TWO_PROCESSES}`
