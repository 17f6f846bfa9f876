import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { command } from '../packages/command.mjs'
import { asInstalledHere, Project } from '../packages/project.mjs'
import { entriesOf, publishedPackages } from '../packages/published-packages.mjs'
import { packAll } from '../packages/tarballs.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const CLIENTS = ['ioredis', 'redis']
/** Peers of the packages for a framework. */
const FRAMEWORKS = [
  ...['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'],
  ...['bullmq', '@opentelemetry/api', 'kysely', 'drizzle-orm'],
]

/**
 * Packs what would be published, and installs all of it into a project outside this repository.
 *
 * @param {string} folder
 * @param {{ redisUrl: string, signal: AbortSignal }} setting
 */
export const userProject = async (folder, { redisUrl, signal }) => {
  await command(process.execPath, ['scripts/build.mjs'], { cwd: ROOT, signal })
  const tarballs = join(folder, 'tarballs')
  await mkdir(tarballs)
  const packed = await packAll(tarballs, signal)
  const project = new Project(join(folder, 'user'), { type: 'module', redisUrl, signal })
  await project.install([
    ...packed.map(({ file }) => file),
    ...[...CLIENTS, ...FRAMEWORKS].map(asInstalledHere),
  ])
  project.take('runtime.mjs')
  return project
}

/**
 * Loads every entry with the runtime, and runs projects/runtime.mjs with each client.
 *
 * @param {import('../packages/project.mjs').Project} project
 * @param {{ path: string, run: string[] }} runtime
 * @returns {Promise<import('../support/cell.mjs').Outcome>} of each client one
 */
export const smokeOn = async (project, { path, run }) => {
  const entries = publishedPackages().flatMap((each) => entriesOf(each).map(({ name }) => name))
  const failures = []
  for (const client of CLIENTS) {
    const args = [...run, 'runtime.mjs', client, ...entries]
    try {
      const stdout = await command(path, args, project.setting)
      if (!stdout.endsWith('ok\n')) throw new Error(`Error: it ended early and wrote '${stdout}'`)
    } catch (error) {
      failures.push(`${client}: ${reasonIn(error.message)}`)
    }
  }
  return { passed: CLIENTS.length - failures.length, failed: failures.length, failures }
}

/** The line of an error among all that a runtime says of it, below the command that was run. */
const reasonIn = (message) => {
  const [, ...said] = message.trim().split('\n')
  return (said.find((line) => /\b\w*Error\b/.test(line)) ?? said.at(-1) ?? message).trim()
}
