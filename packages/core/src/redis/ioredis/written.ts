import type { IoredisClient } from './client.js'
import type { Runtime } from '../../runtime/runtime.js'

/** Encryption, and a full buffer of the system, take some turns of the event loop; a full one may take for ever. */
const MOST_LOOKS = 4

/** See `RedisPort.whenWritten`: ioredis writes to the socket at once, and the socket says what it still has. */
export function whenWritten(
  node: Pick<IoredisClient, 'status' | 'stream'> | undefined,
  { afterTurn }: Pick<Runtime, 'afterTurn'>,
  tell: (isWritten: boolean) => void,
): void {
  const look = (left: number): void => {
    const length = node?.status === 'ready' ? node.stream?.writableLength : undefined
    if (length === undefined || length === 0 || left === 1) {
      tell(length === 0)
    } else {
      afterTurn(() => look(left - 1))
    }
  }
  look(MOST_LOOKS)
}
