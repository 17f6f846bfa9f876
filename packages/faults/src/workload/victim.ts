import { LockClient } from '@holdfast/core'
import type { RedisServer } from '@holdfast/faults/harness'
import type { Worker } from '../run/fleet.js'
import type { OptionSpecs } from '../run/options.js'
import type { Run } from '../run/scenario.js'
import type { Victim } from './faults.js'

interface VictimOptions {
  readonly redis: RedisServer
  readonly register: RedisServer
  readonly leaseMs: number
  /** How long every chunk travels, faults apart. */
  readonly delayMs?: number
  /** How much longer it travels to and from each process, in turns. */
  readonly distances?: readonly number[]
  /** Every so-many-th message to a subscriber is lost, faults apart; 0: none. */
  readonly dropNth?: number
  /** Arguments of a worker's `begin` besides `leaseMs`, `locks`, `registerPort` and its `seed`. */
  readonly settings: () => Readonly<Record<string, unknown>>
  /** The names in use at the moment: a process that starts later has to know them too. */
  readonly locks: () => readonly string[]
}

/** The share of a process in things that all processes take in turns. @param name as the fleet gives it */
export const turnOf = <T>(name: string, turns: readonly T[]): T =>
  turns[Number(name.split('-')[1]) % turns.length] as T

/** The target of the faults of `faults.ts`: the run's fleet, each process on a wire of its own. */
export const victimOf = async (
  run: Pick<Run<OptionSpecs>, 'fleet' | 'history' | 'random' | 'seed' | 'after'>,
  { redis, register, leaseMs, delayMs = 0, distances = [0], dropNth = 0, settings, locks }: VictimOptions,
): Promise<Victim & { readonly launch: () => Promise<Worker> }> => {
  const { fleet, history, random, seed } = run
  const observer = await LockClient.connect(redis.url, { clientName: 'observer', bareCalls: 'allow' })
  run.after(() => observer.close({ graceMs: 0 }))
  const heal = ({ name, proxy }: Worker): void => {
    proxy?.pass()
    proxy?.delay(delayMs + turnOf(name, distances))
    if (dropNth > 0) proxy?.dropPushes(dropNth)
  }
  const launch = (): Promise<Worker> => {
    const common = { leaseMs, locks: locks(), registerPort: register.port }
    const own = { ...settings(), ...common, seed: seed * 1_000 + fleet.files.length }
    // It connects through its wire, which may be broken at the moment: nobody waits for that.
    return fleet.launch(own, { through: redis, isolate: heal })
  }
  const replace = async (worker: Worker): Promise<void> => {
    await worker.process.kill()
    history.add('killed', { process: worker.name })
    await fleet.kill(worker)
    await launch()
  }
  const copies = { untilMs: 0, harmlessAtMs: 0, losses: 0 }
  return { redis, register, fleet, locks, leaseMs, random, history, observer, launch, replace, heal, copies }
}
