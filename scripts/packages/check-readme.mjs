import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

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
