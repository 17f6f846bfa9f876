// One panel of the picture: a title, a lane for each process, and an axis in milliseconds.

/**
 * @typedef {object} Lane all times in ms since the start of the panel
 * @property {string} label
 * @property {string} detail
 * @property {{ from: number, to: number, kind: 'holds' | 'looks' | 'waits' | 'dead', text?: string }[]} bars
 * @property {{ at: number, kind: 'refused' | 'let-in' }[]} [marks]
 * @property {{ top: number, points: [number, number][] }} [curve]
 *
 * @typedef {object} Panel
 * @property {string} title
 * @property {string} note
 * @property {number} endMs
 * @property {number} [kill] when a process was killed
 * @property {Lane[]} lanes
 */

export const WIDTH = 960
export const MARGIN = 28
const LEFT = 200
const PLOT = WIDTH - LEFT - MARGIN - 16
const HEAD = 52
const BAR = 18
const LANE = 30
const CURVE_LANE = 64
const AXIS = 30

const MARKUP = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
/** @param {unknown} text */
export const escape = (text) => String(text).replace(/[&<>"]/g, (character) => MARKUP[character])

/** @param {number} value */
const round = (value) => Number(value.toFixed(1))

/** @param {Lane} lane */
const heightOf = (lane) => (lane.curve ? CURVE_LANE : LANE)

/** Room for the word above the line that marks the kill. */
const headOf = ({ kill }) => HEAD + (kill === undefined ? 0 : 14)

/** @param {Panel} panel */
export const panelHeight = (panel) =>
  headOf(panel) + panel.lanes.reduce((sum, lane) => sum + heightOf(lane), 0) + AXIS

/** @param {number} endMs */
const ticksUpTo = (endMs) => {
  const least = endMs / 8
  const power = 10 ** Math.floor(Math.log10(least))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= least)
  return Array.from({ length: Math.floor(endMs / step) + 1 }, (_, index) => Math.round(index * step))
}

/**
 * @param {Panel} panel
 * @param {number} top
 */
export const drawPanel = (panel, top) => {
  const scale = PLOT / panel.endMs
  const x = (at) => round(LEFT + Math.min(Math.max(at, 0), panel.endMs) * scale)
  const first = top + headOf(panel)
  const bottom = top + panelHeight(panel) - AXIS
  const lanes = []
  let y = first
  for (const lane of panel.lanes) {
    lanes.push(drawLane(lane, y, x))
    y += heightOf(lane)
  }
  return [
    `<text class="head" x="${MARGIN}" y="${top + 18}">${escape(panel.title)}</text>`,
    `<text class="note" x="${MARGIN}" y="${top + 37}">${escape(panel.note)}</text>`,
    drawAxis(panel.endMs, first, bottom, x),
    ...lanes,
    panel.kill === undefined ? '' : drawKill(x(panel.kill), first, bottom),
  ].join('\n')
}

const drawAxis = (endMs, first, bottom, x) => {
  const ticks = ticksUpTo(endMs).map(
    (at) =>
      `<line class="grid" x1="${x(at)}" x2="${x(at)}" y1="${first}" y2="${bottom + 5}"/>` +
      `<text class="tick" x="${x(at)}" y="${bottom + 19}">${at.toLocaleString('en')} ms</text>`,
  )
  return `${ticks.join('\n')}\n<line class="axis" x1="${LEFT}" x2="${LEFT + PLOT}" y1="${bottom}" y2="${bottom}"/>`
}

const drawLane = (lane, y, x) => {
  const middle = y + heightOf(lane) / 2
  const barTop = middle - BAR / 2
  return [
    `<text class="lane" x="${MARGIN}" y="${middle + 4}">${escape(lane.label)}</text>`,
    lane.curve ? '' : `<text class="pid" x="${LEFT - 10}" y="${middle + 4}">${escape(lane.detail)}</text>`,
    ...lane.bars.map((bar) => drawBar(bar, barTop, x)),
    ...(lane.marks ?? []).map(
      ({ at, kind }) =>
        `<line class="${kind}" x1="${x(at)}" x2="${x(at)}" y1="${barTop + 2}" y2="${barTop + BAR - 2}"/>`,
    ),
    lane.curve ? drawCurve(lane.curve, y, x) : '',
  ].join('\n')
}

const drawBar = ({ from, to, kind, text }, top, x) => {
  // A hair's breadth at least: a buyer who only looks is done in less than a pixel.
  const width = Math.max(round(x(to) - x(from)), 1)
  const bar = `<rect class="${kind}" x="${x(from)}" y="${top}" width="${width}" height="${BAR}"/>`
  if (text === undefined || width < text.length * 8 + 24) return bar
  const centre = round(x(from) + width / 2)
  const plate = text.length * 7.4 + 10
  return (
    `${bar}<rect class="plate" x="${round(centre - plate / 2)}" y="${top + 1}" width="${round(plate)}" height="${BAR - 2}" rx="3"/>` +
    `<text class="inside" x="${centre}" y="${top + BAR - 5}">${escape(text)}</text>`
  )
}

const drawCurve = ({ top, points }, y, x) => {
  const [high, low] = [y + 10, y + CURVE_LANE - 8]
  const at = (value) => round(low - (Math.min(value, top) / top) * (low - high))
  const line = points.map(([time, value]) => `${x(time)},${at(value)}`).join(' ')
  const ends = `${x(points[0][0])},${low} ${line} ${x(points[points.length - 1][0])},${low}`
  return [
    `<text class="pid" x="${LEFT - 10}" y="${high + 4}">${top.toLocaleString('en')} ms</text>`,
    `<text class="pid" x="${LEFT - 10}" y="${low + 4}">0 ms</text>`,
    `<line class="grid" x1="${LEFT}" x2="${LEFT + PLOT}" y1="${high}" y2="${high}"/>`,
    `<polygon class="area" points="${ends}"/>`,
    `<polyline class="curve" points="${line}"/>`,
  ].join('\n')
}

const drawKill = (x, first, bottom) =>
  `<line class="kill" x1="${x}" x2="${x}" y1="${first - 2}" y2="${bottom}"/>` +
  `<text class="kill-text" x="${x}" y="${first - 6}">SIGKILL</text>`
