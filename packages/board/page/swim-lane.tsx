import { useState } from 'preact/hooks'
import type { Segment, Wait } from './wire.js'
import { counted, spoken } from './words.js'

const SPANS = [10_000, 60_000, 300_000] as const
const MOST_LANES = 12
const MOST_TOLD = 20
const [WIDTH, LABELS, LANE, AXIS] = [1_000, 220, 30, 22]

/** The part of a client id that people gave it. */
const laneName = (lane: string): string => lane.replace(/~[\w-]{21}$/, '')

/** Who held the lock when: a lane for each client, holds as bars, waits as thin lines below them. */
export function SwimLane({
  segments,
  waits,
  now,
}: {
  segments: readonly Segment[]
  waits: readonly Wait[]
  now: number
}) {
  const [spanMs, setSpan] = useState<number>(SPANS[1])
  const from = now - spanMs
  const inSight = ({ to }: { to: number | null }): boolean => to === null || to > from
  const holds = segments.filter(inSight)
  const waiting = waits.filter(inSight)
  // The latest clients, each in the lane that it had first.
  const lanes = [
    ...new Set([...holds, ...waiting].sort((a, b) => a.from - b.from).map(({ lane }) => lane)),
  ].slice(-MOST_LANES)
  const x = (at: number): number => LABELS + (Math.max(0, at - from) / spanMs) * (WIDTH - LABELS)
  const height = Math.max(1, lanes.length) * LANE + AXIS
  const latest = [...holds].sort((a, b) => b.from - a.from).slice(0, MOST_TOLD)
  return (
    <figure class="swim">
      <div class="spans" role="group" aria-label="Time shown">
        {SPANS.map((span) => (
          <button key={span} type="button" aria-pressed={span === spanMs} onClick={() => setSpan(span)}>
            {spoken(span)}
          </button>
        ))}
      </div>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={summary(holds, lanes.length, spanMs)}>
        {lanes.map((lane, i) => (
          <g key={lane} transform={`translate(0 ${i * LANE})`}>
            <rect class={i % 2 === 0 ? 'lane' : 'lane odd'} width={WIDTH} height={LANE} />
            <text x={8} y={LANE / 2 + 4}>
              {cut(laneName(lane))}
              <title>{lane}</title>
            </text>
            {holds
              .filter((each) => each.lane === lane)
              .map((each) => (
                <rect
                  key={`${each.owner} ${each.from}`}
                  class={`hold ${each.end}`}
                  x={x(each.from)}
                  y={5}
                  width={Math.max(1.5, x(each.to ?? now) - x(each.from))}
                  height={LANE - 15}
                  rx={2}
                >
                  <title>{inWords(each, now)}</title>
                </rect>
              ))}
            {waiting
              .filter((each) => each.lane === lane)
              .map((each, k) => (
                <rect
                  key={k}
                  class="wait"
                  x={x(each.from)}
                  y={LANE - 7}
                  width={Math.max(1.5, x(each.to ?? now) - x(each.from))}
                  height={3}
                />
              ))}
          </g>
        ))}
        <text class="axis" x={LABELS} y={height - 6}>
          {spoken(spanMs)} ago
        </text>
        <text class="axis now" x={WIDTH - 4} y={height - 6}>
          now
        </text>
      </svg>
      <figcaption class="legend">
        <span class="key hold">holds</span>
        <span class="key lost">lost</span>
        <span class="key wait">waits</span>
      </figcaption>
      <details>
        <summary>As a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Client</th>
              <th scope="col">Owner</th>
              <th scope="col">Began</th>
              <th scope="col">Held for</th>
              <th scope="col">Ended</th>
            </tr>
          </thead>
          <tbody>
            {latest.map((each) => (
              <tr key={`${each.owner} ${each.from}`}>
                <td>{laneName(each.lane)}</td>
                <td>
                  <code>{each.owner}</code>
                </td>
                <td>{spoken(now - each.from)} ago</td>
                <td>{spoken((each.to ?? now) - each.from)}</td>
                <td>{endOf(each)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  )
}

function endOf({ end, reason }: Segment): string {
  return end === '' ? 'holds it' : reason === '' ? end : `${end} (${reason})`
}

function inWords(segment: Segment, now: number): string {
  const { owner, from, to } = segment
  return `${owner}: ${spoken((to ?? now) - from)}, ${endOf(segment)}`
}

function summary(holds: readonly Segment[], lanes: number, spanMs: number): string {
  const lost = holds.filter(({ end }) => end === 'lost').length
  return `${counted(holds.length, 'hold')} of ${counted(lanes, 'client')} in the last ${spoken(spanMs)}, ${lost} lost`
}

const LONGEST_LABEL = 28
function cut(text: string): string {
  return text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text
}
