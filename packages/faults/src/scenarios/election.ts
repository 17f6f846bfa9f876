// Leaders that are killed, stopped, cut off and asked to resign, and a Redis that restarts: what each believed, whether
// the tokens grew, whether a follower heard of every term, and how long nobody led. How to read it: docs/election.md.
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { firstOf } from '../run/judge.js'
import { readHistories, runnerFile } from '../run/history-file.js'
import { count, flag, ms } from '../run/options.js'
import { defineScenario, type Roles } from '../run/scenario.js'
import { nowMs } from '../run/shared-clock.js'
import { CandidateProcess, type CandidateSettings } from './election/candidate.js'
import { Electorate } from './election/electorate.js'
import { Follower } from './election/follower.js'
import { figuresOf, judge, type ElectionEvent } from './election/verdict.js'

const PROGRESS_EVERY = 100
/** The last faults are over by then, and somebody leads. */
const LAST_LEASES = 4

export const election = defineScenario({
  name: 'election',
  summary:
    'Leaders that are killed, stopped, cut off and asked to resign: one at a time, with growing tokens.',
  options: {
    terms: count(1_000, 'of leaders, as a follower counts them'),
    processes: count(5, 'candidates', { least: 3 }),
    lease: ms(600, 'of a term', { least: 300 }),
    calm: count(100, 'terms at the beginning without any fault, which are timed', { least: 0 }),
    loseData: flag('Redis is restarted without its data, too; what that explains is counted apart'),
  },
  smoke: '--terms 40 --processes 3 --calm 10',
  long: '',
  page: 'docs/election.md',
  heading: ({ terms, processes, lease }) => `${terms} terms of ${processes} candidates, lease ${lease} ms`,

  async run(run) {
    const { options, fleet, random, history, interrupted, progress } = run
    const redis = await run.redis()
    const observer = await LockClient.connect(redis.url, { clientName: 'observer' })
    run.after(() => observer.close({ graceMs: 0 }))
    const follower = new Follower(observer)
    const launch = async (): Promise<unknown> => fleet.launch({ leaseMs: options.lease }, { through: redis })
    for (let i = 0; i < options.processes; i += 1) await launch()
    const electorate = new Electorate({
      fleet,
      redis,
      random,
      history,
      follower,
      leaseMs: options.lease,
      losesData: options.loseData,
      launch,
    })
    let toldAt = 0
    let calmUntilMs = -Infinity
    while (follower.terms < options.terms) {
      interrupted.throwIfAborted()
      const isCalm = follower.terms < options.calm
      await electorate.step(isCalm)
      if (isCalm) calmUntilMs = nowMs()
      if (follower.terms >= toldAt + PROGRESS_EVERY) {
        toldAt = follower.terms
        progress(`${toldAt} terms`)
      }
    }
    await electorate.calmDown()
    await sleep(LAST_LEASES * options.lease)
    await fleet.callAll('finish')
    await follower.close()
    const events = readHistories<ElectionEvent>([...fleet.files, runnerFile(run)])
    const { report, figures } = figuresOf(events, options.lease, calmUntilMs)
    const { violations, apart } = judge(events, follower.told, options.lease)
    const { losses, overlaps, tokens, untold } = apart
    return {
      report: [
        `${follower.terms} terms were told to a follower, ${follower.missed} of them afterwards`,
        ...electorate.toReport(),
        ...(options.loseData
          ? [
              `Redis lost its data ${losses} times; counted apart, because that explains them: ${overlaps} overlaps of ` +
                `terms, ${tokens} tokens that are not larger, ${untold} terms that a follower was not told of`,
            ]
          : []),
        ...report,
      ],
      figures: { ...figures, ...(options.loseData ? { apart } : {}) },
      violations: firstOf(violations),
    }
  },

  worker(): Roles {
    let candidate: CandidateProcess
    return {
      begin: (settings: CandidateSettings) => {
        candidate = new CandidateProcess(settings)
      },
      clientId: () => candidate.clientId,
      resign: (to: string | null) => candidate.resign(to),
      closeAndReturn: () => candidate.closeAndReturn(),
      finish: () => candidate.finish(),
    }
  },
})
