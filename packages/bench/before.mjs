// Whether a change made Holdfast slower: this tree beside a build of an earlier commit, in turns.
import { loadavg } from 'node:os'
import { resolve } from 'node:path'
import { parseOptions, wholeNumber } from '../../scripts/command-line.mjs'
import { withServerProgram } from '../../scripts/redis/server-program.mjs'
import { table } from '../../scripts/table.mjs'
import { log, runCommand } from './src/command.mjs'
import { builtAt } from './src/before/built-at.mjs'
import { inTurns, LOADS } from './src/before/in-turns.mjs'

const DEFAULTS = { commit: 'HEAD^', rounds: 5, ms: 2_000 }
const USAGE = `Usage: npm run bench:before -- [options]

  --commit C   the earlier commit; npm and git build it in ~/.cache/holdfast   (${DEFAULTS.commit})
  --folder F   instead: a checkout that is built already
  --options O  of this tree's client, in JSON: '{ "foreignLocks": "wait" }'
  --rounds N   measured rounds, after one of warm-up                           (${DEFAULTS.rounds})
  --ms N       of one side with one load in one round                          (${DEFAULTS.ms})
  --help

Each side is a process of its own, and they take turns. A ratio below 0.97 needs its reason (CONTRIBUTING.md).`

const parseArguments = (args) => {
  const { rounds, ms, ...flags } = parseOptions(args, {
    commit: { type: 'string', default: DEFAULTS.commit },
    folder: { type: 'string' },
    options: { type: 'string', default: '{}' },
    rounds: { type: 'string', default: String(DEFAULTS.rounds) },
    ms: { type: 'string', default: String(DEFAULTS.ms) },
    help: { type: 'boolean', default: false },
  })
  return { ...flags, rounds: wholeNumber('rounds', rounds, 99_999), ms: wholeNumber('ms', ms, 99_999) }
}

const earlierOf = async ({ commit, folder }) => {
  if (folder !== undefined) return { called: folder, folder: resolve(folder), options: {} }
  const built = await builtAt(commit)
  return { called: built.commit, folder: built.folder, options: {} }
}

const main = ({ commit, folder, options, ...how }, interrupted) =>
  withServerProgram(async () => {
    const earlier = await earlierOf({ commit, folder })
    const pair = [earlier, { called: 'this tree', options: JSON.parse(options) }]
    const load = loadavg()[0].toFixed(2)
    const rows = await inTurns(pair, LOADS, { ...how, interrupted, log })
    const { called } = earlier
    const head = ['', `${called}: pairs/s`, 'this tree: pairs/s', `of ${called}`, 'CPU of the client']
    console.log(table([head, ...rows]).join('\n'))
    console.log(`Medians of ${how.rounds} rounds; load of the machine at the beginning: ${load}`)
  })

await runCommand(USAGE, parseArguments, main)
