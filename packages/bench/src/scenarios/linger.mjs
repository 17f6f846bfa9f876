import { LockClient } from '@holdfast/core'
import { withCells } from '../cells.mjs'
import { fastestPeer, measured, speed } from '../comparison.mjs'
import { LINGER_SETTINGS } from '../contestants/index.mjs'
import { holdfastLinger } from '../contestants/holdfast.mjs'
import { roundsOf, warmUp } from '../measure.mjs'
import { withNetwork } from '../network.mjs'
import { flowsIn } from '../report/by-flows.mjs'
import { decimals, ratio, withSlowest } from '../report/table.mjs'
import { quantile } from '../statistics.mjs'

const AT_MOST_MS = 240_000
const POLL_MS = 5

/** Pairs per second of the best peer's, by way, work and flows: what is asked for. */
const LEAST = {
  loopback: { empty: { 1: 15, 10: 2.5 }, turn: { 1: 6 } },
  network: { empty: { 1: 100, 10: 25 } },
}
const WORK = { empty: 'nothing', turn: 'setImmediate' }
const WAYS = { loopback: 'loopback', network: '1 ms network' }

/** Flows that take one lock again and again, each its own, where a released lock may stay with its client. */
export const linger = {
  id: 'linger',
  title: 'A released lock stays for its next caller',
  full: {
    oneWayMs: 0.4,
    flows: [1, 4, 10],
    warmUpMs: 700,
    rounds: 7,
    ms: 300,
    leadInMs: 100,
    pings: 100,
    pollForMs: 4_000,
    timersMs: 3_000,
  },
  small: {
    oneWayMs: 0.4,
    flows: [1],
    warmUpMs: 1,
    rounds: 1,
    ms: 1,
    pings: 3,
    pollForMs: 100,
    timersMs: 20,
  },

  run: async (context, params) => {
    const here = await pairsOf(context, 'loopback', params)
    const { results, roundTripMs } = await withNetwork(
      { ...params, atMostMs: AT_MOST_MS },
      context,
      async (through, way) => ({
        roundTripMs: await way.roundTripMs(params.pings),
        results: await pairsOf(through, 'network', params),
      }),
    )
    return { roundTripMs, results: [...here, ...results], beside: await besideOne(context, params) }
  },

  problems: ({ results, beside }) => [
    ...results.flatMap(({ way, setting, name, flows, failure }) =>
      failure ? [`${name} (${WAYS[way]}, ${WORK[setting]}), ${flows} flows: ${failure}`] : [],
    ),
    ...beside.filter(({ tries }) => tries === 0).map(({ name }) => `nobody polled beside ${name}`),
  ],

  bars: ({ results, beside }) => [
    ...groups(results).flatMap(({ way, setting, flows, all }) => {
      const peer = fastestPeer(all)
      const ours = all.find(({ name }) => name === holdfastLinger.name)
      const what = `linger, ${WAYS[way]}, ${flows} ${flows === 1 ? 'flow' : 'flows'}, work: ${WORK[setting]}`
      return peer && ours
        ? [
            {
              text: `${what}: pairs/s, of ${peer.name}, the best peer`,
              value: speed(ours) / speed(peer),
              ...leastOf(way, setting, flows),
            },
            ...(flows === 1
              ? [{ text: `${what}: scripts a pair, by Redis`, value: ours.scripts, most: 0.1 }]
              : []),
          ]
        : []
    }),
    ...beside.flatMap(({ name, share, lateMs, idleLateMs }) =>
      name === holdfastLinger.name
        ? [
            {
              text: 'linger: the part of its tries in which a poller beside one flow has the lock',
              value: share,
              least: 0.04,
            },
            {
              text: 'linger: a timer of 1 ms, p99.9, above an idle process, ms',
              value: lateMs - idleLateMs,
              most: 15,
            },
          ]
        : [],
    ),
  ],

  tables: ({ results, beside, roundTripMs }) => [
    ...['loopback', 'network'].flatMap((way) =>
      Object.keys(WORK).map((setting) => tableOf(results, way, setting, roundTripMs)),
    ),
    {
      title: `Beside one flow that takes one lock without pause: another process that tries every ${POLL_MS} ms, and a timer of 1 ms`,
      head: ['', 'pairs/s', 'tries', 'had it', 'timer late, p99.9, ms', 'the same, nothing to do'],
      rows: beside.map(({ name, pairsPerSecond, tries, share, lateMs, idleLateMs }) => [
        name,
        String(Math.round(pairsPerSecond)),
        String(tries),
        `${decimals(share * 100, 1)} %`,
        decimals(lateMs, 1),
        decimals(idleLateMs, 1),
      ]),
    },
  ],

  charts: () => [],
}

const leastOf = (way, setting, flows) => {
  const least = LEAST[way][setting]?.[flows]
  return least === undefined ? {} : { least }
}

const groups = (results) => {
  const found = []
  for (const way of Object.keys(WAYS))
    for (const setting of Object.keys(WORK))
      for (const flows of flowsIn(results)) {
        const all = measured(results).filter(
          (each) => each.way === way && each.setting === setting && each.flows === flows,
        )
        found.push({ way, setting, flows, all })
      }
  return found
}

const tableOf = (results, way, setting, roundTripMs) => {
  const here = groups(results).filter((each) => each.way === way && each.setting === setting)
  const names = [...new Set(here.flatMap(({ all }) => all.map(({ name }) => name)))]
  const far = way === 'network' ? `, a PING takes ${decimals(roundTripMs, 2)} ms` : ''
  return {
    title: `${WAYS[way]}${far}; under the lock: ${WORK[setting]}. Pairs/s by flows, each with a name of its own, and of the best peer`,
    head: ['contestant', ...here.map(({ flows }) => String(flows)), 'scripts a pair, 1 flow'],
    rows: names.map((name) => [
      name,
      ...here.map(({ all }) => {
        const each = all.find((one) => one.name === name)
        const peer = fastestPeer(all)
        return each
          ? `${withSlowest(each.pairsPerSecond)} (${peer ? ratio(speed(each) / speed(peer)) : '–'})`
          : ''
      }),
      decimals(here[0].all.find((one) => one.name === name)?.scripts ?? 0, 3),
    ]),
  }
}

const cellsOf = (context, way, { flows }, use) =>
  withCells(
    context,
    { scenario: `linger-${way}`, settings: LINGER_SETTINGS, flows: Math.max(...flows), atMostMs: AT_MOST_MS },
    use,
  )

const pairsOf = (context, way, params) =>
  cellsOf(context, way, params, async (cells) => {
    await warmUp(cells, { flows: Math.max(...params.flows), ms: params.warmUpMs }, context)
    const results = []
    for (const flows of params.flows) {
      const found = await roundsOf(cells, { ...params, flows, what: `linger, ${WAYS[way]}` }, context)
      for (const [i, each] of found.entries()) {
        const scripts = flows === 1 && !each.failure ? await scriptsOf(cells[i], params, context) : undefined
        results.push({ way, ...each, scripts })
      }
    }
    return results
  })

/** How many scripts a pair of one flow takes, as Redis counts them. */
const scriptsOf = async (cell, { ms }, { info }) => {
  const before = await scriptsIn(info)
  const { pairs } = await cell.run({ flows: 1, ms })
  return ((await scriptsIn(info)) - before) / pairs
}

const scriptsIn = async (info) => {
  const calls = await info.calls()
  return (calls.get('evalsha') ?? 0) + (calls.get('eval') ?? 0)
}

/** One flow without pause, beside a process that polls, and beside timers of its own process. */
const besideOne = (context, params) =>
  cellsOf(context, 'beside', { flows: [1] }, async (cells) => {
    const results = []
    for (const cell of cells.filter(({ setting, kind }) => setting === 'empty' && kind === 'holdfast')) {
      const { name, setting } = cell
      await cell.run({ flows: 1, ms: params.warmUpMs })
      const idleLateMs = quantile(await cell.timersBeside({ flows: 0, ms: params.timersMs }), 0.999)
      const lateMs = quantile(await cell.timersBeside({ flows: 1, ms: params.timersMs }), 0.999)
      const lock = `${context.name('linger-beside', setting, name)}:0`
      const [{ pairs, elapsedMs }, polled] = await Promise.all([
        cell.run({ flows: 1, ms: params.pollForMs }),
        poll(context.url, lock, params.pollForMs),
      ])
      results.push({ name, pairsPerSecond: (pairs * 1_000) / elapsedMs, ...polled, lateMs, idleLateMs })
    }
    return results
  })

const poll = async (url, name, ms) => {
  const locks = await LockClient.connect(url)
  const lock = locks.getLock(name)
  const over = performance.now() + ms
  let tries = 0
  let had = 0
  while (performance.now() < over) {
    const hold = await lock.tryAcquire()
    tries += 1
    if (hold) {
      had += 1
      await hold.release()
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  await locks.close()
  return { tries, share: had / tries }
}
