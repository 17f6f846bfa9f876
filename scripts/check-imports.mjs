// Fails on any circle of imports in a package's src. `import type` counts: what two files must know of each other cannot
// be read, moved or tested alone.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const packages = fileURLToPath(new URL('../packages', import.meta.url))
const IMPORT = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)\.js'/g

/** The files of a folder, each with those it imports. */
function graphOf(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.ts'))
  return new Map(
    files.map((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      const targets = [...text.matchAll(IMPORT)].map(
        ([, target]) => `${resolve(folder, dirname(name), target)}.ts`,
      )
      return [name, targets.map((target) => relative(folder, target))]
    }),
  )
}

/** One way round each circle (depth-first search: a target that is on the path closes one). */
function circlesIn(graph) {
  const circles = []
  const done = new Set()
  const path = []
  const visit = (file) => {
    if (path.includes(file)) {
      circles.push([...path.slice(path.indexOf(file)), file])
      return
    }
    if (done.has(file)) {
      return
    }
    path.push(file)
    graph.get(file)?.forEach(visit)
    path.pop()
    done.add(file)
  }
  ;[...graph.keys()].forEach(visit)
  return circles
}

let found = 0
for (const name of readdirSync(packages)) {
  let graph
  try {
    graph = graphOf(join(packages, name, 'src'))
  } catch (error) {
    if (error.code === 'ENOENT') {
      continue
    }
    throw error
  }
  for (const circle of circlesIn(graph)) {
    found += 1
    console.error(`${name}: ${circle.join(' -> ')}`)
  }
}
if (found > 0) {
  console.error(
    `${found} circle${found === 1 ? '' : 's'} of imports. Let the lower file declare what it needs.`,
  )
  process.exit(1)
}
console.log('No circle of imports.')
