import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { RedisUnavailableError, WrongTypeError } from '../../src/index.js'
import { codeOf, isInWordsOfRedis, proofOf, refusal } from '../../src/redis/failures.js'

// The answers of servers: Redis 6.2.14, 7.0.15, 8.2.3 and Valkey 9.1.2, each asked for the same.
const CALL = 'ERR Error running script (call to f_91fb98f1f472072e36230bd1f864f688f3ab12cd): @user_script:1: '
const SHA = 'script: 91fb98f1f472072e36230bd1f864f688f3ab12cd, on @user_script:1.'
const VALKEY = 'script: on @user_script:1.'
const WRONG_KIND = 'WRONGTYPE Operation against a key holding the wrong kind of value'
const READ_ONLY = "READONLY You can't write against a read only replica."
const NO_MEMORY = "OOM command not allowed when used memory > 'maxmemory'."
const TOO_FEW = 'NOREPLICAS Not enough good replicas to write.'
const NO_SNAPSHOT =
  'MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist on disk. Commands that ' +
  'may modify the data set are disabled, because this instance is configured to report errors during writes if RDB ' +
  'snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.'
const NO_SNAPSHOT_VALKEY = NO_SNAPSHOT.replaceAll('Redis', 'Valkey').replace('it is', "it's")

/** Outside scripts; in one; in one of many that travel as one script; in one of later servers. */
const everywhere = (text: string): string[] => [
  ...[text, `${CALL}@user_script: 1: -${text}`, `@user_script: 1: -${text}`],
  ...[`${text} ${SHA}`, `${text} ${VALKEY}`],
]

const PASSING: Record<string, readonly string[]> = {
  READONLY: everywhere(READ_ONLY),
  NOREPLICAS: everywhere(TOO_FEW),
  MISCONF: [
    NO_SNAPSHOT,
    `${CALL}@user_script: 1: -${NO_SNAPSHOT}`,
    `${NO_SNAPSHOT} ${SHA}`,
    `${NO_SNAPSHOT_VALKEY} ${VALKEY}`,
  ],
  LOADING: [
    'LOADING Redis is loading the dataset in memory',
    'LOADING Valkey is loading the dataset in memory',
  ],
  MASTERDOWN: ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."],
  BUSY: [
    'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
    'BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  ],
}

const LASTING: Record<string, readonly string[]> = {
  OOM: everywhere(NO_MEMORY),
  NOSCRIPT: ['NOSCRIPT No matching script. Please use EVAL.', 'NOSCRIPT No matching script.'],
  NOPERM: [
    "NOPERM this user has no permissions to run the 'set' command or its subcommand",
    "NOPERM this user has no permissions to run the 'set' command",
    "NOPERM User lim has no permissions to run the 'set' command",
    'NOPERM this user has no permissions to access one of the keys used as arguments',
    'NOPERM No permissions to access a key',
  ],
}

/** Errors of a script, which may have written before it met them. */
const UNKNOWN: Record<string, readonly string[]> = {
  NOPERM: [
    `${CALL}@user_script: 1: The user executing the script can't run this command or subcommand`,
    `@user_script: 1: The user executing the script can't run this command or subcommand`,
    `${CALL}@user_script: 1: The user executing the script can't publish to the channel mentioned in the command`,
    `ERR The user executing the script can't run this command or subcommand ${SHA}`,
    `ERR ACL failure in script: User lim has no permissions to run the 'set' command ${SHA}`,
    `ERR ACL failure in script: No permissions to access a channel ${VALKEY}`,
  ],
  ERR: [
    `${CALL}user_script:1: attempt to index local 'x' (a nil value)`,
    `ERR user_script:1: attempt to index local 'x' (a nil value) ${SHA}`,
    `${CALL}Script killed by user with SCRIPT KILL...`,
    `ERR Unknown command called from script ${VALKEY}`,
  ],
}

const texts = (of: typeof PASSING): [string, string][] =>
  Object.entries(of).flatMap(([code, said]) => said.map((text): [string, string] => [code, text]))

const call = { lockName: 'order:42', keys: ['order:42', 'holdfast:latch'] }

describe('an error of Redis', () => {
  it.each(texts(PASSING))('%s passes: %s', (code, text) => {
    expect(codeOf(new Error(text))).toBe(code)
    const error = refusal(new Error(text), call)
    expect(error).toBeInstanceOf(RedisUnavailableError)
    expect(error).toMatchObject({ outcome: 'refused', transient: true })
    expect(error.message).toContain(`Redis refused the command: ${code} `)
    // Where in the script says nothing to a user, and what to do next comes after it.
    expect(error.message).not.toMatch(/user_script/)
    expect(error.message).toMatch(
      /\. It (does so for a while|accepts writes again when)|\. A script has kept it busy/,
    )
  })

  it.each(texts(LASTING))('%s lasts: %s', (code, text) => {
    expect(codeOf(new Error(text))).toBe(code)
    expect(refusal(new Error(text), call)).toMatchObject({ outcome: 'refused', transient: false })
  })

  it.each(texts(UNKNOWN))('%s in a script proves nothing: %s', (code, text) => {
    const error = refusal(new Error(text), call)
    expect(error).toMatchObject({ outcome: 'unknown', transient: code !== 'NOPERM' })
    expect(error.message.includes('docs/acl.md')).toBe(code === 'NOPERM')
    expect(error.message).not.toMatch(/on @user_script/)
  })

  it.each([
    WRONG_KIND,
    `${CALL}${WRONG_KIND}`,
    `${CALL.replace(':1: ', ':54: ')}${WRONG_KIND}`,
    `${WRONG_KIND} ${SHA}`,
    `${WRONG_KIND} ${VALKEY}`,
  ])('an error of a wrong kind is WRONG_TYPE: %s', (text) => {
    const error = refusal(new Error(text), call)
    expect(error).toBeInstanceOf(WrongTypeError)
    expect(error).toMatchObject({ key: 'order:42' })
    expect(error.message).toContain(`Key "order:42" is not a lock: ${WRONG_KIND}. Choose another name`)
  })

  it.each([...texts(PASSING), ...texts(LASTING), ...texts(UNKNOWN)])(
    '%s is told from an error of a client: %s',
    (_, text) => {
      expect(isInWordsOfRedis(text)).toBe(true)
    },
  )

  it.each([
    'The client is closed',
    'Socket closed unexpectedly',
    'read ECONNRESET',
    'connect ECONNREFUSED 127.0.0.1:1',
  ])('is not what a client says: %s', (text) => expect(isInWordsOfRedis(text)).toBe(false))
})

describe('docs/errors.md', () => {
  const page = readFileSync(fileURLToPath(new URL('../../../../docs/errors.md', import.meta.url)), 'utf8')
  const [, table = ''] = /### What an answer proves\n([^]*?)\n### /.exec(page) ?? []
  const rows = [...table.matchAll(/^\| (`.*`) \|(.*)\|(.*)\|(.*)\|$/gm)].flatMap(
    ([, answers = '', ...cells]) => {
      const proofs = (['for good', 'for now', 'unknown'] as const).filter((_, i) => cells[i]?.trim() !== '')
      return [...answers.matchAll(/`([^`]+)`/g)].map(([, answer]) => [answer!, proofs] as const)
    },
  )

  it('has a row for every code that proves something', () => {
    const code = /const (?:TRANSIENT|LASTING) = new Set\(\[([^\]]+)\]/g
    const sources = readFileSync(
      fileURLToPath(new URL('../../src/redis/failures.ts', import.meta.url)),
      'utf8',
    )
    const codes = [...sources.matchAll(code)].flatMap(([, list]) =>
      [...list!.matchAll(/'(\w+)'/g)].map(([, each]) => each),
    )
    expect(codes.length).toBeGreaterThan(15)
    expect(codes.filter((each) => !rows.some(([answer]) => answer.startsWith(`${each} `)))).toEqual([])
  })

  it.each(rows)('says what %s proves', (answer, proofs) => {
    expect([proofOf(new Error(answer))]).toEqual(proofs)
  })
})
