import { figure, markdown } from './table.mjs'

/** The libraries of the README's table, by the names that the scenarios have for them. */
const LIBRARIES = ['Holdfast withLock', 'redlock 5', 'redis-semaphore Mutex', 'redlock-universal']
const HEAD = ['Holdfast', 'redlock 5', 'redis-semaphore 5', 'redlock-universal 0.7']

const contended = ({ processes, holdMs }) => processes === 4 && holdMs === 0
const sixNear = ({ setting: { contenders, holdMs, far } }) => contenders === 6 && holdMs === 200 && far === 0
const uncontended = (flows) => (each) => each.setting === 'off' && each.flows === flows

/** Each row: what it says, of which scenario, which of its results, and their figure. */
const ROWS = [
  ['lock and unlock, 1 caller: per second', 'uncontended', uncontended(1), pairsPerSecond],
  ['10 callers, each with a lock of its own', 'uncontended', uncontended(10), pairsPerSecond],
  ['100 callers, each with a lock of its own', 'uncontended', uncontended(100), pairsPerSecond],
  ['one lock for 32 callers in 4 processes: per second', 'contended', contended, pairsPerSecond],
  ['the longest wait of these, ms', 'contended', contended, ({ longestWaitMs }) => longestWaitMs.median],
  ['from a release until a waiter elsewhere has the lock, ms', 'wake-up', () => true, ({ p50 }) => p50],
  ['six callers that hold it for 200 ms: the longest wait, ms', 'shares', sixNear, ({ longest }) => longest],
  [
    '1,000 waiting callers: commands per second',
    'idle-waiters',
    () => true,
    ({ commandsPerSecond }) => commandsPerSecond,
  ],
]

function pairsPerSecond(result) {
  return result.pairsPerSecond.median
}

/**
 * The README's table: everybody at their defaults, medians of one run.
 *
 * @param {object} run what `--json` has written; of all scenarios that the table names
 */
export const inShort = ({ machine, redis, scenarios }) => {
  const rows = ROWS.map(([text, scenario, isMeant, figureOf]) => {
    const results = scenarios[scenario]?.results.filter(isMeant)
    if (results === undefined) throw new Error(`The table of the README needs the scenario ${scenario}.`)
    const found = LIBRARIES.map((library) => results.find(({ name }) => name === library))
    return [text, ...found.map((result) => (result === undefined ? '–' : figure(figureOf(result))))]
  })
  const where = `Medians of one run: Node ${machine.node.replace('v', '')}, ${redis}, ${machine.cpus} cores (${machine.cpu}).`
  return `${markdown({ head: ['measured', ...HEAD], rows })}\n\n${where}`
}
