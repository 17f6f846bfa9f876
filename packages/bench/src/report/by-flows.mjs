import { measured, speed } from '../comparison.mjs'
import { labelOf } from '../contestants/fastest.mjs'
import { lines } from './charts.mjs'
import { withSlowest } from './table.mjs'

/** The numbers of flows that were measured, the smallest first. */
export const flowsIn = (results) => [...new Set(results.map(({ flows }) => flows))].sort((a, b) => a - b)

const labelsIn = (results) => [...new Set(results.map(labelOf))]

/** Pairs per second of each contestant by flows. */
export const tableByFlows = (title, results) => {
  const counts = flowsIn(results)
  const here = measured(results)
  return {
    title: `${title}: pairs/s by flows, and the slowest round of the median`,
    head: ['contestant', ...counts.map(String)],
    rows: labelsIn(here).map((label) => [
      label,
      ...counts.map((flows) => {
        const found = here.find((each) => labelOf(each) === label && each.flows === flows)
        return found ? withSlowest(found.pairsPerSecond) : ''
      }),
    ]),
  }
}

/** The same as lines. @param {{ file: string, title: string }} chart @param {object[]} results */
export const linesByFlows = ({ file, title }, results) =>
  lines({
    file,
    title,
    x: 'flows',
    y: 'pairs/s',
    series: labelsIn(results).map((label) => ({
      name: label,
      points: measured(results)
        .filter((each) => labelOf(each) === label)
        .map((each) => [each.flows, speed(each)])
        .sort(([a], [b]) => a - b),
    })),
  })
