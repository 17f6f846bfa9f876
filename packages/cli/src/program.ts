import { Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from './duration.js'
import { EXIT } from './exit-code.js'
import { longestGrace, usualGrace, type RunOptions } from './run/run-command.js'
import { UsageError, type ConnectionOptions } from './connection.js'
import type { LockChoice } from './run/kept.js'
import type { Shell } from './completion.js'

/** The actions of the commands; the program only reads the command line. Each resolves with the exit code. */
export interface Actions {
  run(options: RunOptions, common: CommonOptions): Promise<number>
  list(options: { pattern: string; limit: number }, common: CommonOptions): Promise<number>
  who(name: string, common: CommonOptions): Promise<number>
  breakLock(
    options: { name: string; holder: string | undefined; yes: boolean },
    common: CommonOptions,
  ): Promise<number>
  top(options: LiveOptions & { pattern: string; rows: number }, common: CommonOptions): Promise<number>
  watch(options: LiveOptions & { name: string }, common: CommonOptions): Promise<number>
  doctor(common: CommonOptions): Promise<number>
  board(options: { port: number; break: boolean }, common: CommonOptions): Promise<number>
  complete(shell: Shell): Promise<number>
}

export interface CommonOptions extends ConnectionOptions {
  readonly json: boolean
}

export interface LiveOptions {
  readonly everyMs: number
  /** Undefined: until it is interrupted. */
  readonly forMs: number | undefined
}

const USUAL_URL = 'redis://127.0.0.1:6379'

const EXIT_CODES = `
Exit codes:
   0  done; of run, the command's own code
   1  the answer is no: the lock is free, or doctor found something
   3  break was not confirmed
  64  the arguments cannot be meant
  65  what stands under the name is no lock
  69  Redis cannot be reached, or refuses to work
  70  a mistake in this program
  75  somebody else has the lock (run -E)
  76  the lock was lost while the command ran (run --lost-exit-code)
 126, 127  the command cannot be run, is not found
 128+n  ended by signal n

Documentation: https://www.npmjs.com/package/@holdfast/cli`

/**
 * @param given the arguments that it will parse, and the environment
 * @param finish is told the exit code
 */
export function programOf(
  actions: Actions,
  {
    args,
    env,
  }: { readonly args: readonly string[]; readonly env: Readonly<Record<string, string | undefined>> },
  finish: (code: number) => void,
): Command {
  const program = new Command('holdfast')
    .description(
      'Locks on Redis and Valkey: run a command under a lock, see who holds what, break a lock, check a server.',
    )
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(holdfast --help tells more)')
    .exitOverride()
  const common = (): CommonOptions => {
    const options = program.opts<CommonOptions>()
    if (options.timeout === 0) {
      throw new UsageError('--timeout is more than 0; got 0.')
    }
    return options
  }
  connectionOptions(program, env)
  program.addHelpText('after', EXIT_CODES)

  addRun(program, args, async (options) => finish(await actions.run(options, common())))
  addLooking(program, { actions, common, finish })
  addLive(program, { actions, common, finish })

  program
    .command('doctor')
    .summary('checks the server and the locks on it')
    .description(
      'Checks what locks depend on: version, eviction, persistence, rights, replicas, clock, latency, messages, keys without an end, and clients that use one lock in different ways. Each finding comes with its remedy; without any it exits 0.',
    )
    .action(async () => finish(await actions.doctor(common())))
  program
    .command('board')
    .summary('serves the board on this machine (needs @holdfast/board)')
    .description('Serves the board of @holdfast/board, to this machine alone, until it is interrupted.')
    .addOption(new Option('--port <N>', '0: any that is free').argParser(portOf).default(8_787))
    .option('--break', 'locks can be broken there', false)
    .action(async (options: { port: number; break: boolean }) =>
      finish(await actions.board(options, common())),
    )
  program
    .command('completion')
    .summary('prints a completion script for a shell')
    .description(
      'Prints what completes its commands and options.\n\n  bash: source <(holdfast completion bash)\n  zsh:  source <(holdfast completion zsh)\n  fish: holdfast completion fish | source',
    )
    .addArgument(program.createArgument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: Shell) => finish(await actions.complete(shell)))
  return program
}

function connectionOptions(program: Command, env: Readonly<Record<string, string | undefined>>): void {
  const url = env.REDIS_URL ?? ''
  program
    .addOption(
      new Option(
        '-u, --url <URL>',
        'redis://user:password@host:port/db, rediss:// for TLS; of a cluster several, with commas',
      ).default(url === '' ? USUAL_URL : url, `REDIS_URL, else ${USUAL_URL}`),
    )
    .option('--cluster', 'the URL is of a node of a Redis Cluster')
    .option(
      '--sentinel <HOSTS>',
      'host:port of Sentinels, with commas; the URL gives user, password, database and TLS',
    )
    .option('--sentinel-user <NAME>', 'of the Sentinels themselves, if they ask for one')
    .addOption(
      new Option(
        '--sentinel-password <TEXT>',
        'of the Sentinels; in an argument every user of the machine sees it',
      ).default(env.HOLDFAST_SENTINEL_PASSWORD, 'HOLDFAST_SENTINEL_PASSWORD'),
    )
    .option('--master <NAME>', 'the name that the Sentinels know (default: mymaster)')
    .option('--key-prefix <TEXT>', 'stands before every name in Redis')
    .option('--ca <FILE>', 'TLS: certificates to trust')
    .option('--cert <FILE>', 'TLS: a certificate of this client')
    .option('--key <FILE>', 'TLS: its key')
    .option('--insecure', "TLS: does not check the server's certificate")
    .addOption(durationOption('--timeout <TIME>', 'how long Redis may take to answer', 10_000, '10s'))
    .option('--json', 'prints JSON: for programs', false)
}

const RUN_EXAMPLES = `
Examples:
  holdfast run nightly-report -- ./report.sh
  holdfast run --try -E 0 cleanup -- find /srv/tmp -mtime +7 -delete
  holdfast run --wait 30s --read prices -- ./export.sh`

interface GivenToRun {
  readonly fair?: boolean
  readonly read?: boolean
  readonly write?: boolean
  readonly permits?: number
  readonly try?: boolean
  readonly wait?: number
  readonly lease: number
  readonly grace?: number
  readonly conflictExitCode: number
  readonly lostExitCode: number
}

function addRun(
  program: Command,
  args: readonly string[],
  act: (options: RunOptions) => Promise<void>,
): void {
  program
    .command('run')
    .summary('runs a command while it holds a lock')
    .description(
      'Waits for the lock, runs the command while it is held and renewed, and exits as the command does. The command gets a process group of its own: should the lock be about to end, it is ended before anybody else can have the lock, even if this program was killed or stopped. In its environment: HOLDFAST_LOCK, HOLDFAST_OWNER, and HOLDFAST_TOKEN, a number that grows with every acquisition.',
    )
    .usage('[options] <NAME> -- <COMMAND> [ARGUMENTS...]')
    .argument('<NAME>', 'of the lock')
    .argument('<COMMAND...>', 'with its arguments, behind --')
    .addOption(
      durationOption('-w, --wait <TIME>', 'how long to wait for the lock (default: as long as it takes)'),
    )
    .addOption(new Option('-n, --try', 'does not wait').conflicts('wait'))
    .addOption(
      durationOption(
        '--lease <TIME>',
        'how soon others get the lock when this machine is gone; renewed every third of it',
        30_000,
        '30s',
      ),
    )
    .addOption(
      durationOption(
        '--grace <TIME>',
        'from SIGTERM to SIGKILL, when the lock is about to end (default: 5s, at most a sixth of the lease)',
      ),
    )
    .addOption(new Option('--fair', 'in order of arrival').conflicts(['read', 'write', 'permits']))
    .addOption(new Option('--read', 'together with others that read').conflicts(['fair', 'write', 'permits']))
    .addOption(new Option('--write', 'while nobody reads or writes').conflicts(['fair', 'read', 'permits']))
    .addOption(
      new Option('--permits <N>', 'at most so many at once')
        .argParser(countOf)
        .conflicts(['fair', 'read', 'write']),
    )
    .addOption(
      new Option('-E, --conflict-exit-code <N>', 'when somebody else has the lock')
        .argParser(exitCodeOf)
        .default(EXIT.conflict),
    )
    .addOption(
      new Option('--lost-exit-code <N>', 'when the lock was lost').argParser(exitCodeOf).default(EXIT.lost),
    )
    .addHelpText('after', RUN_EXAMPLES)
    .action((name: string, command: string[], given: GivenToRun) => {
      checkSeparator(args, 1 + command.length)
      return act(runOptions(name, command, given))
    })
}

/** Where there is a `--`, the name alone stands before it: else a forgotten name would run the rest of the command. */
function checkSeparator(args: readonly string[], operands: number): void {
  const at = args.indexOf('--')
  const named = operands - (args.length - at - 1)
  if (at !== -1 && named !== 1) {
    throw new UsageError(`run takes one NAME before --, and the command behind it; got ${named} names.`)
  }
}

function runOptions(name: string, command: readonly string[], given: GivenToRun): RunOptions {
  const { lease: leaseMs, grace: graceMs = usualGrace(leaseMs) } = given
  if (leaseMs < SHORTEST_LEASE_MS) {
    throw new UsageError(`--lease is at least ${SHORTEST_LEASE_MS} ms; got ${leaseMs} ms.`)
  }
  if (graceMs > longestGrace(leaseMs)) {
    throw new UsageError(
      `--grace is at most a third of the lease, ${longestGrace(leaseMs)} ms; got ${graceMs} ms.`,
    )
  }
  return {
    ...{ name, command, leaseMs, graceMs },
    lock: choiceIn(given),
    waitMs: given.try === true ? 0 : given.wait,
    conflictCode: given.conflictExitCode,
    lostCode: given.lostExitCode,
  }
}

/** Below it the time that a signal takes would be a large part of it. */
const SHORTEST_LEASE_MS = 500

function choiceIn({ fair, read, write, permits }: GivenToRun): LockChoice {
  if (permits !== undefined) {
    return { permits }
  }
  return fair === true ? 'fair' : read === true ? 'read' : write === true ? 'write' : 'fenced'
}

interface Group {
  readonly actions: Actions
  readonly common: () => CommonOptions
  readonly finish: (code: number) => void
}

function addLooking(program: Command, { actions, common, finish }: Group): void {
  program
    .command('ls')
    .summary('lists the locks that are held')
    .description(
      'Lists the held locks of Holdfast and Redisson, and, marked, the strings that are locks of other libraries (redlock, redis-semaphore). It looks at all keys, a few at a time.',
    )
    .argument('[PATTERN]', "names, as in 'order:*'", '*')
    .addOption(new Option('--limit <N>', 'the most that are listed').argParser(countOf).default(1_000))
    .action(async (pattern: string, { limit }: { limit: number }) =>
      finish(await actions.list({ pattern, limit }, common())),
    )
  program
    .command('who')
    .summary('tells who holds a lock, and who waits')
    .description(
      'Tells who holds a lock, since when and for how long still, and who waits for it, in order. Exits 1 if it is free.',
    )
    .argument('<NAME>')
    .action(async (name: string) => finish(await actions.who(name, common())))
  program
    .command('break')
    .summary('takes a lock from a holder that is stuck')
    .description(
      'Takes a lock from its holder by force, and tells it. Only from the holder that was shown: if another has the lock by then, it keeps it, and this exits 75. The work of the holder may go on until it hears of it.',
    )
    .argument('<NAME>')
    .option('--holder <ID>', 'as who shows it (default: the one that is found)')
    .option('-y, --yes', 'does not ask', false)
    .action(async (name: string, { holder, yes }: { holder?: string; yes: boolean }) =>
      finish(await actions.breakLock({ name, holder, yes }, common())),
    )
}

interface GivenToLive {
  readonly every: number
  readonly for?: number
}

function addLive(program: Command, { actions, common, finish }: Group): void {
  const live = (command: Command, usualMs: number, usual: string): Command =>
    command
      .addOption(durationOption('--every <TIME>', 'how often it looks', usualMs, usual))
      .addOption(durationOption('--for <TIME>', 'ends after so long (default: when it is interrupted)'))
  live(program.command('top'), 1_000, '1s')
    .summary('shows the most contended locks, live')
    .description(
      'Shows the locks that most wait for, that are held for longest, and that are waited for longest, anew every second. Not on a terminal: one line of JSON, or one table, for each look.',
    )
    .argument('[PATTERN]', "names, as in 'order:*'", '*')
    .addOption(new Option('--rows <N>', 'locks of each kind').argParser(countOf).default(8))
    .action(async (pattern: string, { rows, ...given }: GivenToLive & { rows: number }) =>
      finish(await actions.top({ pattern, rows, ...liveOptions(given) }, common())),
    )
  live(program.command('watch'), 100, '100ms')
    .summary('prints every hand-off of a lock as it happens')
    .description(
      'Prints a line whenever a lock is taken, handed over, freed or broken, and whenever somebody begins to wait. What begins and ends between two looks is counted where the lock has a token.',
    )
    .argument('<NAME>')
    .action(async (name: string, given: GivenToLive) =>
      finish(await actions.watch({ name, ...liveOptions(given) }, common())),
    )
}

function liveOptions({ every, for: forMs }: GivenToLive): LiveOptions {
  if (every < 10) {
    throw new UsageError(`--every is at least 10 ms; got ${every} ms.`)
  }
  return { everyMs: every, forMs }
}

function durationOption(flags: string, help: string, usualMs?: number, usual?: string): Option {
  const option = new Option(flags, help).argParser(parseDuration)
  return usualMs === undefined ? option : option.default(usualMs, usual)
}

/** @param rule what it says of anything else */
function wholeNumber(least: number, most: number, rule: string): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (!/^\d+$/.test(text) || number < least || number > most) {
      throw new InvalidArgumentError(rule)
    }
    return number
  }
}

const countOf = wholeNumber(1, 1_000_000, 'It takes a whole number, at least 1.')
const portOf = wholeNumber(0, 65_535, 'A port is a whole number from 0 to 65535.')
const exitCodeOf = wholeNumber(0, 255, 'An exit code is a whole number from 0 to 255.')
