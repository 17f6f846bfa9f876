import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'

/** Members that a stream of a process has beside those of any stream. */
interface MaybeTerminal {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** Where a command reads and writes. Tests have their own. */
export interface Terminal {
  readonly stdin: Readable & MaybeTerminal
  readonly stdout: Writable & MaybeTerminal
  readonly stderr: Writable & MaybeTerminal
  readonly env: Readonly<Record<string, string | undefined>>
}

export const ofProcess = (): Terminal => process

type Style = Parameters<typeof styleText>[0]

/** Output of one command: text for people, or JSON for programs. */
export class Output {
  private readonly colours: boolean
  private readonly coloursOfErrors: boolean

  constructor(
    readonly terminal: Terminal,
    readonly json: boolean,
  ) {
    const { env, stdout, stderr } = terminal
    const wanted = (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb' && !json
    this.colours = wanted && stdout.isTTY === true
    this.coloursOfErrors = wanted && stderr.isTTY === true
  }

  /** Whether somebody looks on, and the screen can be drawn anew. */
  get isWatched(): boolean {
    return !this.json && this.terminal.stdout.isTTY === true
  }

  /** Whether progress may be shown beside what is printed. */
  get showsProgress(): boolean {
    return !this.json && this.terminal.stderr.isTTY === true
  }

  get columns(): number {
    return sizeOr(100, this.terminal.stdout.columns)
  }

  get rows(): number {
    return sizeOr(30, this.terminal.stdout.rows)
  }

  /** Text that may have colours of this class: what is in it of others has gone through `printable`. */
  line(text = ''): void {
    this.terminal.stdout.write(`${text}\n`)
  }

  raw(text: string): void {
    this.terminal.stdout.write(text)
  }

  /** One value; of a live command one a line. */
  value(value: unknown, indent = 2): void {
    this.line(jsonOf(value, indent))
  }

  /** About the work, not its result: a line on stderr, whatever is in it. With `--json` a line of JSON, too. */
  note(text: string, event: Readonly<Record<string, unknown>>): void {
    const { stderr } = this.terminal
    stderr.write(this.json ? `${jsonOf(event, 0)}\n` : `holdfast: ${printable(text)}\n`)
  }

  style(style: Style, text: string): string {
    return this.colours ? styleText(style, text, { validateStream: false }) : text
  }

  styleError(style: Style, text: string): string {
    return this.coloursOfErrors ? styleText(style, text, { validateStream: false }) : text
  }
}

/** A terminal that does not know its size has none, or 0. */
function sizeOr(usual: number, size: number | undefined): number {
  return size === undefined || size === 0 ? usual : size
}

/** JSON of which no character moves the cursor, either. */
function jsonOf(value: unknown, indent: number): string {
  // The line breaks between values are JSON's own; within a text it has none.
  return JSON.stringify(value, null, indent).replaceAll(UNPRINTABLE, (character) =>
    character === '\n' ? character : unitsOf(character),
  )
}

function unitsOf(character: string): string {
  return Array.from({ length: character.length }, (_, i) => {
    return `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
  }).join('')
}

// Control characters and direction marks of a name or an owner, which anybody may choose, would move the cursor of whoever looks.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** A name or an owner from Redis, safe to print on a terminal. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => {
    const [first = 0] = [character.codePointAt(0)]
    return `\\u{${first.toString(16)}}`
  })
}

/** The same of several lines. */
export function printableLines(text: string): string {
  return text
    .split('\n')
    .map((line) => printable(line))
    .join('\n')
}

const listeners = new WeakMap<Writable, (error: Error) => void>()

/**
 * Tells of a stream that cannot be written to any more, such as a pipe that nobody reads. For as long as the process lives,
 * because a write may fail when the work is over; the last who asks is told.
 */
export function whenBroken(stream: Writable, tell: (error: Error) => void): void {
  if (!listeners.has(stream)) {
    stream.on('error', (error: Error) => listeners.get(stream)?.(error))
  }
  listeners.set(stream, tell)
}
