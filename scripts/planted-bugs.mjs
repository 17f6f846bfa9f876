// Runs the torture with one planted bug after another: each has to be found. `npm run test:planted [-- TEXT ...]`
// takes those whose name has one of the texts.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { PLANTED_BUGS } from './torture/planted-bugs.mjs'

const TORTURE = fileURLToPath(new URL('./torture.mjs', import.meta.url))
const PLANT = new URL('./torture/plant.mjs', import.meta.url).href
const LENGTH = ['--minutes', '0.3', '--seed', '1']

/** @returns {Promise<{ code: number | null, output: string }>} */
const torture = (args, env) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [TORTURE, ...LENGTH, ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })

const tortureWith = (name) =>
  torture(PLANTED_BUGS[name].args, { NODE_OPTIONS: `--import ${PLANT}`, HOLDFAST_PLANTED_BUG: name })

/** How it was noticed: the first violation, or the error that ended the run. */
const evidence = (output) => {
  const lines = output.trim().split('\n')
  return (
    lines.find((line) => /^I\d+ /.test(line)) ?? lines.find((line) => /\bError\b/.test(line)) ?? lines.at(-1)
  )
}

const wanted = process.argv.slice(2)
const names = Object.keys(PLANTED_BUGS).filter(
  (name) => wanted.length === 0 || wanted.some((text) => name.includes(text)),
)
let missed = 0
// Faults that are found fault with anyway would find every bug.
for (const args of new Set(names.map((name) => PLANTED_BUGS[name].args.join(' ')))) {
  const { code, output } = await torture(args.split(' '), {})
  if (code !== 0) missed += 1
  console.log(`${code === 0 ? 'clean ' : 'DIRTY '}  without a bug, ${args}: ${evidence(output)}`)
}
for (const name of names) {
  const { code, output } = await tortureWith(name)
  const isPlanted = !/mend the planted bug/.test(output)
  const isCaught = code === 1 && isPlanted
  if (!isCaught) missed += 1
  console.log(`${isCaught ? 'caught' : 'MISSED'}  ${name}: ${evidence(output)}`)
}
console.log(
  missed === 0 ? `All ${names.length} planted bugs were caught` : `${missed} of these should be otherwise`,
)
if (missed > 0) process.exitCode = 1
