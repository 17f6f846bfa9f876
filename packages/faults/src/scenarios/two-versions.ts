// Two versions of Holdfast in one fleet: what one writes into Redis and says, the other reads, under every fault.
import { readHistories } from '../run/history-file.js'
import { count, minutes, someOf, text } from '../run/options.js'
import { commitOf, coreAt, lastRelease, MissingHistoryError } from '../run/other-core.js'
import { defineScenario } from '../run/scenario.js'
import { FAULT_NAMES } from '../workload/faults.js'
import { usesIn, type SemaphoreEvent } from '../workload/permit-uses.js'
import { LOCK_KINDS } from '../workload/lock-kinds.js'
import { torture } from './torture.js'
import { PERMIT_KINDS } from './torture/workload.js'

/**
 * The other version while there is no release: the tree before fair and plain lines saw a clock that is set back, and
 * before semaphores gave whatever fits. A release is found by its tag.
 */
const BEFORE_RELEASES = '689595340171de354ecefd105ec077ecfd6c002d'

export const twoVersions = defineScenario({
  name: 'two-versions',
  summary: 'Processes of this tree and of an earlier commit share every kind of lock, under every fault.',
  options: {
    minutes: minutes(2, 'how long faults go on'),
    base: text('the other version, by any name that git knows', 'the latest release'),
    faults: someOf(FAULT_NAMES, 'faults', { mayBeNone: true }),
    processes: count(4, 'worker processes; every second one is of the other version', { least: 2 }),
  },
  smoke: '--minutes 0.15 --processes 2 --faults lose-reply,cut,drop-pushes,process-killed',
  long: '--minutes 20',

  async run(run) {
    const { minutes: long, base, faults, processes } = run.options
    let commit: string
    try {
      commit = await commitOf(base || ((await lastRelease()) ?? BEFORE_RELEASES))
    } catch (error) {
      if (error instanceof MissingHistoryError && base === '')
        return {
          report: [],
          violations: [],
          skipped: `${error.message}, so there is no version to compare with`,
        }
      throw error
    }
    const cores = [undefined, await coreAt(commit)]
    run.progress(`beside ${commit.slice(0, 7)}`)
    const wanted = { minutes: long, faults, processes, kinds: [...LOCK_KINDS, ...PERMIT_KINDS] }
    const { verdict, files } = await run.part(torture, wanted, cores)
    const shares = [sharesOf(locksTaken(files)), sharesOf(permitsTaken(files))]
    return {
      figures: { commit, parts: verdict.figures, shares },
      report: [
        `beside ${commit.slice(0, 7)}`,
        ...verdict.report,
        ...shares.map(
          ({ taken, fromTheOther }, i) =>
            `${i === 0 ? 'locks' : 'permits'}: taken ${taken[0]} times by this version and ${taken[1]} times by the other; ` +
            `${fromTheOther} times after the other version`,
        ),
      ],
      violations: [
        ...verdict.violations,
        ...shares.flatMap(({ taken }) =>
          taken.every((times) => times > 0)
            ? []
            : ['One of the versions took nothing: this run proves nothing.'],
        ),
      ],
    }
  },
})

interface Taken {
  readonly name: string
  readonly process: string
}

const locksTaken = (files: readonly string[]): Taken[] =>
  readHistories(files).flatMap((event) =>
    event.kind === 'acquired' ? [{ name: event.lock, process: event.process }] : [],
  )

const permitsTaken = (files: readonly string[]): Taken[] =>
  usesIn(readHistories<SemaphoreEvent>(files))
    .filter(({ takenMs }) => takenMs !== undefined)
    .sort((a, b) => Number(a.takenMs) - Number(b.takenMs))

/** How often each version took something, and how often after the other one. @param all in order of time */
const sharesOf = (all: readonly Taken[]): { taken: [number, number]; fromTheOther: number } => {
  const taken: [number, number] = [0, 0]
  let fromTheOther = 0
  const last = new Map<string, number>()
  for (const { name, process } of all) {
    // The version of a process: the fleet takes them in turns.
    const version = Number(process.split('-')[1]) % 2
    taken[version as 0 | 1] += 1
    if ((last.get(name) ?? version) !== version) fromTheOther += 1
    last.set(name, version)
  }
  return { taken, fromTheOther }
}
