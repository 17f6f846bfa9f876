// Where few flows lose their time: writes, replies and sleeps of each contestant, and what Redis's event loop does meanwhile.
import { parseOptions, requireKnown, wholeNumber } from '../../scripts/command-line.mjs'
import { table } from '../../scripts/table.mjs'
import { withCells } from './src/cells.mjs'
import { log, runCommand, withRedis } from './src/command.mjs'
import { Context } from './src/context.mjs'
import { SETTINGS } from './src/contestants/index.mjs'
import { warmUp } from './src/measure.mjs'
import { continueOn, MAJORS, REFERENCE } from './src/reference-node.mjs'
import { figuresOf, HEAD, rowOf, timeline } from './src/trace/figures.mjs'

const DEFAULTS = { flows: 10, ms: 200, show: 0 }
const WARM_UP_MS = 1_000

const USAGE = `Usage: npm run bench:trace -- [options]

  --flows N            flows, each with a lock of its own            (${DEFAULTS.flows})
  --ms N               how long each contestant is traced            (${DEFAULTS.ms})
  --show N             prints N events from the middle of each trace (${DEFAULTS.show})
  --contestants TEXTS  only those that have one of these texts, separated by commas, in their name
  --node MAJOR         the Node that all of it runs on: ${MAJORS.join(', ')} (${REFERENCE})
  --help

A write is one call of the socket, and sleeps are those of the client's event loop. Recording costs each event a
microsecond or two: the figures are for reading beside each other, and npm run bench measures.`

const parseArguments = (args) => {
  const text = { type: 'string' }
  const values = parseOptions(args, {
    ...{ flows: text, ms: text, show: text, contestants: text, node: text },
    help: { type: 'boolean', default: false },
  })
  const { node = REFERENCE } = values
  requireKnown('node', [node], MAJORS)
  const count = (name) =>
    values[name] === undefined ? DEFAULTS[name] : wholeNumber(name, values[name], 99_999)
  return {
    ...{ help: values.help, node },
    contestants: (values.contestants ?? '').toLowerCase().split(',').filter(Boolean),
    ...Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, count(name)])),
  }
}

/** Commands of the server while `work` ran. */
const serverDuring = async ({ info }, work) => {
  const [reads, micros] = [await info.reads(), await info.cpuMicros()]
  const result = await work()
  return { result, micros: (await info.cpuMicros()) - micros, reads: (await info.reads()) - reads }
}

const traced = (context, { flows, ms, show }) => {
  const settings = SETTINGS.filter(({ id }) => id === 'off')
  return withCells(context, { scenario: 'trace', settings, flows, atMostMs: 300_000 }, async (cells) => {
    await warmUp(cells, { flows, ms: WARM_UP_MS }, context)
    const rows = [HEAD]
    const timelines = []
    for (const cell of cells) {
      context.signal.throwIfAborted()
      await cell.run({ flows, ms })
      const server = await serverDuring(context, () => cell.trace({ flows, ms }))
      const { result: trace } = server
      rows.push(rowOf(cell.name, figuresOf(trace, server)))
      if (show > 0) timelines.push(`\n${cell.name}`, ...timeline(trace.events, show))
    }
    return [...table(rows), ...timelines]
  })
}

const main = async (wanted, interrupted) => {
  await continueOn(wanted.node, log)
  const lines = await withRedis(interrupted, (how) =>
    traced(new Context({ ...how, contestants: wanted.contestants }), wanted),
  )
  console.log(lines.join('\n'))
}

await runCommand(USAGE, parseArguments, main)
