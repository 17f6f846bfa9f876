import { CommanderError } from 'commander'
import { InvalidArgumentError, LockError, type LockClientOptions, type LockErrorCode } from '@holdfast/core'
import { completionOf } from './completion.js'
import { Connection, UsageError } from './connection.js'
import { EXIT } from './exit-code.js'
import { breakLock, list, who, type Looking } from './locks/commands.js'
import { programOf, type Actions, type CommonOptions } from './program.js'
import { runCommand } from './run/run-command.js'
import { serveBoard } from './board.js'
import { doctor } from './doctor/doctor.js'
import { top } from './live/top.js'
import { watch } from './live/watch.js'
import { ofProcess, Output, type Terminal } from './terminal.js'

/** What the command line is run with. */
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
  let json = args.includes('--json')
  const program = programOf(
    actionsFor(terminal, guardian, () => program),
    terminal.env,
    (result) => (code = result),
  )
  program.configureOutput({
    writeOut: (text) => void terminal.stdout.write(text),
    writeErr: (text) => void terminal.stderr.write(text),
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
      return error.exitCode === 0 ? EXIT.done : EXIT.usage
    }
    json = program.opts<{ json?: boolean }>().json ?? json
    return failed(error, new Output(terminal, json))
  }
}

function actionsFor(
  terminal: Terminal,
  guardian: string,
  program: () => ReturnType<typeof programOf>,
): Actions {
  const looking = (
    common: CommonOptions,
    work: (looking: Looking, connection: Connection) => Promise<number>,
  ): Promise<number> => withConnection(terminal, common, work)
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
    top: (options, common) => looking(common, (each) => top(each, options)),
    watch: (options, common) => looking(common, (each) => watch(each, options)),
    async doctor(common) {
      const connection = new Connection(common)
      try {
        return await doctor(connection, new Output(terminal, common.json))
      } finally {
        await connection.close()
      }
    },
    board: (options, common) => looking(common, (each) => serveBoard(each, options)),
    complete(shell) {
      terminal.stdout.write(completionOf(program(), shell))
      return Promise.resolve(EXIT.done)
    },
  }
}

/** Those who look see the strings of other libraries, too. */
const LOOKING: LockClientOptions = { foreignLocks: 'wait', clientName: 'holdfast-cli' }

async function withConnection(
  terminal: Terminal,
  common: CommonOptions,
  work: (looking: Looking, connection: Connection) => Promise<number>,
): Promise<number> {
  const connection = new Connection(common)
  const interrupt = new AbortController()
  const onSignal = (): void => interrupt.abort()
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    const locks = await connection.locks(LOOKING)
    const output = new Output(terminal, common.json)
    return await work({ locks, output, signal: interrupt.signal }, connection)
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
  output.note(code === EXIT.internal ? (stack ?? message) : message, {
    event: 'error',
    message,
    exitCode: code,
    ...reason,
  })
  return code
}
