import Redlock, { type Lock } from '@holdfast/redlock'
import RedlockOfFour from '@holdfast/redlock/v4'
import { Redis } from 'ioredis'

export const redlockOf = (redis: Redis): Redlock => new Redlock([redis], { retryCount: 20 })
export const ship = (redlock: Redlock, order: string): Promise<void> =>
  redlock.using([order], 5_000, async (signal) => {
    if (signal.aborted) throw signal.error
  })
export const acquired = (redlock: Redlock): Promise<Lock> => redlock.acquire(['order:42'], 5_000)
export const olderOf = (redis: Redis): RedlockOfFour => new RedlockOfFour([redis])
