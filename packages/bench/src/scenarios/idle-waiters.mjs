import { figure, thousands } from '../report/table.mjs'
import { sentBy } from '../usage.mjs'
import { patientVariants } from '../variants.mjs'
import { openIn, withWorkers } from '../workers.mjs'

/** Callers of one process that wait for a lock that another process holds; and then lets go. */
export const idleWaiters = {
  id: 'idle-waiters',
  title: 'Idle waiters, and their drain',
  // Over before the holder renews for the first time, at a third of its lease of 30 s: renewals are counted elsewhere.
  full: { waiters: 1_000, idleMs: 4_000, peersIdleMs: 2_000, settleMs: 1_000, drainMs: 5_000 },
  small: { waiters: 20, idleMs: 1_500, settleMs: 100, drainMs: 10_000, onlyOurs: true },

  async run(context, params) {
    const variants = patientVariants().filter(
      ({ name, kind }) => context.isChosen(`idle: ${name}`) && !(params.onlyOurs && kind === 'peer'),
    )
    const results = []
    for (const variant of variants) {
      context.log(`idle waiters: ${variant.name}`)
      const result = await withWorkers(2, lifeOf(variant, context), (workers) =>
        oneOf(workers, variant, params, context),
      )
      if (result) results.push(result)
    }
    return { ...params, results }
  },

  problems: ({ results, onlyOurs, waiters, idleMs }) =>
    results
      .filter(({ kind }) => onlyOurs && kind === 'holdfast')
      .flatMap(({ name, had, commandsPerSecond }) => [
        ...(had === waiters ? [] : [`${name}: ${had} of ${waiters} waiters had the lock`]),
        // A tick of the head each second, or a heartbeat; one more where the window begins with one.
        ...(commandsPerSecond * (idleMs / 1_000) > 2 * (idleMs / 1_000) + 2
          ? [`${name}: ${commandsPerSecond} commands per second while idle`]
          : []),
      ]),

  bars: ({ results, waiters }) =>
    results
      .filter(({ kind }) => kind === 'holdfast')
      .flatMap(({ name, commandsPerSecond, cpuPercent, bytesEach, drainedMs }) => {
        const who = `${thousands(waiters)} idle waiters, ${name}`
        return [
          { text: `${who}: commands/s beside renewals`, value: commandsPerSecond, most: 1 },
          { text: `${who}: % of a CPU`, value: cpuPercent, most: 1 },
          { text: `${who}: bytes each`, value: bytesEach, most: 1_024 },
          { text: `${who}: ms until all have had the lock`, value: drainedMs ?? Infinity, most: 200 },
        ]
      }),

  tables: ({ results, waiters, drainMs }) => [
    {
      title: `${thousands(waiters)} callers of one process wait for one lock`,
      head: [
        'contestant',
        'commands/s',
        '% of a CPU',
        'Redis % of a CPU',
        'bytes each',
        'drained in ms',
        'which commands',
      ],
      rows: results.map((each) => [
        each.name,
        figure(each.commandsPerSecond),
        figure(each.cpuPercent),
        figure(each.redisPercent),
        thousands(each.bytesEach),
        each.drainedMs === null
          ? `${thousands(each.had)} of ${thousands(waiters)} in ${thousands(drainMs)}`
          : thousands(each.drainedMs),
        each.which,
      ]),
    },
  ],

  charts: () => [],
}

const lifeOf = ({ name }, { signal }) => ({ signal, atMostMs: 60_000, what: `idle waiters of ${name}` })

const oneOf = async ([holder, crowd], variant, params, context) => {
  const { waiters, settleMs, drainMs } = params
  const idleMs = variant.kind === 'peer' ? params.peersIdleMs : params.idleMs
  if (!(await openIn([holder, crowd], variant, context))) return undefined
  const name = context.name('idle', variant.name)
  const of = { variant: variant.name, name }
  await holder.call('hold', of)
  const { bytes } = await crowd.call('gather', { ...of, count: waiters, settleMs })
  const before = await sentBy(variant.contestant, context)
  const cpuMicros = await crowd.call('idle', { ms: idleMs })
  const after = await sentBy(variant.contestant, context)
  const counts = Object.entries(after.sent).map(([command, count]) => [command, count - before.sent[command]])
  const commands = counts.reduce((sum, [, count]) => sum + count, 0)
  const redisMicros = after.cpuMicros - before.cpuMicros
  const draining = crowd.call('drained', { atMostMs: drainMs })
  const from = await holder.call('letGo', { name })
  const { had, at } = await draining
  return {
    name: variant.name,
    kind: variant.kind,
    commandsPerSecond: (commands * 1_000) / idleMs,
    which: whichOf(counts),
    cpuPercent: cpuMicros / idleMs / 10,
    redisPercent: redisMicros / idleMs / 10,
    bytesEach: bytes / waiters,
    had,
    drainedMs: had === waiters ? (at - from) / 1e6 : null,
  }
}

/** Counts of commands, as in `5 evalsha, 1 ping`. */
const whichOf = (counts) =>
  counts
    .filter(([, count]) => count > 0)
    .map(([command, count]) => `${thousands(count)} ${command}`)
    .join(', ')
