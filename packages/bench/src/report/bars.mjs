import { figure } from './table.mjs'

const isMet = ({ value, least = -Infinity, most = Infinity }) => value >= least && value <= most

const limitOf = ({ least, most }) =>
  least === undefined ? `at most ${figure(most)}` : `at least ${figure(least)}`

/** `met`, `not met`, or `told` where nothing was asked for. @param {import('../scenarios/index.mjs').Bar[]} bars */
export const barRows = (bars) =>
  bars.map((bar) => {
    const told = bar.least === undefined && bar.most === undefined
    const verdict = told ? '' : isMet(bar) ? 'met' : 'not met'
    return [
      bar.text,
      Number.isFinite(bar.value) ? figure(bar.value) : 'never',
      told ? '' : limitOf(bar),
      verdict,
    ]
  })

export const BARS_HEAD = ['bar', 'measured', 'asked for', '']
