import { beforeEach, describe, expect, it } from '@jest/globals'
import { Engine } from '../../src/engine/engine.js'
import { AccessRules } from '../../src/engine/permissions.js'
import { ErrorReply, OK } from '../../src/engine/reply.js'
import { allLuaSources } from '../../../core/test/redis/support/all-lua-sources.js'

let engine: Engine
const time = { ms: 1_000_000 }
beforeEach(() => {
  engine = new Engine({ clock: { now: () => time.ms }, runId: 'test' })
})
const ask = (text: string): unknown =>
  engine.command(text.split(' ').map((word) => (word === "''" ? '' : word)))
const run = (script: string, ...keys: string[]): unknown =>
  engine.command(['eval', script, `${keys.length}`, ...keys])
const refused = (reply: unknown): string => (reply as ErrorReply).message

describe('keys that end', () => {
  it('are there up to their last millisecond', () => {
    expect(ask('set a 1 px 100')).toBe(OK)
    time.ms += 100
    expect(ask('pttl a')).toBe(0)
    expect(ask('get a')).toBe('1')
    time.ms += 1
    expect(ask('exists a')).toBe(0)
    expect(ask('pttl a')).toBe(-2)
  })

  it('end later or earlier only where the condition allows it', () => {
    ask('set a 1')
    expect(ask('pexpire a 100 gt')).toBe(0)
    expect(ask('pexpire a 100 nx')).toBe(1)
    expect(ask('pexpire a 50 gt')).toBe(0)
    expect(ask('pexpire a 50 lt')).toBe(1)
    expect(ask('pttl a')).toBe(50)
    expect(ask('pexpire a -1')).toBe(1)
    expect(ask('exists a')).toBe(0)
  })

  it('go with their last field, member or element', () => {
    ask('hset h f v')
    ask('zadd z 1 m')
    ask('rpush l e')
    expect([ask('hdel h f'), ask('zrem z m'), ask('lrem l 0 e'), ask('dbsize')]).toEqual([1, 1, 1, 0])
  })
})

describe('commands', () => {
  it('refuse what stands under the name already, of another type', () => {
    ask('set a 1')
    expect(ask('hget a f')).toEqual(
      new ErrorReply('WRONGTYPE Operation against a key holding the wrong kind of value'),
    )
  })

  it('keep sorted sets in order of score, then of bytes', () => {
    ask('zadd z 2 b 1 c 2 a -1 d')
    expect(ask('zrange z 0 -1')).toEqual(['d', 'c', 'a', 'b'])
    expect(ask('zrange z (1 +inf byscore')).toEqual(['a', 'b'])
    expect(ask('zrange z 0 0 rev withscores')).toEqual(['b', '2'])
    expect(ask('zadd z xx lt ch 1 b 9 a 5 e')).toBe(1)
    expect(ask('zcount z -inf 1')).toBe(3)
    expect(ask('zremrangebyscore z -inf (2')).toBe(3)
  })

  it('count beyond what JavaScript counts exactly', () => {
    ask('set n 9007199254740993')
    expect(ask('incr n')).toBe(9007199254740994n)
    ask('set n 9223372036854775807')
    expect(ask('incr n')).toEqual(new ErrorReply('ERR increment or decrement would overflow'))
  })

  it('walk through keys in steps, each once', () => {
    const names = Array.from({ length: 25 }, (_, i) => `k${i}`)
    names.forEach((name) => ask(`hset ${name} f v`))
    const seen: string[] = []
    let cursor = '0'
    do {
      const [next, keys] = ask(`scan ${cursor} match k* count 7 type hash`) as [string, string[]]
      seen.push(...keys)
      cursor = next
    } while (cursor !== '0')
    expect(seen).toEqual(names)
  })

  it('refuse names, numbers and words that Redis refuses', () => {
    expect([ask('geoadd a b'), ask('get'), ask('incrby a 1.5'), ask('expire a 1 maybe')]).toEqual([
      new ErrorReply("ERR unknown command 'geoadd', with args beginning with: 'a' 'b' "),
      new ErrorReply("ERR wrong number of arguments for 'get' command"),
      new ErrorReply('ERR value is not an integer or out of range'),
      new ErrorReply('ERR Unsupported option maybe'),
    ])
  })
})

// Random programs found these, beside Redis 7.0.15: `npm run test:engine`.
describe('commands, in detail', () => {
  it.each([
    ['set a 1 px 100 px 200', OK],
    ['set a 1 px 100 ex 200', new ErrorReply('ERR syntax error')],
    ['set a 1 px x ex', new ErrorReply('ERR syntax error')],
    ['zadd z 1e-400 m', new ErrorReply('ERR value is not a valid float')],
    ["zcount z '' (", 0],
    ['zrangebyscore z 1 2 byscore', new ErrorReply('ERR syntax error')],
    ['zrange z 0 1 limit 0 -1', []],
    ['zincrby z -0 m', '-0'],
    ['lpop l 1', null],
    ['lpop l -1', new ErrorReply('ERR value is out of range, must be positive')],
    ['scan 0 count 0 count 10', new ErrorReply('ERR syntax error')],
    ['evalsha x many', new ErrorReply('NOSCRIPT No matching script. Please use EVAL.')],
    ['pubsub numpat x', new ErrorReply("ERR wrong number of arguments for 'pubsub|numpat' command")],
    ['client', new ErrorReply("ERR wrong number of arguments for 'client' command")],
    [
      'select 2147483648',
      new ErrorReply('ERR value is out of range, value must between -2147483648 and 2147483647'),
    ],
    [
      'nothing \0 a\r\nb',
      new ErrorReply("ERR unknown command 'nothing', with args beginning with: '' 'a  b' "),
    ],
  ])('%j', (text, answer) => {
    expect(ask(text)).toEqual(answer)
  })

  it('take several from the end of a list', () => {
    ask('rpush l a b c d')
    expect([ask('rpop l 2'), ask('lpop l 0'), ask('lpop l 9'), ask('exists l')]).toEqual([
      ['d', 'c'],
      [],
      ['a', 'b'],
      0,
    ])
  })

  it('find an empty name by *, and hide what has ended when it was set', () => {
    ask("set '' 1")
    expect(ask('keys *')).toEqual([''])
    expect([ask('set a 1 exat 1'), ask('exists a')]).toEqual([OK, 0])
  })

  it.each([
    ['ch:[a-y]', 'ch:x', 1],
    ['ch:[y-a]', 'ch:x', 1],
    ['[^c]*', 'ch:x', 0],
    ['n[', 'n', 0],
    ['c[h', 'ch', 1],
    ['c\\*', 'c*', 1],
    ['**x', 'ch:x', 1],
    ['*', '', 0],
    ['c?', 'c', 0],
  ])('the pattern %j and the channel %j', (pattern, channel, heard) => {
    engine.connect(() => undefined).command(['psubscribe', pattern])
    expect(engine.command(['publish', channel, ''])).toBe(heard)
  })

  it('commands, in detail of a replica need no memory, and cannot wait for others', () => {
    engine.state.isReplica = true
    engine.state.maxMemory = 1
    expect(refused(ask('set a 1'))).toMatch(/^READONLY/)
    expect(refused(ask('lpop l 1 2'))).toMatch(/^READONLY/)
    expect(refused(ask('wait 0 1'))).toMatch(/^ERR WAIT cannot be used with replica instances/)
  })
})

describe('scripts', () => {
  it('are known by their digest once they have run, until the cache is emptied', () => {
    const sha1 = 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db'
    const unknown = new ErrorReply('NOSCRIPT No matching script. Please use EVAL.')
    expect(ask(`evalsha ${sha1} 0`)).toEqual(unknown)
    expect(run('return 1')).toBe(1)
    expect(ask(`evalsha ${sha1} 0`)).toBe(1)
    ask('script flush')
    expect(ask(`evalsha ${sha1} 0`)).toEqual(unknown)
  })

  it('compile, all of Holdfast', () => {
    const answers = Object.values(allLuaSources).map((text) => engine.command(['script', 'load', text]))
    expect(answers.every((answer) => /^[0-9a-f]{40}$/.test(answer as string))).toBe(true)
  })

  it('fail with the error of their command, its digest and its line', () => {
    ask('set a 1')
    expect(refused(run("\nreturn redis.call('hget', KEYS[1], 'f')", 'a'))).toMatch(
      /^WRONGTYPE Operation against a key holding the wrong kind of value script: [0-9a-f]{40}, on @user_script:2\.$/,
    )
    expect(run("return redis.pcall('hget', KEYS[1], 'f').err", 'a')).toMatch(/^WRONGTYPE/)
  })

  it('may write out of memory once they have written what needs none', () => {
    engine.state.maxMemory = 1
    const oom = "OOM command not allowed when used memory > 'maxmemory'."
    expect(ask('set a 1')).toEqual(new ErrorReply(oom))
    expect(refused(run("return redis.call('set', 'a', 1)"))).toContain(`${oom} script: `)
    expect(run("redis.call('hdel', 'h', '') return redis.call('set', 'a', 1)")).toEqual(OK)
  })

  it('may read on a replica, and may not write', () => {
    engine.state.isReplica = true
    expect(ask('set a 1')).toEqual(new ErrorReply("READONLY You can't write against a read only replica."))
    expect(run("return redis.call('exists', 'a')")).toBe(0)
    expect(refused(run("return redis.call('del', 'a')"))).toMatch(/^READONLY/)
  })
})

describe('a server that is not well, or does not trust', () => {
  it('answers little while it loads', () => {
    engine.state.isLoading = true
    expect(ask('get a')).toEqual(new ErrorReply('LOADING Redis is loading the dataset in memory'))
    expect(ask('info persistence')).toContain('loading:1')
  })

  it('refuses commands, keys and channels to a user, in the words of 7.0', () => {
    const rules = new AccessRules({ deniedCommands: ['hget'], keys: ['a*'], channels: ['a*'] })
    const connection = engine.connect(
      () => undefined,
      () => rules,
    )
    expect(connection.command(['hget', 'a', 'f'])).toEqual(
      new ErrorReply("NOPERM this user has no permissions to run the 'hget' command"),
    )
    expect(connection.command(['get', 'b'])).toEqual(
      new ErrorReply('NOPERM this user has no permissions to access one of the keys used as arguments'),
    )
    expect(refused(connection.command(['eval', "redis.call('publish', 'b', 'x')", '0']))).toContain(
      "ERR The user executing the script can't publish to the channel mentioned in the command script: ",
    )
    expect(connection.command(['get', 'a'])).toBeNull()
  })
})

describe('messages', () => {
  it('reach those who subscribed, of either kind, and nobody afterwards', () => {
    const heard: string[][] = []
    const connection = engine.connect((kind, channel, payload) => heard.push([kind, channel, payload]))
    expect(connection.command(['subscribe', 'c', 'd'])).toEqual([
      ['subscribe', 'c', 1],
      ['subscribe', 'd', 2],
    ])
    connection.command(['ssubscribe', 'c'])
    expect([ask('publish c 1'), ask('spublish c 2'), ask('spublish d 3')]).toEqual([1, 1, 0])
    expect(ask('pubsub numsub c e')).toEqual(['c', 1, 'e', 0])
    connection.close()
    expect(ask('publish c 4')).toBe(0)
    expect(heard).toEqual([
      ['global', 'c', '1'],
      ['sharded', 'c', '2'],
    ])
  })
})
