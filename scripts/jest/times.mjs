import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { relative } from 'node:path'

/**
 * What the runs of all files took, in seconds, on the processors that are named. They rise only in a commit that says why.
 * And why some files take longer than 15 s, about the longest first.
 */
const { processors, runs, long } = JSON.parse(readFileSync(new URL('figures.json', import.meta.url), 'utf8'))
const PROCESSORS = `${cpus().length} of ${cpus()[0]?.model}`
/** Longer than this a file needs a reason. */
const LONG_S = 15
/** So much more is no finding: a machine is not always as quick. */
const ROOM = 1.25
/** So much more is a failure: a virtual machine cannot see how much of its processors others have. */
const TOO_MUCH = 2
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

/** A reporter of Jest: how long its workers were busy or waited, how long processors were busy, and which files took long. */
export default class Times {
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
    const rose = (room) => ['worker', 'cpu'].filter((what) => took[what] > room * run[what])
    if (rose(ROOM).length === 0) return
    const told = rose(ROOM)
      .map((what) => `${took[what].toFixed(0)} ${what} seconds, not ${run[what]}`)
      .join('; ')
    if (PROCESSORS === processors && rose(TOO_MUCH).length > 0) {
      this.#complaint = new Error(`${told}: for a reason, write them into scripts/jest/figures.json`)
    } else {
      console.error(
        `${told}: the machine is busy or another one, or write the reason beside scripts/jest/figures.json`,
      )
    }
  }
}
