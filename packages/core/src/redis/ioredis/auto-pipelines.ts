import { hashSlot } from '../hash-slot.js'

/** Not public, and the same in ioredis 5, 6 and iovalkey; a client without them is one that gathers nothing. */
interface Gathering {
  readonly isCluster?: boolean
  readonly options?: { readonly enableAutoPipelining?: unknown }
  readonly slots?: readonly (readonly string[] | undefined)[]
  /** By node: 'main', or those of a slot. */
  readonly _autoPipelines?: ReadonlyMap<string, Gathered>
}

interface Gathered {
  exec(...given: unknown[]): unknown
}

/**
 * What `enableAutoPipelining` has gathered: ioredis writes it at the end of the turn, or when the pipeline before has
 * been answered, and any other command at once. So a release would overtake the writes that were called before it, and
 * the lock would be free before what it protects has left.
 */
export class AutoPipelines {
  private readonly waiting = new WeakMap<Gathered, (() => void)[]>()

  constructor(private readonly client: Gathering) {}

  /** Null: the client gathers nothing. */
  static of(client: object): AutoPipelines | null {
    const { options, _autoPipelines: pipelines } = client as Gathering
    return options?.enableAutoPipelining && pipelines ? new AutoPipelines(client) : null
  }

  /** Sends behind what is gathered for the same node: at once if that is nothing. */
  behind(key: string | undefined, send: () => void): void {
    const gathered = this.gatheredFor(key)
    if (!gathered) {
      send()
      return
    }
    const waiting = this.waiting.get(gathered)
    if (waiting) {
      waiting.push(send)
      return
    }
    const all = [send]
    this.waiting.set(gathered, all)
    const exec = gathered.exec.bind(gathered)
    gathered.exec = (...given) => {
      const result = exec(...given)
      all.splice(0).forEach((each) => each())
      return result
    }
  }

  private gatheredFor(key: string | undefined): Gathered | undefined {
    const { isCluster, slots, _autoPipelines: pipelines } = this.client
    if (!pipelines?.size) {
      return undefined
    }
    const node = isCluster ? slots?.[hashSlot(key ?? '')]?.join(',') : 'main'
    // With `scaleReads`, ioredis keeps writes apart.
    return node === undefined ? node : (pipelines.get(node) ?? pipelines.get(`${node}:write`))
  }
}
