// Runs those tests of a file that one look is about. The small programs that they start get the bug by a preload.
import { TestEnvironment } from 'jest-environment-node'

const PRELOAD = `--import ${new URL('./preload.mjs', import.meta.url).href}`

export default class PlantedEnvironment extends TestEnvironment {
  #only

  constructor(config, context) {
    super(config, context)
    const { bug, only } = config.projectConfig.testEnvironmentOptions
    this.#only = only && new RegExp(only, 'i')
    // A worker runs one file at a time, and its environment is what programs inherit.
    const planted = {
      ...{ HOLDFAST_PLANTED_BUG: bug, HOLDFAST_PROGRAM_OPTIONS: bug && PRELOAD },
      HOLDFAST_TESTS_AT_ONCE: '1',
    }
    for (const env of [process.env, this.global.process.env]) {
      for (const [name, value] of Object.entries(planted)) {
        if (value) env[name] = value
        else delete env[name]
      }
    }
  }

  handleTestEvent({ name }, state) {
    if (name === 'run_start' && this.#only) state.testNamePattern = this.#only
  }
}
