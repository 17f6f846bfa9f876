import { batchScript, encodeBatch, USUAL_ITEMS } from './batch.js'
import { brokenOff, codeOf, isBeforeItems, isOfReplica, QUEUED, refusal } from './failures.js'
import { Acknowledged } from './acknowledged-transport.js'
import { isOfMovingSlot, type MovingSlots } from './moving-slots.js'
import type { ScriptTransport } from './redis-port.js'
import type { Script } from './script.js'
import type { ScriptCall } from './script-call.js'
import type { ScriptCommand } from './script-command.js'
import type { Runtime } from '../runtime/runtime.js'
import { InFlightCounter } from './in-flight-counter.js'

interface Outcomes {
  readonly answered: (reply: unknown) => void
  readonly failed: (error: unknown) => void
}

type ScriptRun = Pick<ScriptCall, 'script' | 'keys' | 'args'>

export interface DispatchParts {
  readonly runtime: Runtime
  readonly beforeResume: () => void
  /** Called when a server that should be a primary replies that it is none, before the caller gets its error. */
  readonly demoted: () => void
  /** Maximum number of transitions in one script; 1: one script each, and those gathered share one write. */
  readonly batchSize: number
  /** Null: keys are not kept apart in slots. */
  readonly movingSlots: MovingSlots | null
  /** See `RedisPort`. */
  readonly connectionEpoch: () => number
}

/**
 * Sends commands. Transitions of one event-loop turn are sent as one script: they share the cost of protocol,
 * dispatch and reply. A single one is sent alone, in the same turn. Under load, a quarter of the commands is sent early:
 * Redis executes them while the next are being created.
 */
export class ScriptDispatch {
  private gathered: ScriptCommand[] = []
  private readonly underWay: InFlightCounter
  private readonly mostGathered: number
  private isKept = false
  /** The latest reply says that commands are being queued for the EXEC of a transaction. */
  private isQueueing = false
  /** The connection on which Redis has answered a script, by its place: there it is run as soon as it arrives. */
  private readonly provenOn = new Map<string, number>()
  /** Runs in flight of other scripts: one that Redis does not know takes a round trip more, behind what was sent since. */
  private readonly unproven = new Set<object>()

  constructor(
    private readonly transport: ScriptTransport,
    private readonly parts: DispatchParts,
  ) {
    const { runtime, batchSize } = parts
    this.underWay = new InFlightCounter(runtime)
    this.mostGathered = batchSize > 1 ? batchSize : USUAL_ITEMS
  }

  send(command: ScriptCommand): void {
    if (!command.call.script.inBatches) {
      // Must not overtake earlier commands: a query about a lock would miss the acquire before it.
      this.sendGathered()
      this.sendAlone(command)
      return
    }
    const count = this.gathered.push(command)
    if (count === this.mostGathered || (!this.isKept && this.underWay.isEnough(count))) {
      // Early, so that Redis works while the rest of this turn runs.
      this.sendGathered()
    } else if (count === 1) {
      // Runs after all callers that the last replies resumed.
      this.parts.runtime.nextTick(this.sendGathered)
    }
  }

  /** Whether Redis has answered this script on this connection. */
  knows(script: Script, key: string): boolean {
    const place = this.placeOf(script, key)
    return place !== undefined && this.provenOn.get(place) === this.parts.connectionEpoch()
  }

  /** Each node of a cluster has scripts of its own. */
  private placeOf({ sha1 }: Script, key: string): string | undefined {
    const { slotOf, nodeOf } = this.transport
    const node = nodeOf?.(key)
    return !slotOf ? sha1 : node && `${sha1}${node}`
  }

  /** Redis knows every script in flight: each has been answered before, on this connection. */
  get sendsOnlyProven(): boolean {
    return this.unproven.size === 0 && !this.isQueueing
  }

  /** Keeps everything `send` sends in one script, up to the maximum batch size. */
  keepTogether<T>(send: () => T): T {
    this.isKept = true
    try {
      return send()
    } finally {
      this.isKept = false
    }
  }

  private readonly sendGathered = (): void => {
    const commands = this.gathered
    if (commands.length === 0) {
      return
    }
    this.gathered = []
    if (this.parts.batchSize > 1) {
      for (const each of this.bySlot(commands)) {
        this.sendTogether(each)
      }
    } else if (this.transport.inOneWrite) {
      this.transport.inOneWrite(() => commands.forEach((each) => this.sendAlone(each)))
    } else {
      commands.forEach((each) => this.sendAlone(each))
    }
  }

  private bySlot(commands: readonly ScriptCommand[]): Iterable<readonly ScriptCommand[]> {
    const { slotOf } = this.transport
    if (!slotOf || commands.length === 1) {
      return [commands]
    }
    const groups = new Map<number, ScriptCommand[]>()
    for (const command of commands) {
      const slot = slotOf(command.call.keys[0] ?? '')
      const group = groups.get(slot) ?? []
      group.push(command)
      groups.set(slot, group)
    }
    return groups.values()
  }

  private sendTogether(commands: readonly ScriptCommand[]): void {
    const [first] = commands
    if (first && commands.length === 1) {
      this.sendAlone(first)
      return
    }
    const { keys, args } = encodeBatch(commands.map((each) => each.call))
    const isWanted = (): boolean => commands.some((each) => !each.settled)
    this.underWay.sent(commands.length)
    this.run({ script: batchScript, keys, args }, isWanted, {
      answered: (answer) => this.answeredTogether(commands, answer),
      failed: (error) => {
        if (this.transport.isErrorReply(error) && isBeforeItems(error)) {
          // Nothing ran. Redis may reject the batch for one item: each item is sent alone.
          this.underWay.settled(commands.length)
          commands.filter((each) => !each.settled).forEach((each) => this.sendAlone(each))
        } else {
          this.answeredBy(error, commands.length)
          commands.forEach((each) => this.conclude(each, error, null))
        }
      },
    })
  }

  private sendAlone(command: ScriptCommand): void {
    const isWanted = (): boolean => !command.settled
    const answered = (answer: unknown): void => this.answeredAlone(command, answer)
    const { movingSlots } = this.parts
    const failed = movingSlots ? this.sendingAgain(movingSlots, command, { answered, isWanted }) : answered
    this.underWay.sent(1)
    this.run(command.call, isWanted, { answered, failed })
  }

  /**
   * Sends a command again if it was refused because its slot is migrating, as long as its caller waits. A refused
   * command did not run, and no copy of it is in flight until the next try.
   */
  private sendingAgain(
    slots: MovingSlots,
    command: ScriptCommand,
    { answered, isWanted }: Pick<Outcomes, 'answered'> & { readonly isWanted: () => boolean },
  ): (error: unknown) => void {
    let tries = 0
    const failed = (error: unknown): void => {
      if (command.settled || !this.transport.isErrorReply(error) || !isOfMovingSlot(error)) {
        answered(error)
        return
      }
      this.underWay.settled(1)
      command.refusedMeanwhile = refusal(error, command.call)
      slots.afterPause(tries, () => {
        if (!command.settled) {
          command.refusedMeanwhile = null
          this.underWay.sent(1)
          this.run(command.call, isWanted, { answered, failed })
        }
      })
      tries += 1
    }
    return failed
  }

  private run({ script, keys, args }: ScriptRun, isWanted: () => boolean, outcomes: Outcomes): void {
    const { transport } = this
    // Without the nodes of a cluster nothing is ever known, and nobody asks.
    const isAsked = !transport.slotOf || transport.nodeOf
    const { answered, failed } =
      !isAsked || this.knows(script, keys[0] ?? '') ? outcomes : this.proving(script, keys, outcomes)
    if (this.isQueueing) {
      // Sent by its text: the transaction may undo a script load, and a NOSCRIPT at EXEC would not be reported here.
      transport.eval(script.lua, keys, args, isWanted).then(answered, failed)
      return
    }
    transport.evalsha(script.sha1, keys, args, isWanted).then(answered, (error: unknown) => {
      // The script cache was flushed or the primary is new: nothing ran. If the caller has given up meanwhile, it
      // must not run any more.
      const isUnknown = transport.isErrorReply(error) && codeOf(error) === 'NOSCRIPT'
      if (isUnknown && isWanted()) {
        transport.eval(script.lua, keys, args, isWanted).then(answered, failed)
      } else {
        failed(error)
      }
    })
  }

  private proving(script: Script, [key = '']: readonly string[], { answered, failed }: Outcomes): Outcomes {
    const run = {}
    const place = this.placeOf(script, key)
    const epoch = this.parts.connectionEpoch()
    this.unproven.add(run)
    return {
      answered: (reply) => {
        this.unproven.delete(run)
        if (place !== undefined && !this.transport.isErrorReply(reply) && reply !== QUEUED) {
          this.provenOn.set(place, epoch)
        }
        answered(reply)
      },
      failed: (error) => {
        this.unproven.delete(run)
        failed(error)
      },
    }
  }

  private answeredAlone(command: ScriptCommand, answer: unknown): void {
    const whole = this.answeredBy(answer, 1)
    this.conclude(command, whole, whole === answer ? null : (answer as Acknowledged))
  }

  private answeredTogether(commands: readonly ScriptCommand[], answer: unknown): void {
    const whole = this.answeredBy(answer, commands.length)
    const acknowledged = whole === answer ? null : (answer as Acknowledged)
    const replies = itemsOf(whole, commands.length)
    commands.forEach((command, i) => {
      if (replies) {
        this.conclude(command, replies[i], acknowledged)
      } else if (!command.settled) {
        command.misread(whole)
      }
    })
  }

  /** @returns Redis's own reply, or the failure */
  private answeredBy(answer: unknown, count: number): unknown {
    this.parts.beforeResume()
    this.underWay.settled(count)
    const reply = answer instanceof Acknowledged ? answer.reply : answer
    this.isQueueing = reply === QUEUED
    return reply
  }

  /** `reply`: Redis's answer, its error, or a failure of the connection. */
  private conclude(command: ScriptCommand, reply: unknown, acknowledged: Acknowledged | null): void {
    if (command.settled) {
      return
    }
    if (this.transport.isErrorReply(reply)) {
      if (isOfReplica(reply)) {
        this.parts.demoted()
      }
      command.failed(refusal(reply, command.call))
    } else if (reply instanceof Error) {
      command.failed(brokenOff(reply, command.call))
    } else {
      command.answered(reply, acknowledged)
    }
  }
}

/** The replies of a batch, one per item; null: not the reply of a batch. */
function itemsOf(reply: unknown, count: number): readonly unknown[] | null {
  return batchScript.canAnswer(reply) && (reply as readonly unknown[]).length === count
    ? (reply as readonly unknown[])
    : null
}
