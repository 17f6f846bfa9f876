import { setTimeout as sleep } from 'node:timers/promises'
import { CRASH_LEASE_MS, STEP_LIMIT_MS } from './settings.mjs'
import { inMs } from './terminal.mjs'
import { nowMs, within } from './time.mjs'

export const title = `Crash: the holder is killed with SIGKILL while two wait (lease ${inMs(CRASH_LEASE_MS)})`

const WORK_MS = 400

/** @param {import('./stage.mjs').Stage} stage */
export const play = async ({ crew, redis, prefix, say }) => {
  const lockName = `${prefix}:crash-lock`
  const names = ['holder', 'waiter-1', 'waiter-2']
  const [holder, ...waiters] = await crew.start(names, { leaseMs: CRASH_LEASE_MS })
  const { owner, at: startedAt } = await holder.call('hold', { lockName })
  say(`holder (pid ${holder.pid}) has the lock as ${owner}`)

  let killedAt = Infinity
  for (const waiter of waiters) {
    const { name, pid } = waiter
    waiter.on('entered', ({ from }) => say(sentence({ name, pid, from }, killedAt)))
  }
  const waitMs = 3 * CRASH_LEASE_MS
  const turns = Promise.all(waiters.map((waiter) => waitTurn(waiter, { lockName, workMs: WORK_MS, waitMs })))
  // Awaited at the end only, and not at all when something else fails before.
  turns.catch(() => undefined)
  const begun = waiters.map((waiter) => Promise.race([waiter.first('waiting'), turns]))
  // The event has no data; a turn that was over before it has.
  const answers = await within(Promise.all(begun), STEP_LIMIT_MS, 'waiter')
  if (!answers.some(Boolean))
    say(`two processes wait for it (pids ${waiters.map(({ pid }) => pid).join(', ')})`)

  const leftMs = await afterRenewal(redis, lockName)
  killedAt = nowMs()
  holder.kill()
  const { signal } = await holder.exited
  const left = leftMs < 0 ? 'but Redis has no such lock' : `with ${inMs(leftMs)} of its renewed lease left`
  say(`the holder dies of ${signal}, ${left} ...`)

  const [first, second] = (await turns).sort(
    (one, other) => (one.from ?? Infinity) - (other.from ?? Infinity),
  )
  for (const turn of [first, second]) if (turn.error) say(sentence(turn, killedAt))
  await Promise.all(waiters.map((waiter) => waiter.end()))
  return {
    claims: claimsOf(first, second, killedAt),
    panel: panelOf({ startedAt, killedAt, holder, turns: [first, second] }),
  }
}

/** The outcome of one waiter; without `from` it never got in. */
const waitTurn = async (waiter, { waitMs, ...args }) => {
  const waitedFrom = nowMs()
  const { name, pid } = waiter
  const turn = waiter.call('takeTurn', { waitMs, ...args }).catch((error) => ({ error: error.message }))
  return { name, pid, waitedFrom, ...(await within(turn, waitMs + STEP_LIMIT_MS, `answer of ${name}`)) }
}

/**
 * The moment of the kill: renewed once, and well before the next renewal. Killed right after one, the holder
 * would leave a whole lease behind, and nothing of the claim's limit for the waiter to wake up in.
 */
const afterRenewal = async (redis, lockName) => {
  const giveUpAt = nowMs() + 2 * CRASH_LEASE_MS
  let renewed = false
  let before = Infinity
  while (nowMs() < giveUpAt) {
    const left = await redis.pttl(lockName)
    renewed ||= left > before + 50
    // Below zero there is no lock: a broken one; the claims will say so.
    if (left < 0 || (renewed && left < 0.75 * CRASH_LEASE_MS)) return left
    before = left
    await sleep(10)
  }
  throw new Error('the watchdog has not renewed the lock')
}

const sentence = ({ name, pid, from, error }, killedAt) => {
  const who = `${name} (pid ${pid})`
  if (from === undefined) return `${who} did not get in: ${error}`
  return from < killedAt
    ? `${who} got in while the holder was alive`
    : `${who} got in ${inMs(from - killedAt)} after the kill`
}

const claimsOf = (first, second, killedAt) => {
  const afterMs = first.from - killedAt
  const restMs = second.from - first.to
  return [
    {
      claim: 'After a SIGKILL of the holder a waiter gets in',
      isFigure: true,
      expected: `after the kill, within one lease (${inMs(CRASH_LEASE_MS)})`,
      seen: sentence(first, killedAt),
      ok: afterMs > 0 && afterMs <= CRASH_LEASE_MS,
    },
    {
      claim: 'The other waiter gets in next, not beside it',
      expected: `after ${first.name} has left`,
      seen: Number.isFinite(restMs)
        ? `${second.name} got in ${Math.abs(restMs).toFixed(1)} ms ${restMs < 0 ? 'before' : 'after'} that`
        : `${second.name} did not get in`,
      ok: restMs >= 0,
    },
  ]
}

const panelOf = ({ startedAt, killedAt, holder, turns }) => {
  const since = (at) => at - startedAt
  const entered = turns.filter(({ from }) => from !== undefined)
  const endMs = since(Math.max(killedAt, ...entered.map(({ to }) => to)))
  const goneAt = entered.find(({ from }) => from > killedAt)?.from ?? killedAt
  const lanes = turns.map(({ name, pid, waitedFrom, from, to }) => ({
    label: name,
    detail: `pid ${pid}`,
    bars: [
      { from: Math.max(0, since(waitedFrom)), to: from === undefined ? endMs : since(from), kind: 'waits' },
      ...(from === undefined ? [] : [{ from: since(from), to: since(to), kind: 'holds' }]),
    ],
  }))
  lanes.sort((one, other) => (one.label < other.label ? -1 : 1))
  const dead = { from: since(killedAt), to: since(goneAt), kind: 'dead', text: inMs(goneAt - killedAt) }
  const held = { from: 0, to: since(killedAt), kind: 'holds' }
  return {
    title: `Crash: ${entered.length > 0 ? sentence(entered[0], killedAt) : 'nobody got in'}`,
    note: `The holder is killed while two processes wait; its lease is ${inMs(CRASH_LEASE_MS)}, renewed every third of that`,
    endMs,
    kill: since(killedAt),
    lanes: [{ label: holder.name, detail: `pid ${holder.pid}`, bars: [held, dead] }, ...lanes],
  }
}
