import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient, type Hold } from '../../../../core/src/index.js'
import { stateOf, type RedisServer } from '@holdfast/faults/harness'
import { seededRandom, type SeededRandom } from '../../../../faults/src/harness/seeded-random.js'
import { CommandUnderLock } from './command-under-lock.js'
import { HARMS, type Harm, type HarmName } from './harms.js'

export interface RoundOutcome {
  readonly harm: HarmName
  readonly hasBegun: boolean
  /** The command line told that the lock was lost, or was killed. */
  readonly wasEnded: boolean
  /** From the end of the harm until the next had the lock. */
  readonly freeAfterMs: number
  readonly violations: readonly string[]
}

interface Setting {
  readonly number: number
  readonly leaseMs: number
  readonly seed: number
}

/** The part of `Run` that a lane needs. */
interface Stage {
  readonly redis: (options: { readonly args: readonly string[] }) => Promise<RedisServer>
  readonly after: (stop: () => unknown) => void
}

/** A waiter hears of a lease that ends at the end of it, and looks again once a second. On a busy machine, and after an outage. */
const SLACK_MS = 4_000
const GRACE_FOR_TRACES_MS = 15_000
/** The code of `holdfast run` for a lost lock. */
const LOST = 76

/** Runs one command after another, each with a harm, on a Redis of its own; and wants each command's lock. */
export class Lane {
  private rounds = 0
  private readonly random: SeededRandom

  private constructor(
    private readonly setting: Setting,
    private readonly redis: RedisServer,
    private readonly rival: LockClient,
  ) {
    this.random = seededRandom(setting.seed)
  }

  static async open(stage: Stage, setting: Setting): Promise<Lane> {
    // Its words are kept: a Redis that forgets locks is another matter.
    const redis = await stage.redis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
    const rival = await LockClient.connect(redis.url, {
      clientName: 'rival',
      bareCalls: 'allow',
      unavailableTimeoutMs: 120_000,
    })
    rival.on('unreachable', () => undefined)
    stage.after(() => rival.close({ graceMs: 0 }))
    return new Lane(setting, redis, rival)
  }

  async round(harmName: HarmName): Promise<RoundOutcome> {
    this.rounds += 1
    const { redis, setting, random } = this
    const { number, leaseMs } = setting
    const harm: Harm = HARMS[harmName]
    const marker = `run-command-${process.pid}-${number}-${this.rounds}`
    const name = `run-command:${this.rounds}`
    const fair = harm.waits === true
    const before = fair ? await this.rival.getFairLock(name).acquire() : undefined
    // One that nothing happens to must not lose its lock where the machine stands still.
    const ownLeaseMs = fair && !harm.ends ? 4 * leaseMs : leaseMs
    const command = new CommandUnderLock({ url: redis.url, name, leaseMs: ownLeaseMs, fair, marker })
    if (before) {
      await this.isInLine(name, command)
      await before.release()
    }
    let hasBegun = false
    const begun = command.begun.then(() => (hasBegun = true))
    if (harm.early !== true) {
      await Promise.race([begun, command.exited])
      // At any instant between two renewals.
      await sleep(random.between(0, 0.7) * leaseMs)
    }
    const guardian = command.guardian
    const wanted = this.seize(name, command, harm)
    await harm.happen({ command, redis, random, leaseMs })
    const harmedAt = performance.now()
    if (!harm.ends) {
      // It goes on as if nothing had been, unless it was stopped for long: then it is over by itself.
      await sleep(0.5 * leaseMs)
      command.end()
    }
    const { hold, living, heldAt } = await wanted
    const violations = living.map(
      (each) => `I1 ${harmName}: the next has the lock, and ${JSON.stringify(each)} lives`,
    )
    const freeAfterMs = Math.max(0, heldAt - harmedAt)
    if (freeAfterMs > leaseMs + SLACK_MS) {
      violations.push(
        `I4 ${harmName}: the lock was free ${Math.round(freeAfterMs)} ms after the harm, later than a lease`,
      )
    }
    const exit = await command.exited
    await hold.release()
    if (harm.waits === true && exit.code === LOST) {
      violations.push(`${harmName}: the command was ended, although nothing had happened to its lock`)
    }
    violations.push(...(await this.traces(harmName, command, guardian)))
    return {
      ...{ harm: harmName, hasBegun, freeAfterMs, violations },
      wasEnded: exit.code === LOST || exit.signal !== null,
    }
  }

  /** Takes the lock as soon as it can be had, and looks at once whether the command still lives. */
  private async seize(
    name: string,
    command: CommandUnderLock,
    harm: Harm,
  ): Promise<{ hold: Hold; living: readonly unknown[]; heldAt: number }> {
    if (harm.early === true) {
      // Otherwise it has the lock first, and the command line waits for it.
      await Promise.race([command.begun, command.exited, this.isTaken(name, command)])
    }
    const hold = await (
      harm.waits === true ? this.rival.getFairLock(name) : this.rival.getFencedLock(name)
    ).acquire()
    const living = command.living()
    return { hold, living, heldAt: performance.now() }
  }

  private async isInLine(name: string, command: CommandUnderLock): Promise<void> {
    const lock = this.rival.getFairLock(name)
    while (command.isRunning && ((await lock.inspect())?.waiting ?? 0) === 0) await sleep(5)
  }

  private async isTaken(name: string, command: CommandUnderLock): Promise<void> {
    while (command.isRunning && !(await this.rival.getLock(name).isLocked())) await sleep(5)
  }

  /** Nothing is left of the round a while later. */
  private async traces(
    harm: HarmName,
    command: CommandUnderLock,
    guardian: number | undefined,
  ): Promise<string[]> {
    const look = (): string[] => [
      ...command.living().map((each) => `${harm}: ${JSON.stringify(each)} is left`),
      ...command.zombies().map((each) => `${harm}: a zombie is left, ${JSON.stringify(each)}`),
      ...(guardian !== undefined && !['Z', undefined].includes(stateOf(guardian)?.state)
        ? [`${harm}: the guardian ${guardian} is left`]
        : []),
    ]
    const endsAt = performance.now() + GRACE_FOR_TRACES_MS
    while (look().length > 0 && performance.now() < endsAt) await sleep(20)
    return look()
  }
}
