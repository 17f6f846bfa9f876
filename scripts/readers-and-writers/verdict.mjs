import { checkHistory, formatViolation } from '@holdfast/testing'
import { mostReaders } from './most-readers.mjs'
import { LIMIT_MS } from './settings.mjs'

const LIMITS = {
  liveness: { deadlineMs: LIMIT_MS, graceMs: 0 },
  handOff: { limitMs: 1_000, calmMs: 0 },
}
const MOST_SHOWN = 5

/**
 * @param {object[]} events
 * @param {Record<'mixed' | 'stream', { fromMs: number, operations: number, scripts: number, seconds: number }>} phases
 * @returns {{ text: string, isGood: boolean }}
 */
export const verdict = (events, { mixed, stream }) => {
  const { violations } = checkHistory(events, LIMITS)
  const most = mostReaders(events)
  const waits = waitsOf(events)
  const before = waits.filter(({ atMs }) => atMs < stream.fromMs)
  const during = waits.filter(({ atMs }) => atMs >= stream.fromMs)
  const isProof = most.readers > 1
  const lines = [
    `${phase(mixed)}: ${count(before, 'shared')} reads, ${count(before, 'exclusive')} writes`,
    `  longest wait of a reader ${longest(before, 'shared')} ms, of a writer ${longest(before, 'exclusive')} ms`,
    `${phase(stream)}: a stream of ${count(during, 'shared')} reads, ${count(during, 'exclusive')} writes among them`,
    `  longest wait of a reader ${longest(during, 'shared')} ms, of a writer ${longest(during, 'exclusive')} ms`,
    `up to ${most.readers} readers of ${most.processes} processes inside at once`,
    ...violations.slice(0, MOST_SHOWN).map((each) => `\n${formatViolation(each)}`),
    ...(isProof ? [] : ['No two readers were ever inside at once: this proves nothing.']),
    violations.length === 0 ? 'No violation.' : `\n${violations.length} violations.`,
  ]
  return { text: lines.join('\n'), isGood: isProof && violations.length === 0 }
}

const phase = ({ operations, scripts, seconds }) =>
  `${operations} operations in ${seconds.toFixed(1)} s, ${(scripts / operations).toFixed(2)} scripts each`

const count = (waits, wanted) => waits.filter(({ mode }) => mode === wanted).length

const longest = (waits, wanted) =>
  Math.round(Math.max(0, ...waits.filter(({ mode }) => mode === wanted).map(({ ms }) => ms)))

/** Of each call that was served: when it was made, and how long it took. */
const waitsOf = (events) => {
  const begun = new Map()
  const waits = []
  for (const { kind, attempt, mode, atMs } of events) {
    if (kind === 'acquire-begin') begun.set(attempt, { mode, atMs })
    else if (kind === 'acquired') waits.push({ ...begun.get(attempt), ms: atMs - begun.get(attempt).atMs })
  }
  return waits
}
