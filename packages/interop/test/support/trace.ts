import type { Redis } from 'ioredis'
import type { Side } from './side.js'

/** The keys and messages of Redis after one step, owners and ids under names that do not change. */
export interface Step {
  readonly does: string
  readonly keys: Readonly<Record<string, KeyState>>
  /** Channel and payload. */
  readonly published: readonly (readonly [string, string])[]
}

export interface KeyState {
  readonly type: string
  /** Seconds, up to the next five, or `none`. */
  readonly endsAfter: number | 'none'
  readonly value: unknown
}

/** Reads everything from MONITOR and from the keyspace, in the words of neither side. */
export class Tracer {
  private readonly published: [string, string][] = []
  private readonly names = new Map<string, string>()

  private constructor(
    private readonly redis: Redis,
    private readonly monitor: Redis,
  ) {}

  static async open(redis: Redis): Promise<Tracer> {
    const monitor = await redis.monitor()
    const tracer = new Tracer(redis, monitor)
    monitor.on('monitor', (_time: string, [command = '', channel = '', payload = '']: string[]) => {
      if (command.toLowerCase() === 'publish') {
        tracer.published.push([channel, payload])
      }
    })
    return tracer
  }

  /** The state after something was done. */
  async step(does: string): Promise<Step> {
    this.names.clear()
    // Redisson deletes the latch of an unlock by a command of its own, some time after the unlock has returned; 3.52
    // and 4.0 leave some to end by themselves.
    const isOfOneSide = (key: string): boolean => /^(holdfast|redisson_unlock_latch):/.test(key)
    const names = (await this.redis.keys('*')).filter((key) => !isOfOneSide(key)).sort()
    const keys: [string, KeyState][] = []
    for (const name of names) {
      keys.push([this.plain(name), await this.read(name)])
    }
    // MONITOR and this connection are two: a round trip on both, and what came before it has arrived.
    await this.redis.publish('trace', does)
    while (!this.published.some(([channel, payload]) => channel === 'trace' && payload === does)) {
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    const published = this.published
      .splice(0)
      .filter(([channel]) => channel !== 'trace' && !channel.startsWith('holdfast:'))
      .map(([channel, payload]) => [this.plain(channel), payload] as const)
    return { does, keys: Object.fromEntries(keys), published }
  }

  close(): void {
    this.monitor.disconnect()
  }

  private async read(key: string): Promise<KeyState> {
    const [type, ttl] = [await this.redis.type(key), await this.redis.pttl(key)]
    return {
      type,
      // On a busy machine seconds pass before a step is read; the leases that are compared are 10 s or more apart.
      endsAfter: ttl < 0 ? 'none' : 5 * Math.ceil(ttl / 5_000),
      value: await this.valueOf(key, type),
    }
  }

  private async valueOf(key: string, type: string): Promise<unknown> {
    switch (type) {
      case 'hash':
        return this.sorted(
          Object.entries(await this.redis.hgetall(key)).map(([field, value]) => [this.plain(field), value]),
        )
      case 'list':
        return (await this.redis.lrange(key, 0, -1)).map((each) => this.plain(each))
      case 'zset':
        return (await this.redis.zrangeBuffer(key, '0', '-1')).map((each) =>
          each.length === 16 ? 'a raw permit id' : this.plain(each.toString()),
        )
      default:
        return this.redis.get(key)
    }
  }

  private sorted(entries: string[][]): unknown {
    return Object.fromEntries(entries.sort(([a = ''], [b = '']) => a.localeCompare(b)))
  }

  /** Client ids and thread numbers, in the order in which one step shows them. */
  private plain(text: string): string {
    return text.replace(/([0-9a-f-]{36}|[\w.-]+~[\w-]{21}):\d+/g, (owner) => {
      const name = this.names.get(owner) ?? `owner-${this.names.size + 1}`
      this.names.set(owner, name)
      return name
    })
  }
}

let scenarios = 0

/** Does the same on one side as on any other. */
export type Scenario = (
  side: Side,
  threads: readonly [string, string],
  note: (does: string) => Promise<void>,
) => Promise<void>

export async function trace(redis: Redis, side: Side, scenario: Scenario): Promise<Step[]> {
  await redis.flushall()
  const tracer = await Tracer.open(redis)
  const steps: Step[] = []
  try {
    // Nothing of an earlier scenario, such as a lock that was lost, is theirs.
    scenarios += 1
    await scenario(
      side,
      [`a${scenarios}`, `b${scenarios}`],
      async (does) => void steps.push(await tracer.step(does)),
    )
  } finally {
    tracer.close()
  }
  return steps
}

/** Each fact that is not the same in both, as `step: what: there → here`. */
export function differences(there: readonly Step[], here: readonly Step[]): string[] {
  return there.flatMap((step, i) => {
    const [before, after] = [factsOf(step), factsOf(here[i]!)]
    const whats = new Set([...before.keys(), ...after.keys()])
    return [...whats]
      .filter((what) => before.get(what) !== after.get(what))
      .map((what) => `${step.does}: ${what}: ${before.get(what) ?? '-'} → ${after.get(what) ?? '-'}`)
  })
}

function factsOf({ keys, published }: Step): Map<string, string> {
  const ofKeys = Object.entries(keys).flatMap(([key, { type, endsAfter, value }]) => [
    [`${key} ends after`, `${endsAfter}`],
    [key, `${type} ${JSON.stringify(value)}`],
  ])
  const said = published.map(([channel, payload]) => `${payload} on ${channel}`).join(', ')
  return new Map([...(ofKeys as [string, string][]), ['says', said || 'nothing']])
}
