import { glob, type Glob } from './glob.js'

/** Channels of PUBLISH; those of SPUBLISH are others, under the same names. */
export type ChannelKind = 'global' | 'sharded'

export interface Subscriber {
  /** Called inside the command that publishes: whoever has a queue puts it there. `pattern`: it was heard by that one. */
  message(kind: ChannelKind, channel: string, payload: string, pattern?: string): void
}

/** Who listens to what. */
export class PubSub {
  private readonly channels = {
    global: new Map<string, Set<Subscriber>>(),
    sharded: new Map<string, Set<Subscriber>>(),
  }
  private readonly patterns = new Map<string, { readonly matches: Glob; readonly by: Set<Subscriber> }>()

  subscribe(kind: ChannelKind, channel: string, by: Subscriber): void {
    const all = this.channels[kind].get(channel) ?? new Set()
    this.channels[kind].set(channel, all.add(by))
  }

  unsubscribe(kind: ChannelKind, channel: string, by: Subscriber): void {
    const all = this.channels[kind].get(channel)
    all?.delete(by)
    if (all?.size === 0) {
      this.channels[kind].delete(channel)
    }
  }

  subscribePattern(pattern: string, by: Subscriber): void {
    const known = this.patterns.get(pattern) ?? { matches: glob(pattern), by: new Set() }
    known.by.add(by)
    this.patterns.set(pattern, known)
  }

  unsubscribePattern(pattern: string, by: Subscriber): void {
    const known = this.patterns.get(pattern)
    known?.by.delete(by)
    if (known?.by.size === 0) {
      this.patterns.delete(pattern)
    }
  }

  /** The channels that one subscriber listens to. */
  channelsOf(kind: ChannelKind, by: Subscriber): string[] {
    return [...this.channels[kind]].flatMap(([channel, all]) => (all.has(by) ? [channel] : []))
  }

  patternsOf(by: Subscriber): string[] {
    return [...this.patterns].flatMap(([pattern, known]) => (known.by.has(by) ? [pattern] : []))
  }

  leave(by: Subscriber): void {
    for (const kind of ['global', 'sharded'] as const) {
      this.channelsOf(kind, by).forEach((channel) => this.unsubscribe(kind, channel, by))
    }
    this.patternsOf(by).forEach((pattern) => this.unsubscribePattern(pattern, by))
  }

  /** @returns how many heard it */
  publish(kind: ChannelKind, channel: string, payload: string): number {
    const hearers: (readonly [Subscriber, string | undefined])[] = []
    for (const by of this.channels[kind].get(channel) ?? []) {
      hearers.push([by, undefined])
    }
    if (kind === 'global') {
      for (const [pattern, { matches, by }] of this.patterns) {
        if (matches.test(channel)) {
          by.forEach((each) => hearers.push([each, pattern]))
        }
      }
    }
    hearers.forEach(([each, pattern]) => each.message(kind, channel, payload, pattern))
    return hearers.length
  }

  heardBy(kind: ChannelKind, channel: string): number {
    return this.channels[kind].get(channel)?.size ?? 0
  }

  /** Channels that somebody listens to. */
  heard(kind: ChannelKind, pattern = '*'): string[] {
    const matches = glob(pattern)
    return [...this.channels[kind].keys()].filter((channel) => matches.test(channel))
  }

  get patternCount(): number {
    return this.patterns.size
  }
}
