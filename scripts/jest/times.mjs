import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { relative } from 'node:path'

/**
 * What the runs of all files took, in seconds, on the processors that are named. They rise only in a commit that says why.
 * And why some files take longer than 15 s, the longest first.
 */
const { processors, runs, long } = JSON.parse(readFileSync(new URL('figures.json', import.meta.url), 'utf8'))
const PROCESSORS = `${cpus().length} of ${cpus()[0]?.model}`
/** Longer than this a file needs a reason. */
const LONG_S = 15
/** So much more is no finding: a machine is not always as quick. */
const ROOM = 1.25
/** While other programs have more than this part of the processors, no figure says anything of the tests. */
const MOST_OF_OTHERS = 0.1
/** Ticks of Linux, which counts in hundredths of a second. */
const TICKS_PER_S = 100

/** Processor time of this process and all that it waited for: workers, and the servers that they ended. */
const cpuSeconds = () => {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_S
  } catch {
    return undefined
  }
}

/** Seconds of all processors, and of these those that programs had; without those of a low priority. */
const machineSeconds = () => {
  const times = cpus().map((each) => each.times)
  const sumOf = (kinds) =>
    times.reduce((sum, each) => sum + kinds.reduce((all, kind) => all + each[kind], 0), 0) / 1_000
  return { all: sumOf(['user', 'nice', 'sys', 'idle', 'irq']), busy: sumOf(['user', 'sys', 'irq']) }
}

/** A reporter of Jest: how long its workers were busy or waited, how long processors were busy, and which files took long. */
export default class Times {
  #begun = machineSeconds()
  #complaint

  onRunComplete(_contexts, { testResults }) {
    const files = testResults
      .map(({ testFilePath, displayName, perfStats }) => ({
        ...{ path: relative(process.cwd(), testFilePath), project: displayName?.name },
        seconds: perfStats.runtime / 1_000,
      }))
      .sort((a, b) => b.seconds - a.seconds)
    const worker = files.reduce((sum, { seconds }) => sum + seconds, 0)
    const cpu = cpuSeconds()
    const ofCpu = cpu === undefined ? '' : `, ${cpu.toFixed(0)} CPU seconds`
    console.error(`\n${worker.toFixed(0)} worker seconds of ${files.length} files${ofCpu}`)
    for (const { path, project, seconds } of files.filter((each) => each.seconds > LONG_S)) {
      console.error(
        `  ${seconds.toFixed(0)} s: ${path} (${project}): ${long[path] ?? 'figures.json has no reason'}`,
      )
    }
    const run = runs.find(
      (each) => each.files <= files.length && files.some(({ project }) => project === each.project),
    )
    if (run && cpu !== undefined) this.#compare(run, { worker, cpu })
  }

  getLastError() {
    return this.#complaint
  }

  #compare(run, took) {
    const rose = ['worker', 'cpu'].filter((what) => took[what] > ROOM * run[what])
    if (rose.length === 0) return
    const { all, busy } = Object.fromEntries(
      Object.entries(machineSeconds()).map(([what, seconds]) => [what, seconds - this.#begun[what]]),
    )
    const told = rose.map((what) => `${took[what].toFixed(0)} ${what} seconds, not ${run[what]}`).join('; ')
    const isJudged = PROCESSORS === processors && busy - took.cpu < MOST_OF_OTHERS * all
    if (isJudged)
      this.#complaint = new Error(`${told}: for a reason, write them into scripts/jest/figures.json`)
    else console.error(`${told}; not judged, on another machine or beside other programs`)
  }
}
