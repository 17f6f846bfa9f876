import { TestEnvironment } from 'jest-environment-node'
import { EXCEPTIONS } from './exceptions.mjs'

/** Skips what cannot run on the engine, by its title. */
export default class EngineEnvironment extends TestEnvironment {
  handleTestEvent(event) {
    if (event.name === 'test_start' && EXCEPTIONS.some(({ title }) => event.test.name.includes(title))) {
      event.test.mode = 'skip'
    }
  }
}
