import { fileURLToPath } from 'node:url'

// Figures mean nothing beside other tests: `npm run bench:redisson` runs what measures, and nothing else.
const { mode } = JSON.parse(process.env.HOLDFAST_INTEROP ?? '{}')
const what = mode === 'bench' ? 'bench' : 'test'

/** Apart from the other tests: needs a JDK. `npm run test:interop` builds what it runs. */
export default {
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  displayName: 'interop',
  testEnvironment: 'node',
  testMatch: [`<rootDir>/packages/interop/test/**/*.${what}.ts`],
  testTimeout: 60_000,
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/scripts/jest/strip-types.mjs' },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
}
