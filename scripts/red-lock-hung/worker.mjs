// One process of the scenario: callers that take the same RedLock over and over, and say when each was inside.
import { LockClient } from '@holdfast/core'
import { nowMs } from '../shared-clock.mjs'

const { urls, kind, callers, workMs, waitMs } = JSON.parse(process.argv[2])
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const clients = await Promise.all(urls.map((url) => LockClient.connect(url)))
clients.forEach((client) => client.on('release-failed', () => undefined))
const members = clients.map((client) =>
  kind === 'fair' ? client.getFairLock('scenario') : client.getLock('scenario'),
)
const lock = clients[0].getRedLock(members)
const seen = { grants: [], timeouts: 0, errors: {}, longestWaitMs: 0 }
let goesOn = true

const turn = async () => {
  const askedAt = nowMs()
  try {
    await lock.withLock(
      async (hold) => {
        const from = nowMs()
        seen.longestWaitMs = Math.max(seen.longestWaitMs, from - askedAt)
        await rest(workMs)
        // Its trust is what the lock promises: work after its end would be the caller's mistake.
        hold.ensure()
        seen.grants.push([from, nowMs()])
      },
      { waitMs },
    )
  } catch (error) {
    seen.longestWaitMs = Math.max(seen.longestWaitMs, nowMs() - askedAt)
    if (error.code === 'LOCK_TIMEOUT') seen.timeouts += 1
    else seen.errors[error.code ?? error.message] = (seen.errors[error.code ?? error.message] ?? 0) + 1
  }
}

const callTurns = async () => {
  while (goesOn) await turn()
}

process.on('message', async (message) => {
  if (message === 'begin') {
    await Promise.all(Array.from({ length: callers }, callTurns))
    process.send({ seen })
  } else if (message === 'end') {
    goesOn = false
  } else {
    process.exit()
  }
})
process.send('ready')
