import { CommanderError } from 'commander'
import { InvalidArgumentError, LockError, type LockClientOptions, type LockErrorCode } from '@holdfast/core'
import { completionOf } from './completion.js'
import { Connection, UsageError } from './connection.js'
import { constants } from 'node:os'
import { codeOfSignal, EXIT } from './exit-code.js'
import { EndedBySignal, unlessAborted } from './interrupt.js'
import { breakLock, list, who, type Looking } from './locks/commands.js'
import { programOf, type Actions, type CommonOptions } from './program.js'
import { runCommand } from './run/run-command.js'
import { serveBoard } from './board.js'
import { doctor } from './doctor/doctor.js'
import { top } from './live/top.js'
import { watch } from './live/watch.js'
import { ofProcess, Output, printableLines, whenBroken, type Terminal } from './terminal.js'

/** The environment of the command line. */
export interface MainOptions {
  /** The module that runs as the guardian of `run`. */
  readonly guardian: string
  /** Default: those of this process. */
  readonly terminal?: Terminal
}

/**
 * Runs the command line. Resolves when the command has ended and nothing of it is left. Never rejects: what fails
 * is said, and has an exit code.
 * @param args without those of Node
 * @returns the exit code
 */
export async function main(
  args: readonly string[],
  { guardian, terminal = ofProcess() }: MainOptions,
): Promise<number> {
  let code: number = EXIT.done
  const [end = args.length] = [args.indexOf('--')].filter((at) => at >= 0)
  // Behind it stand a command and its own options.
  let json = args.slice(0, end).includes('--json')
  const outputEnd = new AbortController()
  whenBroken(terminal.stdout, (error) => outputEnd.abort(brokenBy(error)))
  // A message there is beside the work, which goes on without it.
  whenBroken(terminal.stderr, () => undefined)
  const program = programOf(
    actionsFor({ terminal, guardian, outputEnd: outputEnd.signal, program: () => program }),
    { args, env: terminal.env },
    (result) => (code = result),
  )
  program.configureOutput({
    writeOut: (text) => void terminal.stdout.write(text),
    // With --json what is wrong is told as JSON, below.
    writeErr: (text) => {
      if (!json) {
        terminal.stderr.write(printableLines(text))
      }
    },
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  })
  // Subcommands were made before; they take their parent's way out.
  program.commands.forEach((command) => command.copyInheritedSettings(program))
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? EXIT.done : misunderstood(error, json, terminal)
    }
    if (error instanceof EndedBySignal) {
      return codeOfSignal(constants.signals[error.signal])
    }
    json = program.opts<{ json?: boolean }>().json ?? json
    return failed(error, new Output(terminal, json))
  }
}

/** Nobody reads on, as of `holdfast watch NAME | head`: it ends as other programs do, which that signal ends. */
function brokenBy(error: Error): Error {
  return (error as NodeJS.ErrnoException).code === 'EPIPE' ? new EndedBySignal('SIGPIPE') : error
}

function misunderstood({ message }: CommanderError, json: boolean, terminal: Terminal): number {
  if (json) {
    const event = { event: 'error', message: message.replace(/^error: /, ''), exitCode: EXIT.usage }
    new Output(terminal, json).note('', event)
  }
  return EXIT.usage
}

interface Surroundings {
  readonly terminal: Terminal
  readonly guardian: string
  /** Aborts when nobody reads what is printed. */
  readonly outputEnd: AbortSignal
  readonly program: () => ReturnType<typeof programOf>
}

type Work = (looking: Looking, connection: Connection) => Promise<number>

function actionsFor(surroundings: Surroundings): Actions {
  const { terminal, guardian, program } = surroundings
  /** Until it is done. */
  const looking = (common: CommonOptions, work: Work): Promise<number> =>
    withConnection(surroundings, common, (each, connection) =>
      unlessAborted(each.signal, work(each, connection)),
    )
  /** Until it is interrupted: that is its usual end. */
  const staying = (common: CommonOptions, work: Work): Promise<number> =>
    withConnection(surroundings, common, work)
  return {
    async run(options, common) {
      const connection = new Connection(common)
      try {
        return await runCommand(options, {
          output: new Output(terminal, common.json),
          guardian,
          connect: () => connection.locks({ lockWatchdogTimeout: options.leaseMs, describeHolds: true }),
        })
      } finally {
        await connection.close()
      }
    },
    list: (options, common) => looking(common, (each) => list(each, options)),
    who: (name, common) => looking(common, (each) => who(each, name)),
    breakLock: (options, common) => looking(common, (each) => breakLock(each, options)),
    top: (options, common) => staying(common, (each) => top(each, options)),
    watch: (options, common) => staying(common, (each) => watch(each, options)),
    doctor: (common) =>
      interruptible(surroundings, common, (connection, signal) =>
        unlessAborted(signal, doctor(connection, new Output(terminal, common.json))),
      ),
    board: (options, common) => staying(common, (each) => serveBoard(each, options)),
    complete(shell) {
      terminal.stdout.write(completionOf(program(), shell))
      return Promise.resolve(EXIT.done)
    },
  }
}

/** Those who look see the strings of other libraries, too. */
const LOOKING: LockClientOptions = { foreignLocks: 'wait', clientName: 'holdfast-cli' }

function withConnection(surroundings: Surroundings, common: CommonOptions, work: Work): Promise<number> {
  return interruptible(surroundings, common, async (connection, signal) => {
    const locks = await unlessAborted(signal, connection.locks(LOOKING))
    const output = new Output(surroundings.terminal, common.json)
    const code = await work({ locks, output, signal }, connection)
    // A reader that has gone away is no interruption by whoever sits there.
    surroundings.outputEnd.throwIfAborted()
    return code
  })
}

async function interruptible(
  { outputEnd }: Surroundings,
  common: CommonOptions,
  work: (connection: Connection, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const connection = new Connection(common)
  const interrupt = new AbortController()
  const onSignal = (signal: NodeJS.Signals): void => interrupt.abort(new EndedBySignal(signal))
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    return await work(connection, AbortSignal.any([interrupt.signal, outputEnd]))
  } finally {
    process.removeListener('SIGINT', onSignal)
    process.removeListener('SIGTERM', onSignal)
    await connection.close()
  }
}

const CODES: Partial<Record<LockErrorCode, number>> = {
  INVALID_ARGUMENT: EXIT.usage,
  WRONG_TYPE: EXIT.notALock,
  REDIS_UNAVAILABLE: EXIT.unavailable,
  LOCK_TIMEOUT: EXIT.conflict,
  HOLDER_CHANGED: EXIT.conflict,
  LOCK_LOST: EXIT.lost,
}

function failed(error: unknown, output: Output): number {
  const code =
    error instanceof UsageError || error instanceof InvalidArgumentError
      ? EXIT.usage
      : error instanceof LockError
        ? (CODES[error.code] ?? EXIT.internal)
        : EXIT.internal
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  const reason = error instanceof LockError ? { code: error.code } : {}
  output.note(message, { event: 'error', message, exitCode: code, ...reason })
  if (code === EXIT.internal && !output.json) {
    const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
    frames.forEach((frame) => output.note(frame, {}))
  }
  return code
}
