// Mistakes that lock libraries have been built with, as `bugs/*.txt` has them. Each is five lines: its name, the file, what
// is there, what a mistaken programmer has written instead, and who has to notice it:
//
//   torture NAME     the torture of plain locks, with the arguments of that name in tortures.mjs
//   permits ARGS     that of permits and latches
//   script ARGS      a script with these arguments
//   test FILE (ONLY) a test file of Jest, or those of its tests whose names match
import { readdirSync, readFileSync } from 'node:fs'
import * as tortures from './tortures.mjs'

const FOLDER = new URL('./bugs/', import.meta.url)
const LINES = /^(\S.*)\n {2}(\S+)\n- (.+)\n\+ ?(.*)\n {2}(torture|permits|script|test) (.+)$/

const finderOf = (kind, how) => {
  if (kind === 'torture') return { torture: tortures[how] }
  if (kind !== 'test') return { [kind]: how }
  const [, test, only] = /^(\S+)(?: \((.+)\))?$/.exec(how) ?? []
  return { test, ...(only && { only }) }
}

const bugsIn = (name) => {
  const lines = readFileSync(new URL(name, FOLDER), 'utf8').trim().split('\n')
  const bodies = lines.filter((line) => !line.startsWith('#'))
  return Array.from({ length: Math.ceil(bodies.length / 5) }, (_, i) => {
    const text = bodies.slice(5 * i, 5 * i + 5).join('\n')
    const [, bug, file, find, replace, kind, how] = LINES.exec(text) ?? []
    if (bug === undefined) throw new Error(`bugs/${name} has no planted bug of five lines here:\n${text}`)
    return [bug, { file, find, replace, ...finderOf(kind, how) }]
  })
}

/**
 * @type {Record<string, { file: string, find: string, replace: string, torture?: string, permits?: string,
 *   script?: string, test?: string, only?: string }>}
 */
export const PLANTED_BUGS = Object.fromEntries(readdirSync(FOLDER).sort().flatMap(bugsIn))
