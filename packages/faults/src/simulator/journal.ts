import { createHash } from 'node:crypto'
import type { HistoryEvent } from '@holdfast/faults/harness'
import type { SemaphoreEvent } from '../scenarios/semaphores/events.js'
import type { World } from './world/world.js'

/** What the processes of a world saw: events, owners and virtual times; never messages or stacks. */
export class Journal {
  readonly events: HistoryEvent[] = []
  private readonly hash = createHash('sha256')

  constructor(private readonly world: World) {}

  add(
    process: string,
    kind: HistoryEvent['kind'] | SemaphoreEvent['kind'],
    more: Readonly<Record<string, unknown>> = {},
  ): void {
    const event = { atMs: this.world.nowMs, process, kind, ...more }
    this.hash.update(JSON.stringify(event))
    this.events.push(event as unknown as HistoryEvent)
  }

  /** Of all that stands in it, and of how many steps it took. Called once, at the end. */
  digest(): string {
    return this.hash.update(String(this.world.steps)).digest('hex').slice(0, 16)
  }
}
