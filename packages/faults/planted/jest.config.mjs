// The ordinary configuration for one test file, once for each bug to plant in one start of Jest.
import { fileURLToPath } from 'node:url'
import ordinary from '../../../jest.config.js'

const [TRANSFORM, ENVIRONMENT, REPORTER] = ['jest-transform', 'jest-environment', 'jest-reporter'].map(
  (name) => fileURLToPath(new URL(`./${name}.mjs`, import.meta.url)),
)

const { project, looks } = JSON.parse(process.env.HOLDFAST_PLANTED_LOOKS)
const given = ordinary.projects.find(({ displayName }) => displayName === project)

const transformWith = (bug) =>
  Object.fromEntries(
    Object.entries(given.transform).map(([files, how]) => {
      const [, compilerOptions] = Array.isArray(how) ? how : []
      return [files, [TRANSFORM, { compilerOptions, bug }]]
    }),
  )

export default {
  ...ordinary,
  // A bug may let a test wait for ever.
  testTimeout: 30_000,
  reporters: [REPORTER],
  // A process for each look: what one with a bug leaves behind is no finding of the next.
  workerIdleMemoryLimit: 1,
  projects: looks.map(({ bug, only }, i) => ({
    ...given,
    displayName: `${i}`,
    // Files of other folders are found neither as tests nor as modules: each project looks through its own.
    roots: ['<rootDir>/packages'],
    transform: bug === undefined ? given.transform : transformWith(bug),
    testEnvironment: ENVIRONMENT,
    testEnvironmentOptions: { bug, only },
  })),
}
