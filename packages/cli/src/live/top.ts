import { observe } from '@holdfast/core/observe'
import { spoken } from '../duration.js'
import { EXIT } from '../exit-code.js'
import type { Looking } from '../locks/commands.js'
import { matcherOf } from '../locks/finder.js'
import { holderText, shownLock } from '../locks/shown-lock.js'
import { printable, type Output } from '../terminal.js'
import { lookAgainAndAgain } from './looks.js'
import { HoldTimes, type Ranked, type Ranking } from './ranking.js'
import { SpreadSearch } from './spread-search.js'

export interface TopOptions {
  readonly pattern: string
  /** Rows of each ranking. */
  readonly rows: number
  readonly everyMs: number
  readonly forMs: number | undefined
}

const TO_THE_START = '\u001B[H'
const REST_OF_LINE = '\u001B[K'
const REST_OF_SCREEN = '\u001B[J'
const SCREEN_APART = '\u001B[?1049h\u001B[?25l'
const SCREEN_BACK = '\u001B[?25h\u001B[?1049l'

/** `top`: rankings of the locks that are held, drawn anew at each look, until it is interrupted. */
export async function top(looking: Looking, { pattern, rows, everyMs, forMs }: TopOptions): Promise<number> {
  const { locks, output, signal } = looking
  const now = (): number => performance.now()
  const search = new SpreadSearch(observe(locks), matcherOf(pattern), now)
  const times = new HoldTimes(now)
  let ranking: Ranking = times.rank([], rows)
  const show = (trouble: string | null): void =>
    draw(ranking, { output, trouble, searched: search.isComplete ? null : search.keysSearched })
  const look = async (): Promise<void> => {
    await search.goOn(namesIn(ranking))
    ranking = times.rank(search.found, rows)
    show(null)
  }
  if (output.isWatched) {
    output.raw(SCREEN_APART)
  }
  try {
    await lookAgainAndAgain({ everyMs, forMs, signal }, look, (trouble) => {
      // When it is over, the look that succeeded has been shown.
      if (trouble !== null) {
        show(trouble)
      }
    })
  } finally {
    if (output.isWatched) {
      output.raw(SCREEN_BACK)
    }
  }
  return EXIT.done
}

function namesIn({ contended, longestHeld, longestWaits }: Ranking): string[] {
  return [...contended, ...longestHeld, ...longestWaits].map(({ lock }) => lock.name)
}

/** Figures beside the rankings. */
interface Drawing {
  readonly output: Output
  /** Why the last look failed; the rankings are of the one before. */
  readonly trouble: string | null
  /** Keys so far; null: all of them, at least once. */
  readonly searched: number | null
}

function draw(ranking: Ranking, drawing: Drawing): void {
  const { output, trouble, searched } = drawing
  const at = new Date()
  if (output.json) {
    output.value({ ...jsonOf(ranking, at), complete: searched === null, trouble }, 0)
    return
  }
  const lines = linesOf(ranking, drawing, at)
  if (!output.isWatched) {
    lines.forEach((line) => output.line(line))
    return
  }
  const drawn = lines.slice(0, output.rows - 1).map((line) => `${line}${REST_OF_LINE}\n`)
  output.raw(`${TO_THE_START}${drawn.join('')}${REST_OF_SCREEN}`)
}

function jsonOf({ held, waiting, contended, longestHeld, longestWaits }: Ranking, at: Date): object {
  const all = (list: readonly Ranked[]): object[] =>
    list.map(({ lock, heldMs, waitedMs }) => ({
      ...shownLock(lock),
      heldMs: Math.round(heldMs),
      longestWaitMs: Math.round(waitedMs),
    }))
  return {
    ...{ at: at.toISOString(), held, waiting },
    ...{ contended: all(contended), longestHeld: all(longestHeld), longestWaits: all(longestWaits) },
  }
}

function linesOf(
  { held, waiting, contended, longestHeld, longestWaits }: Ranking,
  { output, trouble, searched }: Drawing,
  at: Date,
): string[] {
  const search = searched === null ? '' : `, ${searched} keys searched so far`
  const figures = `${held} held, ${waiting} waiting${search}`
  return [
    `${output.style('bold', 'holdfast top')}  ${at.toLocaleTimeString()}  ${figures}`,
    ...(trouble === null ? [] : [output.style('red', printable(trouble))]),
    ...section('Most contended', contended, ({ lock }) => `${lock.waiting} wait`, output),
    ...section('Longest held', longestHeld, ({ heldMs }) => spoken(heldMs), output),
    ...section('Longest waits', longestWaits, ({ waitedMs }) => spoken(waitedMs), output),
  ]
}

const FIGURE_WIDTH = 12

function section(
  title: string,
  list: readonly Ranked[],
  figure: (each: Ranked) => string,
  output: Output,
): string[] {
  const width = Math.max(10, output.columns - FIGURE_WIDTH - 2)
  const rows = list.map((each) => {
    const shown = shownLock(each.lock)
    const [holder] = shown.holders
    // More often than there are waiters: it is not served in turn.
    const mark = shown.overtaken > shown.waiting ? `first waiter overtaken ${shown.overtaken} times  ` : ''
    const text = `${printable(shown.name)}  ${mark}${holder ? holderText(holder) : ''}`
    const cut = text.length > width ? `${text.slice(0, width - 1)}…` : text
    return `${output.style('yellow', figure(each).padStart(FIGURE_WIDTH))}  ${cut}`
  })
  return ['', output.style('dim', title), ...(rows.length > 0 ? rows : [`${' '.repeat(FIGURE_WIDTH)}  none`])]
}
