import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Application } from 'typedoc'
import { filesBelow } from '../packages/files-below.mjs'
import { entriesOf, publishedPackages } from '../packages/published-packages.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const CORE = '@holdfast/core'

/** The rest stands on the page of the entry: a package has many that are small, and are read together. */
const ON_PAGES_OF_THEIR_OWN = ['Class', 'Interface']

/**
 * @typedef {object} EntryPages the pages of what can be imported under one name
 * @property {string} name as in `@holdfast/core/http`
 * @property {string} address on the site, with a slash at its end
 * @property {{ text: string, link: string }[]} members what has a page of its own
 * @property {string[]} paths of all its pages, without an extension
 */

/**
 * Writes the reference: a page for each entry of each published package, and for each class and interface of it. It is
 * made of the declarations that are published, which have what users can import and nothing else. `entries.json` has the
 * `EntryPages`, for the sidebar.
 *
 * @param {string} folder
 * @returns {Promise<string[]>} the paths of its pages
 */
export const writeReference = async (folder) => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const entries = publishedPackages().flatMap((published) =>
    entriesOf(published).map(({ name, file }) => ({
      name,
      description:
        name === published.name ? published.manifest.description : `An entry of \`${published.name}\`.`,
      file: join(published.folder, `dist/${file}.d.cts`),
    })),
  )
  // Core is what most look for.
  entries.sort((a, b) => Number(b.name.startsWith(CORE)) - Number(a.name.startsWith(CORE)))
  await documentEntries(entries, folder)
  for (const file of filesBelow(folder)) {
    const path = join(folder, file)
    // A union in a table begins with a line of its own, which is none there.
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(?<=[^\\]\| )\\\| /g, ''))
  }
  writeFileSync(join(folder, 'index.md'), listOf(entries))
  const pages = entries.map(({ name }) => pagesOf(name, folder))
  writeFileSync(join(folder, 'entries.json'), JSON.stringify(pages))
  return pages.flatMap(({ paths }) => paths)
}

const documentEntries = async (entries, folder) => {
  const files = entries.map(({ file }) => file)
  const app = await Application.bootstrapWithPlugins({
    plugin: ['typedoc-plugin-markdown'],
    entryPoints: files,
    tsconfig: compilerSettings(files),
    outputs: [{ name: 'markdown', path: folder }],
    cleanOutputDir: false,
    name: 'Holdfast',
    readme: 'none',
    disableSources: true,
    excludeExternals: true,
    excludePrivate: true,
    excludeProtected: true,
    excludeInternal: true,
    // Some types are mentioned without being exported: `check:api` decides which.
    validation: { notExported: false, invalidLink: true },
    logLevel: 'Warn',
    router: 'member',
    membersWithOwnFile: ON_PAGES_OF_THEIR_OWN,
    excludeScopesInPaths: true,
    entryFileName: 'index',
    hidePageHeader: true,
    hideBreadcrumbs: true,
    parametersFormat: 'table',
    useCodeBlocks: true,
    expandObjects: true,
  })
  const project = await app.convert()
  if (project === undefined) throw new Error('TypeDoc could not read the declarations')
  for (const module of project.children) module.name = nameOf(module, entries)
  app.validate(project)
  await app.generateOutputs(project)
  for (const module of project.children) {
    const origin = originOf(module)
    const path = join(folder, folderOf(module.name), 'index.md')
    if (origin)
      writeFileSync(
        path,
        `# ${module.name}\n\nExports what [\`${origin}\`](/reference/${folderOf(origin)}/index.md) exports.\n`,
      )
  }
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Error('the docstrings have faults')
}

/** TypeDoc calls a module after its file: `core/dist/http`, and `core/dist` what is its index. */
const nameOf = ({ name }, entries) => {
  const called = ({ file }) => relative(join(ROOT, 'packages'), file).replace(/(\/index)?\.d\.cts$/, '')
  const entry = entries.find((each) => called(each) === name)
  if (entry === undefined) throw new Error(`no package has the entry that TypeDoc calls ${name}`)
  return entry.name
}

/** The entry whose exports are all that this one has. */
const originOf = ({ children }) => {
  const origins = children.map((each) =>
    each.isReference() ? each.getTargetReflection().parent?.name : undefined,
  )
  return new Set(origins).size === 1 ? origins[0] : undefined
}

const compilerSettings = (files) => {
  const path = join(ROOT, 'build/site-reference.json')
  // A user's compiler finds the declarations where package.json says, not in the sources.
  const compilerOptions = { composite: false, noEmit: true, paths: {} }
  writeFileSync(path, JSON.stringify({ extends: '../tsconfig.base.json', compilerOptions, files }))
  return path
}

const folderOf = (name) => name.replace(/^@\w+\//, '')

const pagesOf = (name, folder) => {
  const own = folderOf(name)
  const files = filesBelow(join(folder, own)).map((file) => file.replace(/\.md$/, ''))
  const members = files.filter((file) => /^(classes|interfaces)\//.test(file))
  return {
    name,
    address: `/reference/${own}/`,
    members: members.map((file) => ({ text: file.split('/')[1], link: `/reference/${own}/${file}` })),
    paths: ['index', ...members].map((file) => `reference/${own}/${file}`),
  }
}

const listOf = (entries) => {
  const lines = entries.map(
    ({ name, description }) => `| [\`${name}\`](/reference/${folderOf(name)}/index.md) | ${description} |`,
  )
  return `# Reference\n\nWhat each package exports, from the docstrings of its declarations.\n\n| import | what it is |\n| --- | --- |\n${lines.join('\n')}\n`
}
