import { expect, it } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { drawHolders, type Bar, type Lane, type Panel } from './support/holder-picture.js'
import { useHarness } from './support/harness.js'
import { useLockWorkers } from './support/lock-workers.js'
import { root } from './support/markdown.js'

const harness = useHarness()
const start = useLockWorkers()

const NAMES = ['process A', 'process B', 'process C']
const LEASE_MS = 1_500
const WORK_MS = 60
const ROUNDS = 3

/** One piece of work of one process, in ms of the clock that all processes share. */
interface Turn {
  readonly asked: number
  readonly from: number
  readonly to: number
}

const overlap = (one: Turn, other: Turn): boolean => one.from < other.to && other.from < one.to

function overlapping(turns: readonly Turn[]): Turn[] {
  return turns.filter((turn) => turns.some((other) => other !== turn && overlap(turn, other)))
}

function lanesOf(processes: readonly (readonly Turn[])[]): Lane[] {
  const beside = new Set(overlapping(processes.flat()))
  return processes.map((turns, i) => ({
    name: NAMES[i]!,
    bars: turns.flatMap((turn): Bar[] => [
      { kind: 'waits', from: turn.asked, to: turn.from },
      { kind: beside.has(turn) ? 'overlaps' : 'holds', from: turn.from, to: turn.to },
    ]),
  }))
}

it('the picture of the README: without a lock, with one, and through a crash', async () => {
  const workers = await Promise.all(NAMES.map(() => start({ HOLDFAST_TEST_WATCHDOG: String(LEASE_MS) })))
  const turnsOf = (lockName: string | null, processes = workers): Promise<Turn[][]> =>
    Promise.all(
      processes.map(
        (worker) =>
          worker.call('takeTurns', { lockName, rounds: ROUNDS, workMs: WORK_MS }) as Promise<Turn[]>,
      ),
    )

  const without = await turnsOf(null)
  expect(overlapping(without.flat()).length).toBeGreaterThan(ROUNDS)

  const lockName = harness.name('shared')
  const withLock = await turnsOf(lockName)
  expect(overlapping(withLock.flat())).toEqual([])

  const [holder, ...others] = workers
  const crashName = harness.name('crash')
  const holding = holder!.call('hold', crashName, 6 * WORK_MS) as Promise<number>
  await holder!.once('held')
  const waiting = turnsOf(crashName, others)
  const heldFrom = await holding
  await holder!.kill()
  const killedAt = performance.timeOrigin + performance.now()
  const after = await waiting
  expect(overlapping(after.flat())).toEqual([])
  const firsts = after.map(([first]) => first!.from)
  const takenAt = Math.min(...firsts)
  expect(takenAt).toBeGreaterThan(killedAt)
  const next = NAMES[1 + firsts.indexOf(takenAt)]!

  const total = NAMES.length * ROUNDS
  const tookMs = Math.round((takenAt - killedAt) / 10) / 100
  const panels: Panel[] = [
    {
      title: `Without a lock: ${overlapping(without.flat()).length} of ${total} pieces of work run beside another`,
      lanes: lanesOf(without),
    },
    {
      title: 'With a lock: one at a time, and each release wakes the next process',
      lanes: lanesOf(withLock),
    },
    {
      title: `A crash: ${NAMES[0]} is killed; its lease ends, and ${tookMs} s after the kill ${next} goes on`,
      lanes: [
        {
          name: NAMES[0]!,
          bars: [
            { kind: 'holds', from: heldFrom, to: killedAt },
            { kind: 'dead', from: killedAt, to: takenAt },
          ],
        },
        ...lanesOf([[], ...after]).slice(1),
      ],
      killedAt,
    },
  ]
  const picture = drawHolders(
    'Which process works when: without a lock, with one, and through a crash',
    panels,
  )
  expect(picture.match(/class="overlaps"/g)?.length).toBeGreaterThan(ROUNDS)
  expect(picture.match(/class="dead"/g)).toHaveLength(2)
  expect(picture).not.toMatch(/NaN|undefined|Infinity/)
  if (process.env.HOLDFAST_PICTURES !== undefined) {
    mkdirSync(join(root, 'docs/images'), { recursive: true })
    writeFileSync(join(root, 'docs/images/who-holds.svg'), picture)
  }
  await Promise.all(others.map((worker) => worker.call('close')))
})
