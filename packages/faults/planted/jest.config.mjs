// The ordinary configuration, with another transform when there is a bug to plant.
import { fileURLToPath } from 'node:url'
import ordinary from '../../../jest.config.js'

const TRANSFORM = fileURLToPath(new URL('./jest-transform.mjs', import.meta.url))

const planting = (project) => {
  const transform = Object.entries(project.transform).map(([files, given]) => {
    const [, compilerOptions] = Array.isArray(given) ? given : []
    return [files, [TRANSFORM, { compilerOptions }]]
  })
  return { ...project, transform: Object.fromEntries(transform) }
}

export default process.env.HOLDFAST_PLANTED_BUG
  ? { ...ordinary, projects: ordinary.projects.map(planting) }
  : ordinary
