/** A stretch of time in one lane, in ms of one clock. */
export interface Bar {
  readonly kind: 'holds' | 'overlaps' | 'waits' | 'dead'
  readonly from: number
  readonly to: number
}

export interface Lane {
  readonly name: string
  readonly bars: readonly Bar[]
}

export interface Panel {
  readonly title: string
  readonly lanes: readonly Lane[]
  /** When a process of the first lane was killed. */
  readonly killedAt?: number
}

const WIDTH = 880
const MARGIN = 20
const LABELS = 96
const LANE = 30
const BAR = 18
const PANEL_HEAD = 34
const GAP = 18
const LEGEND = 44

const THEMES = {
  light: {
    page: '#ffffff',
    text: '#1f2328',
    rail: '#e4e7eb',
    holds: '#1f6feb',
    waits: '#c9d1d9',
    bad: '#cf222e',
  },
  dark: {
    page: '#0d1117',
    text: '#e6edf3',
    rail: '#21272f',
    holds: '#4493f8',
    waits: '#3d444d',
    bad: '#ff7b72',
  },
}

const themed = ({ page, text, rail, holds, waits, bad }: (typeof THEMES)['light']): string =>
  [
    `.page{fill:${page}}`,
    `text{fill:${text}}`,
    `.rail{fill:${rail}}`,
    `.holds{fill:${holds}}`,
    `.waits{fill:${waits}}`,
    `.overlaps{fill:${bad}}`,
    `.dead{fill:none;stroke:${bad};stroke-dasharray:4 3}`,
    `.kill{stroke:${bad};stroke-width:3}`,
  ].join('')

const STYLE = `<style>text{font:13px system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}.head{font-weight:600;font-size:15px}${themed(THEMES.light)}@media (prefers-color-scheme:dark){${themed(THEMES.dark)}}</style>`

/** Each kind of bar, what it means, and where its text begins. */
const LEGENDS: readonly (readonly [Bar['kind'], string, number])[] = [
  ['holds', 'works', 0],
  ['waits', 'waits, sends nothing', 110],
  ['overlaps', 'works beside another', 310],
  ['dead', 'lease of a dead holder', 510],
]

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const rounded = (value: number): string => value.toFixed(1)

function panelHeight({ lanes }: Panel): number {
  return PANEL_HEAD + lanes.length * LANE
}

function drawPanel(panel: Panel, top: number): string {
  const ends = panel.lanes.flatMap(({ bars }) => bars.flatMap(({ from, to }) => [from, to]))
  const [start, end] = [Math.min(...ends), Math.max(...ends)]
  const left = MARGIN + LABELS
  const width = WIDTH - MARGIN - left
  const x = (at: number): number => left + (width * (at - start)) / (end - start)
  const rect = (kind: string, from: number, to: number, y: number): string =>
    `<rect class="${kind}" x="${rounded(from)}" y="${y}" width="${rounded(Math.max(to - from, 1.5))}" height="${BAR}" rx="2"/>`

  const lanes = panel.lanes.map(({ name, bars }, i) => {
    const y = top + PANEL_HEAD + i * LANE
    const drawn = bars.map(({ kind, from, to }) => rect(kind, x(from), x(to), y))
    return [
      `<text x="${MARGIN}" y="${y + 14}">${escaped(name)}</text>`,
      rect('rail', left, WIDTH - MARGIN, y),
      ...drawn,
    ].join('\n')
  })
  const kill = panel.killedAt === undefined ? '' : killMark(x(panel.killedAt), top + PANEL_HEAD)
  return [
    `<text class="head" x="${MARGIN}" y="${top + 18}">${escaped(panel.title)}</text>`,
    ...lanes,
    kill,
  ].join('\n')
}

/** A cross over the lane of the killed process. */
function killMark(x: number, y: number): string {
  const [left, right] = [rounded(x - 7), rounded(x + 7)]
  const [top, bottom] = [y + 2, y + BAR - 2]
  return `<path class="kill" d="M${left} ${top}L${right} ${bottom}M${right} ${top}L${left} ${bottom}"/>`
}

/** Who works when, as the text of an SVG file that needs nothing else; for light and dark pages. */
export function drawHolders(title: string, panels: readonly Panel[]): string {
  let top = MARGIN
  const drawn = panels.map((panel) => {
    const text = drawPanel(panel, top)
    top += panelHeight(panel) + GAP
    return text
  })
  const legend = LEGENDS.map(([kind, text, left]) => {
    const x = MARGIN + LABELS + left
    return `<rect class="${kind}" x="${x}" y="${top + 6}" width="24" height="12" rx="2"/><text x="${x + 32}" y="${top + 17}">${text}</text>`
  })
  const height = top + LEGEND
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">
<title id="title">${escaped(title)}</title>
${STYLE}
<rect class="page" width="${WIDTH}" height="${height}" rx="6"/>
${drawn.join('\n')}
${legend.join('\n')}
</svg>
`
}
