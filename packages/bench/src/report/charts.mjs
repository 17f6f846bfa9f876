import { COLOURS, dot, line, path, rect, svg, text } from './svg.mjs'
import { figure } from './table.mjs'

const WIDTH = 760
const LEFT = 230
const RIGHT = 80
const TOP = 44
const BAR = 14

const seriesOf = (groups) => [...new Set(groups.flatMap(({ values }) => Object.keys(values)))]

const legend = (names, y) =>
  names.flatMap((name, i) => {
    const x = 16 + (i % 3) * 245
    const at = y + Math.floor(i / 3) * 18
    return [rect(x, at - 10, 12, 12, COLOURS[i % COLOURS.length]), text(x + 18, at, name, { size: 11 })]
  })

/**
 * Horizontal bars.
 *
 * @param {{ file: string, title: string, groups: { name: string, values: Record<string, number> }[] }} chart
 * @returns {{ file: string, title: string, svg: string }}
 */
export const bars = ({ file, title, groups }) => {
  const series = seriesOf(groups)
  const most = Math.max(...groups.flatMap(({ values }) => Object.values(values)), Number.MIN_VALUE)
  const marks = [text(16, 26, title, { size: 15, weight: 'bold' })]
  let y = TOP
  for (const { name, values } of groups) {
    const given = series.filter((each) => values[each] !== undefined)
    marks.push(text(LEFT - 8, y + (given.length * BAR) / 2 + 4, name, { anchor: 'end' }))
    for (const each of given) {
      const width = (values[each] / most) * (WIDTH - LEFT - RIGHT)
      marks.push(rect(LEFT, y, Math.max(1, width), BAR - 3, COLOURS[series.indexOf(each) % COLOURS.length]))
      marks.push(text(LEFT + width + 6, y + BAR - 5, figure(values[each]), { size: 11 }))
      y += BAR
    }
    y += 8
  }
  if (series.length > 1) marks.push(...legend(series, y + 14))
  const rows = series.length > 1 ? Math.ceil(series.length / 3) : 0
  return { file, title, svg: svg(WIDTH, y + 8 + rows * 18 + 6, title, marks) }
}

const decades = (values) => {
  const positive = values.filter((value) => value > 0)
  return [Math.floor(Math.log10(Math.min(...positive))), Math.ceil(Math.log10(Math.max(...positive)))]
}

const axis = (values, from, to) => {
  const [low, high] = decades(values)
  const span = Math.max(1, high - low)
  const at = (value) => from + ((Math.log10(value) - low) / span) * (to - from)
  return { at, ticks: Array.from({ length: span + 1 }, (_, i) => 10 ** (low + i)) }
}

/**
 * Lines over two logarithmic axes.
 *
 * @param {object} chart
 * @param {string} chart.file
 * @param {string} chart.title
 * @param {string} chart.x
 * @param {string} chart.y
 * @param {{ name: string, points: [number, number][] }[]} chart.series
 */
export const lines = ({ file, title, x, y, series }) => {
  const bottom = 340
  const [left, right] = [80, WIDTH - 30]
  const drawn = series
    .map((each) => ({ ...each, points: each.points.filter(([, value]) => value > 0) }))
    .filter(({ points }) => points.length > 0)
  const all = drawn.flatMap(({ points }) => points)
  if (all.length === 0) return { file, title, svg: svg(WIDTH, 60, title, [text(16, 26, title)]) }
  const across = axis(
    all.map(([value]) => value),
    left,
    right,
  )
  const up = axis(
    all.map(([, value]) => value),
    bottom,
    TOP + 10,
  )
  const marks = [
    text(16, 26, title, { size: 15, weight: 'bold' }),
    ...across.ticks.flatMap((tick) => [
      line(across.at(tick), TOP + 10, across.at(tick), bottom),
      text(across.at(tick), bottom + 16, tick.toLocaleString('en-GB'), { anchor: 'middle', size: 11 }),
    ]),
    ...up.ticks.flatMap((tick) => [
      line(left, up.at(tick), right, up.at(tick)),
      text(left - 6, up.at(tick) + 4, tick.toLocaleString('en-GB'), { anchor: 'end', size: 11 }),
    ]),
    text(right, bottom + 32, x, { anchor: 'end', size: 11 }),
    text(16, TOP + 4, y, { size: 11 }),
    ...drawn.flatMap(({ points }, i) => {
      const placed = points.map(([a, b]) => [across.at(a), up.at(b)])
      const colour = COLOURS[i % COLOURS.length]
      return [path(placed, colour), ...placed.map((point) => dot(point, colour))]
    }),
    ...legend(
      drawn.map(({ name }) => name),
      bottom + 54,
    ),
  ]
  return { file, title, svg: svg(WIDTH, bottom + 62 + Math.ceil(drawn.length / 3) * 18, title, marks) }
}
