import { WAITING } from './contestants/index.mjs'

/*
 * Who waits, and how. Libraries that poll ask again after some time: by default after 10 ms (redis-semaphore), 100 ms
 * (redlock-universal) or about 200 ms (redlock), and some give up. They are measured so, and never giving up at
 * another interval: for contention the best of one sweep over 1, 2, 5, 10 and 25 ms, for wake-ups the shortest, 1 ms.
 */

/** @typedef {{ name: string, contestant: string, kind: string, waits: { retryMs?: number } | undefined }} Variant */

/**
 * @param {Record<string, number>} bestMs interval by contestant
 * @param {{ fair?: boolean }} [how]
 * @returns {Variant[]}
 */
export const waitingVariants = (bestMs, { fair = true } = {}) =>
  WAITING.filter(({ name }) => fair || !name.includes('fair')).flatMap(({ name, kind, polls }) => [
    { name, contestant: name, kind, waits: undefined },
    ...(polls
      ? [
          {
            name: `${name}, every ${bestMs[name]} ms`,
            contestant: name,
            kind,
            waits: { retryMs: bestMs[name] },
          },
        ]
      : []),
  ])

/** Each as the library has it, but for one thing: nobody gives up. @returns {Variant[]} */
export const patientVariants = () =>
  WAITING.map(({ name, kind }) => ({ name, contestant: name, kind, waits: {} }))
