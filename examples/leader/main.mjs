// Three processes that want to lead. Leaders are killed, resign, and choose who follows; the picture shows all terms.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { getElection } from '@holdfast/core/election'
import { Redis } from 'ioredis'

const NAMES = ['worker-1', 'worker-2', 'worker-3']
const [TERM_MS, COLUMN_MS] = [500, 100]
process.env.REDIS_URL ??= 'redis://localhost:6379'
const locks = await LockClient.connect(process.env.REDIS_URL, { clientName: 'follower' })
const election = getElection(locks, 'leader-example')
// The clock that all processes of a machine share.
const clock = () => Number(process.hrtime.bigint()) / 1e6
const startedAt = clock()
const now = () => clock() - startedAt

/** { name, token, from, to, end } in the order in which they began. */
const terms = []
const processes = new Map()
let heard = () => undefined

const start = (name) => {
  const child = fork(new URL('./candidate.mjs', import.meta.url), [name])
  const candidate = { name, child, clientId: undefined }
  processes.set(name, candidate)
  child.on('message', ({ ready, began, ended, at, why }) => {
    if (ready) candidate.clientId = ready
    if (began) terms.push({ name, token: began, from: at - startedAt })
    const term = terms.find(({ token }) => token === ended)
    if (term) Object.assign(term, { to: at - startedAt, end: why })
    heard()
  })
  return candidate
}

/** Resolves when it holds; every message of a candidate is a reason to look. */
const until = async (holds) => {
  while (!holds()) await new Promise((resolve) => (heard = resolve))
}
const leads = () => terms.findLast(({ to }) => to === undefined)
const nextTerm = async () => {
  await until(leads)
  await sleep(TERM_MS)
  return { ...leads(), ...processes.get(leads().name) }
}
/** The process dies, and another one takes its place. */
const kill = async ({ name, child, token }) => {
  child.kill('SIGKILL')
  await once(child, 'exit')
  Object.assign(
    terms.find((each) => each.token === token),
    { to: now(), end: 'killed' },
  )
  start(name)
}

const told = []
const following = (async () => {
  for await (const leader of election.changes()) if (leader) told.push(leader.token)
})()

for (const name of NAMES) {
  start(name)
  await until(() => processes.get(name).clientId)
}
await kill(await nextTerm())
;(await nextTerm()).child.send({ resign: null })
const chooses = await nextTerm()
// The last in line leads next, before those in front of it.
const chosen = (await election.candidates()).at(-1)
chooses.child.send({ resign: chosen.clientId })
await until(() => leads()?.name !== undefined && leads().token !== chooses.token)
const isChosen = leads().name === chosen.clientName
await kill(await nextTerm())
await nextTerm()
for (const { child } of processes.values()) {
  child.send({ stop: true })
  await once(child, 'exit')
}
// The last term is told before the follower leaves.
while (told.length < terms.length) await sleep(20)
await election.close()
await following

const columns = Math.ceil(Math.max(...terms.map(({ to }) => to)) / COLUMN_MS) + 1
console.log(`the token of the leader, every ${COLUMN_MS} ms; x: killed, >: resigned the lead`)
for (const name of NAMES) {
  const row = Array.from({ length: columns }, () => '·')
  for (const { from, to, token, end } of terms.filter((each) => each.name === name)) {
    const [first, last] = [from, to].map((at) => Math.floor(at / COLUMN_MS))
    for (let i = first; i <= last; i += 1) row[i] = token.at(-1)
    row[Math.max(first + 1, last)] = end === 'killed' ? 'x' : '>'
  }
  console.log(`${name} ${row.join('')}`)
}
for (const { name, token, from, to, end } of terms) {
  console.log(`term ${token}: ${name} from ${Math.round(from)} to ${Math.round(to)} ms, ${end}`)
}

const redis = new Redis(process.env.REDIS_URL)
await redis.del('holdfast:terms:{leader-example}', 'redisson_lock_token:{leader-example}')
redis.disconnect()
await locks.close()
const areApart = terms.every((each, i) => i === 0 || each.from >= terms[i - 1].to)
const doGrow = terms.every((each, i) => i === 0 || BigInt(each.token) > BigInt(terms[i - 1].token))
const areTold = terms.every(({ token }) => told.includes(token))
const isRight = areApart && doGrow && areTold && isChosen
console.log(
  isRight
    ? `${terms.length} terms one after the other, each with a larger token, and a follower was told of all`
    : `NOT as it should be: ${JSON.stringify({ areApart, doGrow, areTold, isChosen })}`,
)
process.exitCode = isRight ? 0 : 1
