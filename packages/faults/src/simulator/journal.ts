import { createHash } from 'node:crypto'
import type { HistoryEvent } from '@holdfast/faults/harness'
import type { SemaphoreEvent, SemaphoreHistory } from '../workload/permit-uses.js'
import type { World } from './world/world.js'

/** The events that one process saw. */
export type SeenByProcess = Pick<SemaphoreHistory, 'add'>

/** The journal of the processes of a world: events, owners and virtual times; never messages or stacks. */
export class Journal {
  readonly events: HistoryEvent[] = []
  private readonly hash = createHash('sha256')

  constructor(private readonly world: World) {}

  add(
    process: string,
    kind: HistoryEvent['kind'] | SemaphoreEvent['kind'],
    more: Readonly<Record<string, unknown>> = {},
  ): number {
    const event = { atMs: this.world.nowMs, process, kind, ...more }
    this.hash.update(JSON.stringify(event))
    this.events.push(event as unknown as HistoryEvent)
    return event.atMs
  }

  historyOf(process: string): SeenByProcess {
    return { add: (kind, more) => this.add(process, kind, more) }
  }

  /** A hash of all that stands in it, and of how many steps it took. Called once, at the end. */
  digest(): string {
    return this.hash.update(String(this.world.steps)).digest('hex').slice(0, 16)
  }
}
