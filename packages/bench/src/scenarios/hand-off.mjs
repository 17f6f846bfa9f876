import { performance } from 'node:perf_hooks'
import { lines } from '../report/charts.mjs'
import { figure, thousands } from '../report/table.mjs'
import { usageOf } from '../usage.mjs'
import { patientVariants } from '../variants.mjs'
import { openIn, withWorkers } from '../workers.mjs'

/** N callers of one process wait for one lock, and get it one after the other: what each hand-off costs as N grows. */
export const handOff = {
  id: 'hand-off',
  title: 'Hand-off: how its cost grows with the waiters',
  full: { owners: [10, 100, 1_000, 10_000], peersUpTo: 1_000, settleMs: 500, ms: 1_000 },
  small: { owners: [10], peersUpTo: 0, settleMs: 50, ms: 5_000 },

  async run(context, params) {
    const results = []
    for (const owners of params.owners) {
      for (const variant of patientVariants()) {
        if (!context.isChosen(`hand-off: ${variant.name}`)) continue
        if (variant.kind === 'peer' && owners > params.peersUpTo) continue
        context.log(`hand-off: ${owners} owners, ${variant.name}`)
        const use = (workers) => oneOf(workers, variant, { ...params, owners }, context)
        const result = await withWorkers(2, lifeOf(variant, context), use)
        if (result) results.push(result)
      }
    }
    return { owners: params.owners, peersUpTo: params.peersUpTo, results }
  },

  problems: ({ results, peersUpTo }) =>
    results.flatMap(({ name, kind, owners, handOffs, commands }) => [
      ...(handOffs > 0 ? [] : [`${name}: nobody of ${owners} had the lock`]),
      // An acquire and a release each, and what a turn of the line and the subscription cost.
      ...(peersUpTo === 0 && kind === 'holdfast' && commands > 4
        ? [`${name}: ${commands} commands per hand-off, ${owners} owners`]
        : []),
    ]),

  bars({ results, owners }) {
    const [fewest, most] = [owners[0], owners.at(-1)]
    return [...new Set(results.filter(({ kind }) => kind === 'holdfast').map(({ name }) => name))].flatMap(
      (name) => {
        const of = (count) => results.find((each) => each.name === name && each.owners === count)
        return of(fewest) && of(most)
          ? [
              {
                text: `commands of a hand-off, ${name}, the most of any number of owners`,
                value: Math.max(...owners.map((count) => of(count)?.commands ?? 0)),
                most: 1.1,
              },
              {
                text: `Redis CPU of a hand-off, ${name}: ${thousands(most)} owners, of ${fewest}`,
                value: of(most).redisMicros / of(fewest).redisMicros,
              },
            ]
          : []
      },
    )
  },

  tables({ results, owners }) {
    const names = [...new Set(results.map(({ name }) => name))]
    const cells = (of, name) =>
      owners.map((count) => {
        const found = results.find((each) => each.name === name && each.owners === count)
        return found ? (found.handOffs > 0 ? figure(found[of]) : 'none') : '–'
      })
    const head = (what) => [what, ...owners.map((count) => `${thousands(count)} owners`)]
    return [
      ['Commands per hand-off', 'commands'],
      ['Redis CPU per hand-off, µs', 'redisMicros'],
      ['Hand-offs per second', 'perSecond'],
    ].map(([title, of]) => ({
      title,
      head: head('contestant'),
      rows: names.map((name) => [name, ...cells(of, name)]),
    }))
  },

  charts: ({ results }) => [
    lines({
      file: 'hand-off.svg',
      title: 'Hand-off: Redis CPU, µs, by the number of waiting owners',
      x: 'owners that wait',
      y: 'µs',
      series: [...new Set(results.map(({ name }) => name))].map((name) => ({
        name,
        points: results
          .filter((each) => each.name === name && each.handOffs > 0)
          .map(({ owners, redisMicros }) => [owners, redisMicros]),
      })),
    }),
  ],
}

const lifeOf = ({ name }, { signal }) => ({ signal, atMostMs: 60_000, what: `hand-offs of ${name}` })

const oneOf = async ([holder, crowd], variant, { owners, settleMs, ms }, context) => {
  if (!(await openIn([holder, crowd], variant, context))) return undefined
  const name = context.name('hand-off', variant.name, String(owners))
  const of = { variant: variant.name, name }
  await holder.call('hold', of)
  await crowd.call('gather', { ...of, count: owners, settleMs: settleMs + owners / 5 })
  const before = await usageOf(variant.contestant, context)
  const startedAt = performance.now()
  const draining = crowd.call('drained', { atMostMs: ms })
  await holder.call('letGo', { name })
  const { had } = await draining
  const elapsedMs = performance.now() - startedAt
  const after = await usageOf(variant.contestant, context)
  const each = Math.max(1, had)
  return {
    name: variant.name,
    kind: variant.kind,
    owners,
    handOffs: had,
    commands: (after.commands - before.commands) / each,
    redisMicros: (after.cpuMicros - before.cpuMicros) / each,
    perSecond: (had * 1_000) / elapsedMs,
  }
}
