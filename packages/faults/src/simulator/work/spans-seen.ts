import type { Span } from '../../workload/permit-uses.js'

/** From looks at a world: for how long each thing was there, whenever somebody looked. */
export class SpansSeen<Thing> {
  readonly all: (Thing & Span)[] = []
  private open = new Map<string, { toMs: number }>()

  /** @param there all that is there now, each under a name of its own */
  look(nowMs: number, there: ReadonlyMap<string, Thing>): void {
    const open = new Map<string, { toMs: number }>()
    for (const [name, thing] of there) {
      let span = this.open.get(name)
      if (!span) {
        const begun = { ...thing, fromMs: nowMs, toMs: nowMs }
        this.all.push(begun)
        span = begun
      }
      span.toMs = nowMs
      open.set(name, span)
    }
    this.open = open
  }
}
