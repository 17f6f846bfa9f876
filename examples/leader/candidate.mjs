// One process of the fleet: it campaigns, and tells its parent of each term as it begins and ends.
import { LockClient } from '@holdfast/core'
import { getElection } from '@holdfast/core/election'

const [name] = process.argv.slice(2)
// A killed leader keeps the next one out for this long.
const locks = await LockClient.connect(process.env.REDIS_URL, {
  clientName: name,
  lockWatchdogTimeout: 2_500,
})
const election = getElection(locks, 'leader-example', { data: { pid: process.pid } })

// The clock that all processes of a machine share.
const now = () => Number(process.hrtime.bigint()) / 1e6

const campaign = election.lead(async (term) => {
  process.send({ began: term.token, at: now() })
  // The work: it goes on until the term ends.
  await new Promise((resolve) => term.signal.addEventListener('abort', resolve, { once: true }))
  process.send({ ended: term.token, at: now(), why: term.signal.reason.reason })
})

process.on('message', async ({ resign, stop }) => {
  if (resign !== undefined) await election.resign(resign === null ? {} : { to: resign })
  if (stop) {
    await election.close()
    await campaign
    await locks.close()
    process.exit()
  }
})
process.send({ ready: locks.clientId })
