import { InvalidArgumentError } from '../errors.js'
import { isInOneSlot } from '../keys.js'
import type { RedisPort } from '../redis/redis-port.js'

const RULE =
  'on a cluster without braces, or with a hash tag as in "order:{42}": the keys of one lock must be in one slot. Replace ' +
  'lone braces, as encodeURIComponent does'

/** Redis would refuse every script of such a name, for ever. @throws InvalidArgumentError */
export function checkOneSlot(
  { port, keyPrefix }: { readonly port: RedisPort; readonly keyPrefix: string },
  name: string,
): void {
  if (port.slotOf && !isInOneSlot(keyPrefix + name)) {
    throw new InvalidArgumentError('name', name, RULE)
  }
}
