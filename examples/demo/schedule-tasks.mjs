import { setTimeout as sleep } from 'node:timers/promises'
import { scheduleOn } from './open-locks.mjs'

const WORK_MS = 20

/**
 * @param {import('@holdfast/core').LockClient} locks
 * @param {(event: string, data?: unknown) => void} tell
 */
export const scheduleTasks = (locks, tell) => ({
  /** Each tick at its time, as any scheduler would; the task of one of them never ends. */
  keepTime: async ({ name, startAt, periodMs, ticks, deadly }) => {
    const report = scheduleOn(locks, name, async ({ tick, missed }) => {
      tell('ran', { tick: Number(tick), missed: missed.map(Number) })
      if (Number(tick) === deadly) await new Promise(() => undefined)
      await sleep(WORK_MS)
    })
    for (let tick = 1; tick <= ticks; tick += 1) {
      await sleep(Math.max(0, startAt + tick * periodMs - Date.now()))
      const run = report({ tick })
      if (tick !== deadly) await run
    }
  },
})
