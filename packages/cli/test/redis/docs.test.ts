import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { EXIT } from '../../src/exit-code.js'
import { PROGRAM } from './support/command-line.js'
import { holdfast } from './support/in-process.js'

// A database of its own: the page's names are not those of one test.
const URL_OF_REDIS = new URL('/9', process.env.HOLDFAST_TEST_REDIS_URL ?? 'redis://127.0.0.1:6379').href
const root = fileURLToPath(new URL('../../../../', import.meta.url))
const page = readFileSync(join(root, 'docs/cli.md'), 'utf8')
const COMMANDS = ['run', 'ls', 'who', 'top', 'watch', 'break', 'doctor', 'board', 'completion']

let bin: string
beforeAll(() => {
  bin = mkdtempSync(join(tmpdir(), 'holdfast-bin-'))
  symlinkSync(PROGRAM, join(bin, 'holdfast'))
})
afterAll(async () => {
  rmSync(bin, { recursive: true })
  const redis = new Redis(URL_OF_REDIS)
  await redis.flushdb()
  redis.disconnect()
})

const shell = (script: string, name = 'bash') =>
  spawnSync(name, ['-c', script], {
    encoding: 'utf8',
    // A bash whose stdin is a socket reads ~/.bashrc.
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${bin}:${process.env.PATH}`, REDIS_URL: URL_OF_REDIS },
  })
const help = async (...args: string[]) => (await holdfast([...args, '--help'])).stdout

describe('docs/cli.md', () => {
  const lines = [...page.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block]) => block!.trim().split('\n'))

  it.each(lines)('%s', (line) => {
    // Twice in a row: the second finds what the first has left.
    for (const { status, stderr } of [shell(line), shell(line)]) {
      expect({ status, stderr: stderr.replaceAll(/^holdfast: .*\n/gm, '') }).toEqual({
        status: 0,
        stderr: '',
      })
    }
  })

  it('names the codes that there are, as --help does', async () => {
    const codes = [...new Set(Object.values(EXIT))]
    const [, section = ''] = page.split('## Exit codes')
    const [table = ''] = section.split('\n## ')
    const inPage = [...table.matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(([, cell]) =>
      cell!.split(', ').map(Number),
    )
    expect(inPage).toEqual(codes)
    const [, list = ''] = (await help()).split('Exit codes:')
    const inHelp = [...list.matchAll(/^ +(\d+(?:, \d+)*) {2}/gm)].flatMap(([, cell]) =>
      cell!.split(', ').map(Number),
    )
    expect(inHelp).toEqual(codes)
  })

  it('names every finding of doctor, with its level', () => {
    const folder = join(root, 'packages/cli/src/doctor')
    const sources = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
    const made = [...sources.join('\n').matchAll(/\b(error|warning)\(\s*'([\w-]+)',/g)].map(
      ([, level, id]) => `${id} ${level}`,
    )
    const [, section = ''] = page.split('## doctor')
    const told = [...section.matchAll(/^\| `([\w-]+)` \| (\w+) \|/gm)].map(
      ([, id, level]) => `${id} ${level}`,
    )
    expect(told.toSorted()).toEqual([...new Set(made)].sort())
  })

  it('names every command, and every option that is not in a help alone', async () => {
    const all = await help()
    for (const command of COMMANDS) {
      expect(all).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'))
      expect(page).toMatch(new RegExp(`\`${command}\\b`))
    }
    const inHelp = (await Promise.all(COMMANDS.map((command) => help(command)))).join('\n')
    for (const [option] of page.matchAll(/(?<=[\s`])--[a-z][\w-]*/g)) expect(inHelp).toContain(option)
  })
})

describe('holdfast completion', () => {
  it.each([
    ['holdfast ', 1, ['run', 'doctor', '--json']],
    ['holdfast run --', 2, ['--try', '--lease', '--url']],
    ['holdfast --json completion ', 3, ['bash', 'zsh', 'fish']],
  ])('bash: %j', (line, at, wanted) => {
    const words = line.split(' ').map((word) => `"${word}"`)
    const { stdout, status } = shell(
      `source <(holdfast completion bash); COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${at}; _holdfast; echo "\${COMPREPLY[@]}"`,
    )
    expect(status).toBe(0)
    for (const word of wanted) expect(stdout.trim().split(' ')).toContain(word)
  })

  it('zsh and fish: names every command', async () => {
    for (const name of ['zsh', 'fish']) {
      const { stdout } = await holdfast(['completion', name])
      for (const command of COMMANDS) expect(stdout).toContain(command)
    }
    expect((await holdfast(['completion', 'tcsh'])).code).toBe(64)
  })
})

describe('the command line', () => {
  it('without a command, or with a misspelt one: 64, and what is there', async () => {
    expect(await holdfast([])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('Commands:') as unknown,
    })
    expect((await holdfast(['lst'])).stderr).toContain("unknown command 'lst'")
    expect((await holdfast(['--version-of'])).code).toBe(64)
  })

  it('the bin of the package holdfast starts it', () => {
    const started = join(root, 'packages/holdfast/bin/holdfast.mjs')
    expect(shell(`node ${started} --help`).stdout).toContain('Commands:')
    // Alone, in a folder without the command line, it says how to get it.
    const alone = shell(
      `mkdir ${bin}/alone && cp ${started} ${bin}/alone/ && cd ${bin}/alone && node holdfast.mjs --help`,
    )
    expect(alone).toMatchObject({
      status: 127,
      stderr: expect.stringContaining('npx @holdfast/cli') as unknown,
    })
  })
})
