import { Batch, USUAL_ITEMS } from './batch.js'
import { brokenOff, codeOf, isBeforeItems, isOfReplica, QUEUED, refusal } from './failures.js'
import { Acknowledged } from './acknowledged-transport.js'
import { isOfMovingSlot, type MovingSlots } from './moving-slots.js'
import type { RedisPort, ScriptTransport } from './redis-port.js'
import type { Script } from './script.js'
import type { Receiver, RunBy } from './script-run.js'
import type { CommandSender, CommandTrouble, ScriptCommand } from './script-command.js'
import type { Runtime } from '../runtime/runtime.js'
import { InFlightCounter } from './in-flight-counter.js'

export interface DispatchParts {
  readonly runtime: Runtime
  /** @returns the time, as of the runtime. */
  readonly beforeResume: () => number
  /** Called when a server that should be a primary replies that it is none, before the caller gets its error. */
  readonly demoted: () => void
  /** Maximum number of transitions in one script; 1: one script each, and those gathered share one write. */
  readonly batchSize: number
  /** Null: keys are not kept apart in slots. */
  readonly movingSlots: MovingSlots | null
  readonly port: Pick<RedisPort, 'connectionEpoch'>
  readonly trouble: CommandTrouble
}

/**
 * Sends commands. Transitions of one event-loop turn are sent as one script: they share the cost of protocol,
 * dispatch and reply. A single one is sent alone, in the same turn. Under load, a quarter of the commands is sent early:
 * Redis executes them while the next are being created.
 */
export class ScriptDispatch implements CommandSender {
  private readonly gathered: ScriptCommand[] = []
  readonly trouble: CommandTrouble
  private readonly underWay: InFlightCounter
  private readonly mostGathered: number
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
    const { runtime, batchSize, trouble } = parts
    this.trouble = trouble
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
    if (count === this.mostGathered || this.underWay.isEnough(count)) {
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
    return place !== undefined && this.provenOn.get(place) === this.parts.port.connectionEpoch
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

  /** Keeps all that is sent from here to the end of the turn in one script, up to the maximum batch size. */
  keepTogether(): void {
    this.underWay.forgetAnswered()
  }

  /** See `InFlightCounter`. Without writes of our own, halves would arrive in one. */
  resumedGoOn(): void {
    if (this.transport.inOneWrite) {
      this.underWay.resumedGoOn()
    } else {
      this.keepTogether()
    }
  }

  goOn(count: number): void {
    if (this.transport.inOneWrite) {
      this.underWay.goOn(count)
    }
  }

  /** Sends what waits for the end of the turn. */
  readonly sendGathered = (): void => {
    if (this.gathered.length === 0) {
      return
    }
    const commands = this.gathered.splice(0)
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
    this.underWay.sent(commands.length)
    this.run(new Batch(commands, this))
  }

  private sendAlone(command: ScriptCommand): void {
    this.underWay.sent(1)
    this.run(command)
  }

  /** By its text in a transaction, which may undo a script load: a NOSCRIPT at EXEC would not be reported here. */
  private run(sent: ScriptCommand | Batch, by: RunBy = this.isQueueing ? 'eval' : 'evalsha'): void {
    const { transport } = this
    const { script, keys } = sent.call
    // Without the nodes of a cluster nothing is ever known, and nobody asks.
    const isAsked = !transport.slotOf || transport.nodeOf
    const isKnown = by === 'evalsha' && (!isAsked || this.knows(script, keys[0] ?? ''))
    transport.run(sent.call, by, isKnown ? sent : this.proving(sent, by))
  }

  private proving(sent: ScriptCommand | Batch, by: RunBy): Receiver {
    const { script, keys } = sent.call
    const place = this.placeOf(script, keys[0] ?? '')
    const epoch = this.parts.port.connectionEpoch
    const receiver: Receiver = {
      isWanted: () => sent.isWanted(),
      answered: (reply) => {
        this.unproven.delete(receiver)
        if (place !== undefined && !this.transport.isErrorReply(reply) && reply !== QUEUED) {
          this.provenOn.set(place, epoch)
        }
        sent.answered(reply)
      },
      failed: (error) => {
        this.unproven.delete(receiver)
        // The text was there: whoever answers all the same that the script is unknown will do so again.
        if (by === 'eval' && this.isUnknown(error)) {
          sent.answered(error)
        } else {
          sent.failed(error)
        }
      },
    }
    this.unproven.add(receiver)
    return receiver
  }

  answered(sent: ScriptCommand | Batch, answer: unknown): void {
    const now = this.parts.beforeResume()
    this.underWay.settled(sent.size, now)
    const acknowledged = answer instanceof Acknowledged ? answer : null
    const reply = acknowledged ? acknowledged.reply : answer
    this.isQueueing = reply === QUEUED
    if (!(sent instanceof Batch)) {
      this.conclude(sent, reply, acknowledged)
      return
    }
    const replies = sent.repliesIn(reply)
    sent.commands.forEach((command, i) => {
      if (replies) {
        this.conclude(command, replies[i], acknowledged)
      } else if (command.isWanted()) {
        command.misread(reply)
      }
    })
  }

  failed(sent: ScriptCommand | Batch, error: unknown): void {
    const { movingSlots } = this.parts
    if (!this.transport.isErrorReply(error) || !sent.isWanted()) {
      this.answered(sent, error)
    } else if (this.isUnknown(error)) {
      // The script cache was flushed or the primary is new: nothing ran.
      this.run(sent, 'eval')
    } else if (sent instanceof Batch && isBeforeItems(error)) {
      // Nothing ran. Redis may reject the batch for one item: each item is sent alone.
      this.notRun(sent)
      sent.commands.filter((each) => each.isWanted()).forEach((each) => this.sendAlone(each))
    } else if (movingSlots && !(sent instanceof Batch) && isOfMovingSlot(error)) {
      this.notRun(sent)
      movingSlots.refused(sent, refusal(error, sent.call), () => this.sendAlone(sent))
    } else {
      this.answered(sent, error)
    }
  }

  private notRun({ size }: ScriptCommand | Batch): void {
    this.underWay.settled(size, this.parts.runtime.now())
  }

  private isUnknown(error: unknown): boolean {
    return this.transport.isErrorReply(error) && codeOf(error) === 'NOSCRIPT'
  }

  /** `reply`: Redis's answer, its error, or a failure of the connection. */
  private conclude(command: ScriptCommand, reply: unknown, acknowledged: Acknowledged | null): void {
    if (!command.isWanted()) {
      return
    }
    if (!(reply instanceof Error)) {
      command.read(reply, acknowledged)
    } else if (this.transport.isErrorReply(reply)) {
      if (isOfReplica(reply)) {
        this.parts.demoted()
      }
      command.end(refusal(reply, command.call))
    } else {
      command.end(brokenOff(reply, command.call))
    }
  }
}
