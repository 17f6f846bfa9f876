import type { RedisServer } from './redis-server.js'
import { expectState, observe } from './observe.js'

const KEYS_AT_ONCE = 100
const MIGRATE_LIMIT_MS = 2_000

/**
 * A slot on its way from one primary to another. Until `finish` the old one answers ASK for keys that it does
 * not have (any more), and both answer TRYAGAIN when only some of a command's keys are there.
 */
export class SlotMigration {
  readonly slot: number
  readonly from: RedisServer
  readonly to: RedisServer
  readonly #targetId: string
  readonly #learned: () => Promise<void>

  private constructor(
    { slot, from, to }: Pick<SlotMigration, 'slot' | 'from' | 'to'>,
    targetId: string,
    learned: () => Promise<void>,
  ) {
    this.slot = slot
    this.from = from
    this.to = to
    this.#targetId = targetId
    this.#learned = learned
  }

  /**
   * IMPORTING and MIGRATING.
   * @internal
   * @param learned resolves when all nodes know the new owner
   */
  static async begin(
    way: Pick<SlotMigration, 'slot' | 'from' | 'to'>,
    learned: () => Promise<void>,
  ): Promise<SlotMigration> {
    const [source, target] = [await idOf(way.from), await idOf(way.to)]
    // In this order: a client that is sent to the target must find it ready.
    await way.to.command('CLUSTER', 'SETSLOT', way.slot, 'IMPORTING', source)
    await way.from.command('CLUSTER', 'SETSLOT', way.slot, 'MIGRATING', target)
    return new SlotMigration(way, target, learned)
  }

  /** MIGRATE, until the old owner has no key left. Names of keys must be text. */
  async moveKeys(): Promise<void> {
    const { slot, from, to } = this
    await observe(`slot ${slot} emptied`, [from, to], async () => {
      const reply = await from.command('CLUSTER', 'GETKEYSINSLOT', slot, KEYS_AT_ONCE)
      const keys = reply as string[]
      if (keys.length === 0) return
      await from.command('MIGRATE', to.host, to.port, '', 0, MIGRATE_LIMIT_MS, 'KEYS', ...keys)
      expectState(false, 'there may be more keys')
    })
  }

  /** The slot becomes the target's: from now on the old owner answers MOVED. Resolves when all nodes know. */
  async finish(): Promise<void> {
    // The target first: should the source forget the slot before, nobody would own it for a while.
    for (const node of [this.to, this.from]) {
      await node.command('CLUSTER', 'SETSLOT', this.slot, 'NODE', this.#targetId)
    }
    await this.#learned()
  }
}

const idOf = async (node: RedisServer): Promise<string> => String(await node.command('CLUSTER', 'MYID'))
