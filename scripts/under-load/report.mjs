import { table } from '../table.mjs'

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
const ms = (value) => (value === undefined ? '–' : `${Math.round(value)} ms`)

/** @param {{ scenarios: object[], renewals: object | null }} results */
export const report = ({ scenarios, renewals }) => {
  const rows = scenarios.map(({ name, promise, againMs, wrong, lost, stuck }) => [
    name,
    ms(median(againMs)),
    ms(againMs.length > 0 ? Math.max(...againMs) : undefined),
    `${lost}`,
    `${stuck}`,
    `${wrong}`,
    promise,
  ])
  const head = ['', 'works again', 'at most', 'lost', 'stuck', 'wrong grants', 'promised']
  const lines = rows.length > 0 ? table([head, ...rows]) : []
  return [...lines, ...(renewals ? ['', ...ofRenewals(renewals)] : [])].join('\n')
}

const ofRenewals = ({ held, apart, tagged }) => {
  const row = (what, { scripts, serverMs, longestMs, lost }) => [
    what,
    `${scripts}`,
    ms(serverMs),
    `${longestMs.toFixed(1)} ms`,
    `${lost}`,
  ]
  return table([
    [`${held} held locks, one renewal of all`, 'scripts', 'server time', 'longest stall', 'lost'],
    row('names of their own', apart),
    row('a hundred hash tags', tagged),
  ])
}
