import { PassThrough } from 'node:stream'
import { main } from '../../../src/index.js'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface Surroundings {
  readonly env?: Record<string, string>
  /** Whether somebody sits there, and what is typed; null: the end at once. */
  readonly typed?: string | null
  readonly isTTY?: boolean
}

/** The command line in this process. */
export async function holdfast(
  args: readonly string[],
  { env = {}, typed, isTTY = false }: Surroundings = {},
): Promise<Ran> {
  const collected = { stdout: '', stderr: '' }
  const streamOf = (name: keyof typeof collected) =>
    Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns: 100, rows: 40 }).on(
      'data',
      (text: string) => (collected[name] += text),
    )
  const stdin = Object.assign(new PassThrough(), { isTTY: typed !== undefined })
  stdin.end(typeof typed === 'string' ? `${typed}\n` : '')
  const terminal = { stdin, stdout: streamOf('stdout'), stderr: streamOf('stderr'), env }
  const code = await main(args, { guardian: '/nowhere', terminal })
  return { code, ...collected }
}
