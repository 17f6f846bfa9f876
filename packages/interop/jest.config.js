import { fileURLToPath } from 'node:url'

/** Apart from the other tests: needs a JDK. `npm run test:interop` builds what it runs. */
export default {
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  displayName: 'interop',
  testEnvironment: 'node',
  testMatch: ['<rootDir>/packages/interop/test/**/*.test.ts'],
  testTimeout: 60_000,
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/scripts/jest/strip-types.mjs' },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
}
