import { table } from '../table.mjs'
import { sum } from './compare.mjs'

/** @param {Awaited<ReturnType<typeof import('./run.mjs').run>>} result */
export const report = ({ looks, killed, faults, problems }) => {
  // The last look at each process has all of the earlier ones in it.
  const last = [...new Map(looks.map((look) => [look.name, look])).values()]
  const total = (countsOf) => last.reduce((all, look) => all + countsOf(look), 0)
  const calls = (test) => (look) =>
    sum(Object.fromEntries(Object.entries(look.counted.calls).filter(([key]) => test(key))))
  const exportedCalls = (test) => (look) =>
    sum(Object.fromEntries(Object.entries(look.metrics.calls).filter(([key]) => test(key))))
  const ofCalls = (what, test) => [what, total(calls(test)), total(exportedCalls(test))]
  const rows = [
    ofCalls('acquired by a command', (key) => key.endsWith('acquired remote')),
    ofCalls('acquired by re-entry', (key) => key.endsWith('acquired reentrant')),
    ofCalls('timeout', (key) => key.endsWith('timeout')),
    ofCalls('aborted', (key) => key.endsWith('aborted')),
    ofCalls('error', (key) => key.includes(' error ')),
    ['losses', total((look) => sum(look.counted.losses)), total((look) => sum(look.metrics.losses))],
  ]
  return [
    ...table([['what', 'counted by callers', 'exported'], ...rows.map((row) => row.map(String))]),
    '',
    `${looks.length} looks at ${last.length} processes, ${killed} of which were killed; ${faults} faults; ` +
      `${total((look) => look.metrics.passed)} passed on, ${total((look) => look.metrics.granted)} granted, ` +
      `${total((look) => sum(look.metrics.renewals))} renewals, ${total((look) => look.metrics.waits)} waits, ` +
      `${total((look) => look.metrics.handOffs)} hand-offs, ${total((look) => look.metrics.holds)} holds`,
    ...problems.slice(0, 20).map((problem) => `NOT: ${problem}`),
    problems.length === 0 ? 'all as counted' : `${problems.length} differences`,
  ].join('\n')
}
