// Jest's transform with a planted bug: the source is changed before it is compiled.
import tsJest from 'ts-jest'
import stripTypes from '../../../scripts/jest/strip-types.mjs'
import { PLANTED_BUGS } from './bugs.mjs'
import { moduleOf, plant } from './planting.mjs'

export default {
  /** @param {{ compilerOptions?: object, bug: string }} options those of ts-jest, in the project that is compiled by it */
  createTransformer({ compilerOptions, bug: name }) {
    const bug = PLANTED_BUGS[name]
    const planted = (text, path) => (path.endsWith(`/packages/${moduleOf(bug)}`) ? plant(bug, text) : text)
    const compiler = compilerOptions ? tsJest.default.createTransformer(compilerOptions) : stripTypes
    return {
      // By what is compiled: the cache of ordinary runs stays without bugs.
      getCacheKey: (text, path, more) => compiler.getCacheKey(planted(text, path), path, more),
      process: (text, path, more) => compiler.process(planted(text, path), path, more),
      processAsync: (text, path, more) => compiler.processAsync(planted(text, path), path, more),
    }
  },
}
