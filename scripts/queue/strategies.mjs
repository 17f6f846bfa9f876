// What a killed worker had comes back when its lock in the queue has ended, and its resource when its lease has.
const SOON = { lockDuration: 1_000, stalledInterval: 300 }
const RETRIES = { attempts: 10_000, backoff: { type: 'fixed', delay: 20 } }

/**
 * By name: options of `locked` (null: no lock at all), of the jobs, of the workers, and whether a worker is killed.
 *
 * @type {Record<string, { options: object | null, fair?: boolean, job?: object, worker?: object, kill?: boolean }>}
 */
export const STRATEGIES = {
  plain: { options: null },
  'delay-20': { options: { onConflict: 'delay', delayMs: 20 } },
  'delay-200': { options: { onConflict: 'delay', delayMs: 200 } },
  'wait-then-delay': { options: { onConflict: 'delay', waitMs: 50, delayMs: 20 } },
  wait: { options: { onConflict: 'wait' } },
  'wait-fair': { options: { onConflict: 'wait' }, fair: true },
  fail: { options: { onConflict: 'fail' }, job: RETRIES },
  'delay-killed': { options: { onConflict: 'delay', delayMs: 20 }, worker: SOON, kill: true },
}
