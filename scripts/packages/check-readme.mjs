import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { slug } from '../../docs/.vitepress/slug.mjs'
import { filesBelow } from './files-below.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Checks what a reader needs who has found the package on npm, and has nothing but its README: what it is, how to install it
 * and on which Node, a first use, and a link that leads further from there.
 *
 * @param {string} folder of the installed package
 * @param {Record<string, any>} manifest
 */
export const checkReadme = (folder, manifest) => {
  const { name, engines, bin, peerDependencies = {}, peerDependenciesMeta = {} } = manifest
  const text = readFileSync(join(folder, 'README.md'), 'utf8')
  const [title, , first = ''] = text.split('\n')
  assert.equal(title, `# ${name}`, 'its title is the name of the package')
  assert.match(first, /^[A-Z@[].{60,}[.:]/, 'its first paragraph says what the package is')

  const installed = [...text.matchAll(/npm install ((?:--save-dev )?[^`\n#]+)/g)].flatMap(([, names]) =>
    names.trim().split(/\s+/),
  )
  const word = (each) => each.replace(/[,.;]$/, '')
  assert.ok(installed.map(word).includes(name), `npm install ${name}`)
  const needed = Object.keys(peerDependencies).filter((each) => !peerDependenciesMeta[each]?.optional)
  const ofOurs = needed.filter((each) => each.startsWith('@holdfast/'))
  for (const each of ofOurs) {
    assert.ok(text.includes(each), `it says that ${each} is installed beside it`)
  }

  const [minimum] = /[\d.]+/.exec(engines.node)
  assert.ok(
    text.includes(`Node ${minimum} or newer`),
    `it says which Node it needs: Node ${minimum} or newer`,
  )

  const [, example] = /^```(?:js|ts)\n([^]*?)^```/m.exec(text) ?? []
  const isImported = new RegExp(`from '${name}(?:/\\w+)?'`).test(example)
  const isRun = bin !== undefined && new RegExp(`^\\$ npx ${name} `, 'm').test(text)
  assert.ok(isImported || isRun, 'its first example imports or runs the package')

  const links = [...text.matchAll(/\]\((https:\/\/[^)\s]+)\)/g)].map(([, target]) => target)
  const others = links.filter((target) => target.startsWith('https://www.npmjs.com/package/'))
  assert.ok(others.length > 0, 'it has a link to another package that works on npm')
}

/**
 * Each link of a packed text leads to a heading of that text, or to a file of the repository and a heading there, or elsewhere.
 *
 * @param {string} folder of the installed package
 * @param {string} address of the repository
 */
export const checkLinks = (folder, address) => {
  const dead = ['README.md', ...filesBelow(join(folder, 'skills')).map((each) => `skills/${each}`)].flatMap(
    (file) => {
      const text = readFileSync(join(folder, file), 'utf8')
      const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target)
      return targets.filter((target) => isDead(target, text, address)).map((target) => `${file}: ${target}`)
    },
  )
  assert.deepEqual(dead, [], 'dead links')
}

const isDead = (target, text, address) => {
  const isOurs = target.startsWith(`${address}/blob/`)
  if (!isOurs && !target.startsWith('#')) return !target.startsWith('https://')
  const [path, anchor] = target.replace(/^.*\/blob\/v[^/]+\//, '').split('#')
  if (path !== '' && !existsSync(join(ROOT, path))) return true
  const page = path === '' ? text : anchor && readFileSync(join(ROOT, path), 'utf8')
  return (
    anchor !== undefined && ![...page.matchAll(/^#+ (.+)$/gm)].some(([, title]) => slug(title) === anchor)
  )
}
