import { table } from '../table.mjs'

const HEAD = ['on a conflict', 'jobs/s', 'two at once', 'starts per job', 'attempts lost', 'overtaken']

/** @param {ReturnType<typeof import('./verdict.mjs').verdict>[]} results */
export const report = (results) => {
  const rows = results.map(({ name, perSecond, overlaps, starts, failures, overtaken }) => [
    name,
    perSecond.toFixed(0),
    String(overlaps),
    starts.toFixed(2),
    String(failures),
    `${(overtaken * 100).toFixed(0)} %`,
  ])
  const problems = results.flatMap((result) => result.problems.map((problem) => `${result.name}: ${problem}`))
  return [
    ...table([HEAD, ...rows]),
    ...problems,
    problems.length === 0 ? 'All as it should be.' : 'NOT so.',
  ].join('\n')
}
