import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as check from './check-contents.mjs'
import { checkLinks, checkReadme } from './check-readme.mjs'
import { lintManifest, lintTypes } from './check-lint.mjs'
import * as projects from './check-projects.mjs'
import { entriesOf, publishedPackages } from './published-packages.mjs'
import { repositoryAddress } from './tarballs.mjs'
import { LIMITS } from './weight.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

// Packages for a framework are installed where it is.
const PROJECT_OF = {
  '@holdfast/nestjs': 'nest-12',
  '@holdfast/bullmq': 'bullmq-6',
  '@holdfast/otel': 'otel',
}

// It brings ioredis along, which most projects are without, or have in a version of their own.
const WITH_A_CLIENT = '@holdfast/cli'

const readManifest = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** One that the URL does not choose by itself. */
const databaseOf = (redisUrl, number) => {
  const url = new URL(redisUrl)
  if (url.pathname.length <= 1) url.pathname = `/${number}`
  return url.href
}

/**
 * Looks into each tarball, installs all into empty projects of every kind that a user may have, and runs them there.
 *
 * @param {import('./tarballs.mjs').Tarball[]} packed
 * @param {{ folder: string, redisUrl: string, report: import('./report.mjs').Report, signal: AbortSignal }} setting
 */
export const checkPackages = async (packed, { folder, redisUrl, report, signal }) => {
  for (const tarball of packed) {
    const { name, file } = tarball
    const entries = entriesOf(publishedPackages().find((each) => each.name === name))
    await report.check(`${name}: what the tarball holds`, () => check.checkFileList(tarball, entries))
    await report.check(`${name}: what it weighs`, () => check.checkSize(tarball, LIMITS[name]))
    await report.check(`${name}: publint, strict`, () => lintManifest(file))
    await report.check(`${name}: attw, strict`, () => lintTypes(file, signal))
  }
  const files = packed
    .filter(({ name }) => !(name in PROJECT_OF) && name !== WITH_A_CLIENT)
    .map(({ file }) => file)
  const forFramework = (wanted) => packed.find(({ name }) => name === wanted).file
  const setting = { folder, tarballs: files, forFramework, redisUrl, signal, report }
  // Most of the time npm installs: two at a time, each with a database of its own.
  const waiting = Object.values(projects)
  const lane = async (number) => {
    const own = { ...setting, redisUrl: databaseOf(redisUrl, number) }
    for (let checkProject = waiting.shift(); checkProject; checkProject = waiting.shift()) {
      await checkProject(own)
    }
  }
  await Promise.all([lane(0), lane(1)])
  for (const { name, contents } of packed) {
    const installed = join(folder, PROJECT_OF[name] ?? 'esm', 'node_modules', name)
    await report.check(`${name}: package.json`, () =>
      check.checkManifest(readManifest(installed), readManifest(ROOT), repositoryAddress()),
    )
    await report.check(`${name}: a README that stands alone`, () =>
      checkReadme(installed, readManifest(installed)),
    )
    await report.check(`${name}: no dead link`, () => checkLinks(installed, repositoryAddress()))
    await report.check(`${name}: imports what it declares, and only that`, () =>
      check.checkImports(installed, readManifest(installed), contents),
    )
    await report.check(`${name}: an entry is one file or two, in no circle`, () =>
      check.checkLoaded(installed, readManifest(installed), contents),
    )
    await report.check(`${name}: declares no protected member`, () =>
      check.checkProtected(installed, contents),
    )
    await report.check(`${name}: its classes keep their names`, () =>
      check.checkClassNames(installed, contents),
    )
  }
}
