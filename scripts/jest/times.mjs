import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** Longer than this a file needs a reason. */
const LONG_S = 15
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
  onRunComplete(_contexts, { testResults }) {
    const files = testResults
      .map(({ testFilePath, displayName, perfStats }) => ({
        name: `${relative(process.cwd(), testFilePath)} (${displayName?.name})`,
        seconds: perfStats.runtime / 1_000,
      }))
      .sort((a, b) => b.seconds - a.seconds)
    const total = files.reduce((sum, { seconds }) => sum + seconds, 0)
    const cpu = cpuSeconds()
    const ofCpu = cpu === undefined ? '' : `, ${cpu.toFixed(0)} CPU seconds`
    console.error(`\n${total.toFixed(0)} worker seconds of ${files.length} files${ofCpu}`)
    for (const { name, seconds } of files.filter((each) => each.seconds > LONG_S)) {
      console.error(`  ${seconds.toFixed(0)} s: ${name}`)
    }
  }
}
