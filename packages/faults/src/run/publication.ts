import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findRedisBinary } from '../harness/servers/redis-binary.js'
import { git, ROOT } from './checkout.js'
import type { Scenario } from './scenario.js'

const USUAL_PAGE = 'docs/reliability.md'

/** The page with the figures of a scenario. */
export const pageOf = ({ page = USUAL_PAGE }: { readonly page?: string | undefined }): string => page

const END = '<!-- /figures -->'

const beginOf = (scenario: string): string => `<!-- figures of ${scenario} -->`

/** Where and how something was measured. */
export interface Measured {
  readonly commit: string
  /** As typed behind `npm run faults -- `. */
  readonly command: string
  /** Year, month and day. */
  readonly date: string
  readonly seconds: number
  /** Versions of the programs that took part. */
  readonly on: string
}

/** Figures cannot be published: the tree has changes that no commit has, or the page has no place for them. */
export class PublicationError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PublicationError'
  }
}

const durationOf = (seconds: number): string =>
  seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`

/** Lines of a report as Markdown: tables as they are, and each other line as an item of a list. */
const inMarkdown = (report: readonly string[]): string[] =>
  report
    .filter((line) => line !== '')
    .flatMap((line, i, lines) => {
      const isRow = line.startsWith('|')
      const isSameAsBefore = i === 0 || (lines[i - 1] as string).startsWith('|') === isRow
      return [...(isSameAsBefore ? [] : ['']), isRow ? line : `- ${line}`]
    })

/** The page with these figures in the place of those that the scenario had. @throws PublicationError */
export const withFigures = (
  page: string,
  scenario: string,
  report: readonly string[],
  { commit, command, date, seconds, on }: Measured,
): string => {
  const begin = beginOf(scenario)
  const from = page.indexOf(begin)
  const to = page.indexOf(END, from)
  if (from < 0 || to < 0) throw new PublicationError(`the page has no '${begin}' with a '${END}' behind it`)
  const heading = `\`npm run faults -- ${command}\` (at \`${commit}\`, ${date}, ${durationOf(seconds)}, ${on}):`
  return [page.slice(0, from) + begin, '', heading, '', ...inMarkdown(report), '', page.slice(to)].join('\n')
}

/** What is typed to repeat a run: its arguments without those that only say where the result goes. */
export const commandOf = (args: readonly string[], seed: number): string => {
  const kept = args.filter(
    (arg, i) =>
      arg !== '--write-docs' &&
      arg !== '--json' &&
      !arg.startsWith('--history') &&
      args[i - 1] !== '--history',
  )
  const hasSeed = kept.some((arg) => arg.startsWith('--seed'))
  return [...kept, ...(hasSeed ? [] : ['--seed', String(seed)])].join(' ')
}

/** The figures of one run on their way to the page of its scenario, with the commit that they are of. */
export class Publication {
  readonly #scenario: string
  readonly #page: string
  readonly #command: string
  readonly #commit: string
  readonly #startedAt = performance.now()

  private constructor(scenario: string, page: string, command: string, commit: string) {
    this.#scenario = scenario
    this.#page = page
    this.#command = command
    this.#commit = commit
  }

  /** Before the run. @throws PublicationError when what runs is not what a commit has */
  static async begin(scenario: Pick<Scenario, 'name' | 'page'>, command: string): Promise<Publication> {
    const page = pageOf(scenario)
    return new Publication(scenario.name, page, command, await cleanCommit(page))
  }

  /** After the run. @throws PublicationError when the tree has changed meanwhile */
  async write(report: readonly string[]): Promise<void> {
    if ((await cleanCommit(this.#page)) !== this.#commit)
      throw new PublicationError('another commit is checked out now')
    const server = await promisify(execFile)((await findRedisBinary()).path, ['--version'])
    const [, version = 'of an unknown version'] = /\bv=([\d.]+)/.exec(server.stdout) ?? []
    const measured = {
      commit: this.#commit,
      command: this.#command,
      date: new Date().toISOString().slice(0, 10),
      seconds: (performance.now() - this.#startedAt) / 1_000,
      on: `Redis ${version}, Node ${process.versions.node}`,
    }
    const file = join(ROOT, this.#page)
    await writeFile(file, withFigures(await readFile(file, 'utf8'), this.#scenario, report, measured))
  }
}

/** The page itself may have changes: one run after the other writes its figures there. */
const cleanCommit = async (page: string): Promise<string> => {
  const changes = await git('status', '--porcelain', '--', '.', `:(exclude)${page}`)
  if (changes !== '') throw new PublicationError(`there are changes that no commit has:\n${changes}`)
  return git('rev-parse', '--short=7', 'HEAD')
}
