import { MARGIN, WIDTH, drawPanel, escape, panelHeight } from './panel.mjs'

const TOP = 84
const LEGEND_ROW = 24
const LEGEND_COLUMNS = 4
const GAP = 30

const LIGHT = {
  page: '#ffffff',
  text: '#1f2328',
  soft: '#59636e',
  grid: '#e4e7eb',
  axis: '#8c959f',
  holds: '#1f6feb',
  looks: '#9cc4ff',
  waits: '#d9dee3',
  dead: '#d4740c',
  deadBack: '#fbe8d0',
  kill: '#cf222e',
  refused: '#6e7781',
  curve: '#1a7f37',
}
const DARK = {
  page: '#0d1117',
  text: '#e6edf3',
  soft: '#9aa4af',
  grid: '#21272f',
  axis: '#6e7681',
  holds: '#4493f8',
  looks: '#2b68b5',
  waits: '#343c46',
  dead: '#f0883e',
  deadBack: '#3a2410',
  kill: '#ff7b72',
  refused: '#9aa4af',
  curve: '#3fb950',
}

/** @param {typeof LIGHT} colour */
const colours = (colour) => `
  .page, .plate { fill: ${colour.page} }
  .title, .head, .lane, .inside, .key { fill: ${colour.text} }
  .note, .tick, .pid { fill: ${colour.soft} }
  .grid { stroke: ${colour.grid} }
  .axis { stroke: ${colour.axis} }
  .holds { fill: ${colour.holds} }
  .looks { fill: ${colour.looks} }
  .waits { fill: ${colour.waits} }
  .stripe { stroke: ${colour.dead} }
  .stripe-back { fill: ${colour.deadBack} }
  .kill { stroke: ${colour.kill} }
  .let-in { stroke: ${colour.holds} }
  .kill-text { fill: ${colour.kill} }
  .refused { stroke: ${colour.refused} }
  .curve { stroke: ${colour.curve} }
  .area { fill: ${colour.curve} }`

const STYLE = `<style>
  text { font-family: system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif; font-size: 13px }
  .title { font-size: 22px; font-weight: 700 }
  .head { font-size: 15px; font-weight: 600 }
  .tick, .pid, .kill-text { font-size: 12px }
  .tick, .inside, .kill-text { text-anchor: middle }
  .inside { font-size: 12px }
  .kill-text { font-weight: 600 }
  .pid { text-anchor: end }
  .dead { fill: url(#stripes) }
  .stripe { stroke-width: 3 }
  .kill { stroke-width: 2; stroke-dasharray: 4 3 }
  .refused { stroke-width: 2 }
  .let-in { stroke-width: 5 }
  .curve { fill: none; stroke-width: 2; stroke-linejoin: round }
  .area { fill-opacity: 0.15 }${colours(LIGHT)}
  @media (prefers-color-scheme: dark) {${colours(DARK).replaceAll('\n', '\n  ')}
  }
</style>
<defs><pattern id="stripes" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
  <rect class="stripe-back" width="8" height="8"/><line class="stripe" x1="2" x2="2" y1="0" y2="8"/>
</pattern></defs>`

const box = (kind) => (x, y) => `<rect class="${kind}" x="${x}" y="${y - 11}" width="22" height="13"/>`
const line = (kind) => (x, y) =>
  `<line class="${kind}" x1="${x + 11}" x2="${x + 11}" y1="${y - 12}" y2="${y + 3}"/>`
const rising = (x, y) =>
  `<polyline class="curve" points="${x},${y - 9} ${x + 11},${y} ${x + 11},${y - 9} ${x + 22},${y}"/>`

const LEGEND = [
  [box('holds'), 'holds the lock'],
  [box('looks'), 'holds it, finds no stock left'],
  [box('waits'), 'waits'],
  [box('dead'), 'lease of a dead holder'],
  [line('kill'), 'holder killed'],
  [line('refused'), 'tryLock() refused'],
  [line('let-in'), 'tryLock() got in'],
  [rising, 'lease left in Redis'],
]

const drawLegend = () => {
  const column = (WIDTH - 2 * MARGIN) / LEGEND_COLUMNS
  return LEGEND.map(([symbol, text], index) => {
    const x = MARGIN + (index % LEGEND_COLUMNS) * column
    const y = TOP + 12 + Math.floor(index / LEGEND_COLUMNS) * LEGEND_ROW
    return `${symbol(x, y)}<text class="key" x="${x + 30}" y="${y}">${text}</text>`
  }).join('\n')
}

/**
 * The picture as the text of an SVG file that needs nothing else.
 *
 * @param {{ panels: import('./panel.mjs').Panel[], how: string, held: number, claims: number }} run
 */
export const drawPicture = ({ panels, how, held, claims }) => {
  let top = TOP + LEGEND_ROW * 2 + GAP
  const drawn = panels.map((panel) => {
    const text = drawPanel(panel, top)
    top += panelHeight(panel) + GAP
    return text
  })
  const note = `One run of the demo on Redis (${how.slice(0, 60)}). ${held} of ${claims} claims hold. Time runs to the right.`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" width="${WIDTH}" height="${top}" role="img" aria-labelledby="title note">
<title id="title">Who held the lock, and when</title>
<desc id="note">${escape(note)}</desc>
${STYLE}
<rect class="page" width="${WIDTH}" height="${top}"/>
<text class="title" x="${MARGIN}" y="42">Who held the lock, and when</text>
<text class="note" x="${MARGIN}" y="66">${escape(note)}</text>
${drawLegend()}
${drawn.join('\n')}
</svg>
`
}
