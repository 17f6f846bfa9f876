import { parseOptionsAndTexts, UsageError, wholeNumber } from '../../../scripts/command-line.mjs'
import { VERSIONS } from './versions.mjs'

export const USAGE = `Usage: npm run test:interop -- [options] [FILE ...] [-- options of Jest]

  FILE                 only the test files whose path has it
  --redisson VERSION   a version of Redisson, or 'all': ${VERSIONS.join(', ')}; may be given again   (${VERSIONS[0]})
  --plain              without a NameMapper
  --mapped             with one, names, locks and semaphores only
  --seconds N          of contention for each of two kinds of locks   (60)
  --smoke              the plain and the fair lock only, and five seconds of contention
  --help

Without --redisson: --plain. With it: both, where none is given. Redisson is fetched with Maven, and its driver is kept in
~/.cache/holdfast (or HOLDFAST_CACHE).

Exit code: 0 all held, or there is no JDK, Maven or Redisson; 1 otherwise; 2 the arguments are wrong.`

const flag = { type: 'boolean', default: false }
const OPTIONS = {
  redisson: { type: 'string', multiple: true, default: [] },
  ...{ plain: flag, mapped: flag, smoke: flag, help: flag },
  seconds: { type: 'string', default: '60' },
}

/** @param {string[]} args */
export const parseArguments = (args) => {
  const end = args.includes('--') ? args.indexOf('--') : args.length
  const { values, texts: files } = parseOptionsAndTexts(args.slice(0, end), OPTIONS)
  const { redisson, plain, mapped, smoke, seconds, help } = values
  const unlike = redisson.find((each) => each !== 'all' && !/^\d+\.\d+\.\d+$/.test(each))
  if (unlike !== undefined)
    throw new UsageError(`--redisson takes a version like 4.7.0, or all, not '${unlike}'`)
  const versions = redisson.includes('all') ? VERSIONS : redisson.length > 0 ? redisson : VERSIONS.slice(0, 1)
  const isBoth = plain === mapped && (plain || (redisson.length > 0 && !smoke))
  return {
    versions,
    columns: isBoth ? ['plain', 'mapped'] : mapped ? ['mapped'] : ['plain'],
    mode: smoke ? 'smoke' : 'all',
    contentionMs: smoke ? 5_000 : 1_000 * wholeNumber('seconds', seconds, 3_600),
    help,
    files,
    forJest: args.slice(end + 1),
  }
}
