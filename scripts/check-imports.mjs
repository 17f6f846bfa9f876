// Fails on any circle of imports in a package's src, and on an arrow between two rooms of core that is not listed here.
// `import type` counts: what two files must know of each other cannot be read, moved or tested alone.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const packages = fileURLToPath(new URL('../packages', import.meta.url))
/**
 * The rooms of core from top to bottom, folders and files of the root, each with what it may import: only what stands
 * below it. `index.ts` may import everything but the entries. docs/architecture.md says what each is for.
 */
const ROOMS = {
  entries:
    'index lock-client locks acquire inspect-all kinds entry diagnostics hold context scripts redis arguments events errors lock-holder keys runtime',
  'lock-client':
    'lock-thread lock-source synchronizers acquire inspect-all client context options redis arguments events runtime',
  'lock-thread': 'lock-source runtime',
  'lock-source': 'compound locks client kinds context arguments',
  compound: 'locks acquire kinds diagnostics hold context redis arguments errors runtime',
  synchronizers: 'acquire client diagnostics scripts redis arguments events errors keys runtime',
  locks: 'acquire kinds hold context scripts redis arguments errors runtime',
  acquire: 'client kinds pass entry diagnostics hold context scripts redis arguments events errors runtime',
  'inspect-all': 'kinds scripts redis arguments errors keys runtime',
  client: 'kinds pass diagnostics hold context scripts options redis events errors keys runtime',
  kinds: 'pass entry diagnostics context scripts redis arguments errors lock-holder keys runtime',
  pass: 'entry scripts redis runtime',
  entry: 'scripts options redis errors runtime',
  diagnostics: 'scripts events errors lock-holder runtime',
  hold: 'arguments errors runtime',
  context: 'arguments keys runtime',
  scripts: 'redis keys runtime',
  options: 'redis arguments errors keys runtime',
  redis: 'events errors keys runtime',
  arguments: 'errors runtime',
  events: 'errors lock-holder runtime',
  errors: 'lock-holder runtime',
  'lock-holder': 'keys runtime',
  keys: '',
  runtime: '',
}

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

const roomOf = (file) => file.split('/')[0].replace(/\.ts$/, '')

/** Faults of the arrows between the rooms of core, a line each. */
function wrongArrows(graph) {
  const order = ['entries', 'index', ...Object.keys(ROOMS).slice(1)]
  const used = new Set()
  const wrong = new Set()
  for (const [file, targets] of graph) {
    const from = roomOf(file)
    for (const target of targets) {
      const to = roomOf(target)
      if (from === to || from === 'index') {
        continue
      }
      used.add(`${from} ${to}`)
      if (!ROOMS[from]?.split(' ').includes(to)) {
        wrong.add(`core: ${file} imports ${target}, and ROOMS lists no arrow from ${from} to ${to}`)
      }
    }
  }
  for (const [from, list] of Object.entries(ROOMS)) {
    for (const to of list.split(' ').filter(Boolean)) {
      if (order.indexOf(to) <= order.indexOf(from)) {
        wrong.add(`core: ROOMS lets ${from} import ${to}, which does not stand below it`)
      } else if (!used.has(`${from} ${to}`)) {
        wrong.add(`core: ROOMS lets ${from} import ${to}, which it does not any more`)
      }
    }
  }
  return [...wrong]
}

const DOOR = 'entries/door.ts'

/** An entry imports what is in its own folder, the door of all entries, and what a user could import. */
function pastTheDoor(graph) {
  const ownOf = (file) => file.split('/').slice(0, 2).join('/')
  return [...graph]
    .filter(([file]) => file.startsWith('entries/') && file !== DOOR)
    .flatMap(([file, targets]) =>
      targets
        .filter((target) => target !== DOOR && target !== 'index.ts' && ownOf(target) !== ownOf(file))
        .map((target) => `core: ${file} imports ${target}, and not from its folder, ${DOOR} or index.ts`),
    )
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
  if (name === 'core') {
    for (const line of [...wrongArrows(graph), ...pastTheDoor(graph)]) {
      found += 1
      console.error(line)
    }
  }
}
if (found > 0) {
  console.error('Let the lower file declare what it needs, under the name of the need.')
  process.exit(1)
}
console.log('No circle of imports, and no arrow between rooms that is not listed.')
