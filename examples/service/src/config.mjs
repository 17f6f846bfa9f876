const { env } = process

/** All settings of a process, from its environment. */
export const config = {
  host: env.HOST ?? '127.0.0.1',
  port: Number(env.PORT ?? 3000),
  redisUrl: env.REDIS_URL ?? 'redis://localhost:6379',
  /** All keys have it in front of their names, those of locks and of the queue too. */
  prefix: env.KEY_PREFIX ?? 'shop',
  /** Shorter: a killed process keeps others out for less time. Longer: fewer renewals. */
  leaseMs: Number(env.LEASE_MS ?? 30_000),
  /** With seconds in front. */
  sweepAt: env.SWEEP_AT ?? '0 * * * * *',
  partnersUrl: env.PARTNERS_URL ?? 'http://127.0.0.1:4000',
  /** Without it there is no board. */
  boardPassword: env.BOARD_PASSWORD,
}
