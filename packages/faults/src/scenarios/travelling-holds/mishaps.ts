import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault, Matcher } from '@holdfast/faults/harness'
import type { Worker } from '../../run/fleet.js'
import type { SeededRandom } from '../../run/random.js'

/** What each journey does, one after the other. */
export type Step = 'take' | 'hand-over' | 'adopt' | 'revoke' | 'release'

const MISHAPS = ['loses the request', 'loses the reply', 'arrives again late'] as const
type Mishap = (typeof MISHAPS)[number]

export const LATEST_COPY_MS = 1_500
/** Longer than a command is sent again. */
const CUT_OFF_MS = 2_600
const CUT_OFF_SHARE = 0.003
const NAME_OF_TOKEN = 'handover~'

/** Breaks what a worker sends in one step of one journey, and counts what it hit. */
export class Mishaps {
  cutOffs = 0
  readonly #armed: { readonly step: Step; readonly mishap: Mishap; readonly fault: Fault }[] = []

  constructor(
    private readonly random: SeededRandom,
    private readonly share: number,
  ) {}

  /** Before the step: perhaps what it sends is lost, or its answer, or it arrives once more later. */
  perhaps(step: Step, lock: string, { proxy }: Worker): void {
    if (!proxy) return
    if (this.random.chance(CUT_OFF_SHARE)) {
      this.cutOffs += 1
      proxy.refuse()
      void sleep(CUT_OFF_MS, undefined, { ref: false }).then(() => proxy.pass())
      return
    }
    if (!this.random.chance(this.share)) return
    const mishap = this.random.pick(MISHAPS)
    const match = sends(step, lock)
    const fault =
      mishap === 'arrives again late'
        ? proxy.copyLate(match, this.random.between(0, LATEST_COPY_MS))
        : mishap === 'loses the reply'
          ? proxy.loseReply(match)
          : proxy.loseRequest(match)
    // A copy for a server that is being stopped is none.
    fault.happened.catch(() => undefined)
    this.#armed.push({ step, mishap, fault })
  }

  /** How often each hit which step. */
  toTable(): string[] {
    const steps = [...new Set(this.#armed.map(({ step }) => step))]
    const hits = (step: Step, mishap: Mishap): number =>
      this.#armed.filter((each) => each.step === step && each.mishap === mishap && each.fault.count > 0)
        .length
    return [
      `| step | ${MISHAPS.join(' | ')} |`,
      `| --- | ${MISHAPS.map(() => '---').join(' | ')} |`,
      ...steps.map((step) => `| ${step} | ${MISHAPS.map((mishap) => hits(step, mishap)).join(' | ')} |`),
    ]
  }
}

/** A chunk with a command of this step: all but take and release name what stands for the token. */
const sends = (step: Step, lock: string): Matcher => {
  const hasToken = step !== 'take' && step !== 'release'
  return (bytes) => bytes.includes(lock) && bytes.includes(NAME_OF_TOKEN) === hasToken
}
