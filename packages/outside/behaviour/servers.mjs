// Facts about servers that matter to locks. A lock is a hash `x` with one field, as Holdfast's, unless a row says otherwise.
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { RedisCluster, RedisServer, replicationInfo } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { serverBinary } from '../../../scripts/servers/server-binary.mjs'

const RELEASES = {
  'Redis 6.2': ['redis', '6.2'],
  'Redis 7.0': ['redis', '7.0'],
  'Redis 7.4': ['redis', '7.4'],
  'Redis 8.2': ['redis', '8.2'],
  'Redis 8.6': ['redis', '8.6'],
  'Valkey 8.0': ['valkey', '8'],
  'Valkey 8.1': ['valkey', '8.1'],
  'Valkey 9.1': ['valkey', '9'],
}
export const columns = Object.keys(RELEASES)
export const last = 'what follows'
export const quickColumn = 'Redis 7.0'
const CLUSTERS = ['Redis 8.2', 'Valkey 9.1']
const OWNER = '0b9f4a52-7b0e-4f0c-9d6f-2f3c1d5a7e11:1'

/** The servers that run, by column, for as long as the program does. */
const running = new Map()
const serverOf = async (column) => {
  if (!running.has(column)) {
    const { path, reason } = await serverBinary(...RELEASES[column], { log: (line) => console.error(line) })
    if (reason) return { reason }
    const start = (...args) =>
      RedisServer.start({
        binary: path,
        args: [
          ...(column === 'Redis 6.2' ? [] : ['--enable-debug-command', 'yes']),
          ...['--repl-diskless-sync-delay', '0', ...args],
        ],
      })
    running.set(column, { path, start, main: await start('--notify-keyspace-events', 'KEA') })
  }
  return running.get(column)
}

const codeOf = (error) => error.message.split(' ')[0]
/** The reply as a short text; of an error its first word. */
const told = (reply) => reply.then((value) => JSON.stringify(value)?.replaceAll('"', '') ?? 'nothing', codeOf)

export const open = async (column) => {
  const served = await serverOf(column)
  if (served.reason) return served
  const { main, start, path } = served
  const hold = async (redis, key = 'x', ms = 30_000) => {
    await redis.hset(key, OWNER, 1)
    await redis.pexpire(key, ms)
  }
  return {
    run: async (run) => {
      const ends = []
      const clientOf = (server, options = {}) => {
        const redis = new Redis(server.port, {
          maxRetriesPerRequest: 0,
          retryStrategy: () => null,
          ...options,
        })
        redis.on('error', () => undefined)
        ends.push(() => redis.disconnect())
        return redis
      }
      const started = async (...args) => {
        const server = await start(...args)
        ends.push(() => server.stop())
        return server
      }
      const replicaOf = async (server, begin = started) => {
        const replica = await begin('--replicaof', '127.0.0.1', String(server.port))
        for (let i = 0; i < 100; i += 1) {
          const [ours, theirs] = await Promise.all([replica, server].map(replicationInfo))
          // The primary counts it, and fails over to it, a moment after its link is up.
          const isOnline = /state=online/.test(theirs.get('slave0'))
          if (ours.get('master_link_status') === 'up' && isOnline) return replica
          await sleep(50)
        }
        return null
      }
      const redis = clientOf(main)
      try {
        return await run({
          ...{ redis, main, column, clientOf, started, replicaOf, hold, path },
          connect: (options) => clientOf(main, options),
          /** A primary of its own with a replica that is stopped, once the lock is there. */
          withStoppedReplica: async () => {
            const primary = await started()
            // A ping to the replica, every 10 s, is one more thing that it has not acknowledged.
            await primary.command('CONFIG', 'SET', 'repl-ping-replica-period', '3600')
            const replica = await replicaOf(primary)
            await hold(clientOf(primary))
            await primary.command('WAIT', '1', '1000')
            // Once a second it acknowledges everything, also what WAIT itself has sent.
            const isAcknowledged = async () => {
              const info = await replicationInfo(primary)
              return info.get('slave0')?.includes(`,offset=${info.get('master_repl_offset')},`)
            }
            for (let i = 0; i < 100 && !(await isAcknowledged()); i += 1) await sleep(50)
            await replica.pause()
            ends.unshift(() => replica.resume())
            return primary
          },
          /** A client of a replica, after a lock has ended that the primary does not delete. */
          withEndedLock: async () => {
            const primary = await started()
            const replica = await replicaOf(primary)
            const redis = clientOf(primary)
            await redis.call('DEBUG', 'SET-ACTIVE-EXPIRE', 0)
            await hold(redis, 'x', 300)
            const asked = clientOf(replica)
            while ((await asked.dbsize()) === 0) await sleep(20)
            await sleep(400)
            return asked
          },
          cluster: async () => {
            const cluster = await RedisCluster.start({ primaries: 3, replicasPerPrimary: 0, binary: path })
            ends.push(() => cluster.stop())
            return cluster
          },
          /** A replica of another version, or null if the link stays down. */
          replicaIn: (other) =>
            serverOf(other).then((found) =>
              found.reason
                ? 'not run'
                : replicaOf(main, async (...args) => {
                    const server = await found.start(...args)
                    ends.push(() => server.stop())
                    return server
                  }),
            ),
          onOther: (other) => serverOf(other).then((found) => found.main && clientOf(found.main)),
        })
      } finally {
        await redis.flushall().catch(() => undefined)
        await Promise.all([
          redis.call('CONFIG', 'SET', 'maxmemory', '0').catch(() => undefined),
          redis.call('CONFIG', 'SET', 'min-replicas-to-write', '0').catch(() => undefined),
        ])
        for (const end of ends) await end()
      }
    },
    close: () => undefined,
  }
}

/** Events of keys, in order, each with when it came. */
const eventsOf = async (connect, pattern = '__keyevent@0__:*') => {
  const events = []
  const subscriber = connect()
  subscriber.on('pmessage', (_, channel, key) =>
    events.push({ event: channel.slice(channel.indexOf(':') + 1), key, at: Date.now() }),
  )
  await subscriber.psubscribe(pattern)
  return events
}
const named = (events) => events.map(({ event }) => event).join(', ')

/** A script that is busy for some 300 ms by counting: on servers that stop the clock in scripts TIME does not end it. */
const LOOP = 'local n = 0 for i = 1, 40000000 do n = n + i % 7 end'
const counted = (left) => (left > 900 ? 'from its own time' : "from the script's begin")
const stepIf = async (redis, command, work) => {
  const [info] = await redis.call('COMMAND', 'INFO', command)
  return info ? work() : 'no such command'
}
const manyLocks = (redis, prefix, count, tail) =>
  redis.eval(
    `for i = 1, ${count} do local k = KEYS[1] .. i redis.call('hset', k, ARGV[1], 1) ${tail} end`,
    1,
    prefix,
    OWNER,
  )
const raw = async (port, ...lines) => {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data)).on('error', () => undefined)
  for (const [i, line] of lines.entries()) {
    if (i < 3) text = ''
    socket.write(`${line}\r\n`)
    await sleep(100)
  }
  socket.destroy()
  return text
}
const waits = async (work, ms) => {
  const done = work.then(
    () => true,
    () => true,
  )
  return (await Promise.race([done, sleep(ms, false)])) ? 'at once' : 'waits'
}
/** A client of a user that may use keys that begin with x, and channels that begin with c. */
const restricted = async (redis, connect) => {
  await redis.call('ACL', 'SETUSER', 'u', 'reset', 'resetchannels', 'on', '>p', '+@all', '~x*', '&c*')
  return connect({ username: 'u', password: 'p' })
}
/** Rows of a command that some releases do not have. */
const ofCommand = (command, rows) =>
  Object.entries(rows).map(([what, run]) => ({
    what,
    run: (tools) => stepIf(tools.redis, command, () => run(tools)),
  }))
const setAndWait = async (redis) => {
  const [, [, counted]] = await redis.multi().set('a', 1).call('WAIT', 1, 500).exec()
  return counted
}
/** Sends something while a FAILOVER waits for a replica that stands still. */
const whileFailingOver = async ({ primary, replica, clientOf, send }) => {
  const redis = clientOf(primary)
  await redis.ping()
  await replica.pause()
  await redis.set('a', 1)
  const to = ['FAILOVER', 'TO', '127.0.0.1', String(replica.port), 'TIMEOUT', '8000']
  const asked = await told(clientOf(primary).call(...to))
  return asked === 'OK' ? send(redis) : asked
}
const onCluster = (column, work) => (CLUSTERS.includes(column) ? work() : 'not run')

export const rows = [
  ...[
    ...Object.entries({
      '`WAIT 1 500` behind a write, on a new connection, the only replica stopped': async (redis) => {
        await redis.set('a', 1)
        return told(redis.call('WAIT', 1, 500))
      },
      '`MULTI`, `SET`, `WAIT 1 500`, `EXEC` there, all writes before it acknowledged: what WAIT counts':
        setAndWait,
      'the same behind a write of another connection that no replica acknowledged': async (redis, other) => {
        await other.set('b', 1)
        return setAndWait(redis)
      },
      '`WAIT 1 500` in a script that has written, there': (redis) =>
        told(redis.eval("redis.call('set', KEYS[1], 1) return redis.call('wait', 1, 500)", 1, 'a')),
      '`WAIT 1 300` after a script that only reads, on a new connection, behind a write of another one, there':
        async (redis, other) => {
          await other.set('a', 1)
          await redis.eval("return redis.call('hget', KEYS[1], 'f')", 1, 'x')
          return told(redis.call('WAIT', 1, 300))
        },
      '`WAIT 1 300` after a `PUBLISH`, there': async (redis) => {
        await redis.publish('c', 'm')
        return told(redis.call('WAIT', 1, 300))
      },
    }).map(([what, ask]) => ({
      what,
      run: async ({ withStoppedReplica, clientOf }) => {
        const primary = await withStoppedReplica()
        return ask(clientOf(primary), clientOf(primary))
      },
    })),
    {
      what: '`WAIT 1 1000` behind a lock, with a replica of Redis 7.0',
      run: async ({ redis, hold, replicaIn }) => {
        const replica = await replicaIn('Redis 7.0')
        if (replica === 'not run') return replica
        if (!replica) return 'the replica never syncs'
        await hold(redis)
        return told(redis.call('WAIT', 1, 1_000))
      },
    },
    {
      what: '`WAITAOF 1 0 500` with `appendonly no`',
      run: ({ redis }) => stepIf(redis, 'waitaof', () => told(redis.call('WAITAOF', 1, 0, 500))),
    },
  ].map((row) => ({ group: 'Replicas that acknowledge', ...row })),
  ...[
    {
      what: '`SET … PX 1000` as the last command of a script that is busy for a while: from when the lease counts',
      isQuick: true,
      run: async ({ redis }) =>
        counted(
          await redis
            .eval(`${LOOP} redis.call('set', KEYS[1], 1, 'PX', 1000)`, 1, 'a')
            .then(() => redis.pttl('a')),
        ),
    },
    {
      what: '`SET … PX 1000` behind that script, in `MULTI`',
      run: async ({ redis }) => {
        await redis.multi().eval(LOOP, 0).set('a', 1, 'PX', 1000).exec()
        return counted(await redis.pttl('a'))
      },
    },
    {
      what: 'a lock whose lease ends while a script runs: `exists` at its end',
      run: async ({ redis, hold }) => {
        await hold(redis, 'x', 60)
        return told(
          redis.eval(`redis.call('exists', KEYS[1]) ${LOOP} return redis.call('exists', KEYS[1])`, 1, 'x'),
        )
      },
    },
    {
      what: '`PEXPIRE x 0`: the event',
      isQuick: true,
      run: async ({ redis, connect, hold }) => {
        await hold(redis)
        const events = await eventsOf(connect)
        await redis.pexpire('x', 0)
        await sleep(50)
        return named(events)
      },
    },
    {
      what: '`RENAME` of the lock onto a key without a time: `PTTL` is that of the lock',
      isQuick: true,
      run: async ({ redis, hold }) => {
        await hold(redis)
        await redis.set('y', 1)
        await redis.rename('x', 'y')
        return (await redis.pttl('y')) > 29_000
      },
    },
    {
      what: '`RESTORE y 0` of the `DUMP` of a lock: `PTTL y`',
      isQuick: true,
      run: async ({ redis, hold }) => {
        await hold(redis)
        await redis.restore('y', 0, await redis.dumpBuffer('x'))
        return redis.pttl('y')
      },
    },
  ].map((row) => ({ group: 'Leases', ...row })),
  ...[
    ...ofCommand('hpexpire', {
      'the only field of a lock has a time of 100 ms, the key one of 30 s: `EXISTS` after 500 ms': async ({
        redis,
        hold,
      }) => {
        await hold(redis)
        await redis.call('HPEXPIRE', 'x', 100, 'FIELDS', 1, OWNER)
        await sleep(500)
        return redis.exists('x')
      },
      'the events of that end (`notify-keyspace-events KEA`)': async ({ redis, hold, connect }) => {
        await hold(redis)
        const events = await eventsOf(connect)
        await redis.call('HPEXPIRE', 'x', 100, 'FIELDS', 1, OWNER)
        await sleep(500)
        return named(events.filter(({ event }) => event !== 'hexpire'))
      },
      'the field has ended, active expiry is off: `HLEN` and `EXISTS` in one script behind `HEXISTS`':
        async ({ redis, hold }) => {
          await hold(redis)
          await redis.call('DEBUG', 'SET-ACTIVE-EXPIRE', 0)
          try {
            await redis.call('HPEXPIRE', 'x', 30, 'FIELDS', 1, OWNER)
            await sleep(80)
            const script =
              "redis.call('hexists', KEYS[1], ARGV[1]) return { redis.call('hlen', KEYS[1]), redis.call('exists', KEYS[1]) }"
            return (await redis.eval(script, 1, 'x', OWNER)).join(', ')
          } finally {
            await redis.call('DEBUG', 'SET-ACTIVE-EXPIRE', 1)
          }
        },
      'the time of a field after `HINCRBY` (re-entry), and after `HSET`': async ({ redis, hold }) => {
        await hold(redis)
        await redis.call('HPEXPIRE', 'x', 20_000, 'FIELDS', 1, OWNER)
        await redis.hincrby('x', OWNER, 1)
        const [kept] = await redis.call('HPTTL', 'x', 'FIELDS', 1, OWNER)
        await redis.hset('x', OWNER, 2)
        const [left] = await redis.call('HPTTL', 'x', 'FIELDS', 1, OWNER)
        return `${kept > 0 ? 'kept' : 'gone'}, ${left > 0 ? 'kept' : 'gone'}`
      },
    }),
    ...ofCommand('hsetex', {
      '`HSETEX x FNX` by a second owner: reply, and fields of the lock': async ({ redis }) => {
        await redis.call('HSETEX', 'x', 'FNX', 'PX', 30_000, 'FIELDS', 1, OWNER, 1)
        const reply = await redis.call('HSETEX', 'x', 'FNX', 'PX', 30_000, 'FIELDS', 1, 'other:2', 1)
        return `${reply}, ${await redis.hlen('x')}`
      },
      '`HSETEX x NX` by a second owner': async ({ redis }) => {
        await redis.call('HSETEX', 'x', 'FNX', 'PX', 30_000, 'FIELDS', 1, OWNER, 1)
        return told(redis.call('HSETEX', 'x', 'NX', 'PX', 30_000, 'FIELDS', 1, 'other:2', 1))
      },
    }),
    {
      what: '`MEMORY USAGE` of a lock, in steps of 64 bytes: with a key time; with a field time instead',
      run: async ({ redis, hold }) => {
        await hold(redis, 'order:0000000000000042')
        // The allocator rounds otherwise from one start of a server to the next.
        const usageOf = async (key) => Math.ceil((await redis.memory('USAGE', key)) / 64) * 64
        const usual = await usageOf('order:0000000000000042')
        const own = await stepIf(redis, 'hpexpire', async () => {
          await redis.hset('order:0000000000000043', OWNER, 1)
          await redis.call('HPEXPIRE', 'order:0000000000000043', 30_000, 'FIELDS', 1, OWNER)
          return usageOf('order:0000000000000043')
        })
        return `${usual}; ${own}`
      },
    },
    ...ofCommand('hpexpire', {
      '`OBJECT ENCODING` of it after `HPERSIST`': async ({ redis, hold }) => {
        await hold(redis)
        await redis.call('HPEXPIRE', 'x', 30_000, 'FIELDS', 1, OWNER)
        await redis.call('HPERSIST', 'x', 'FIELDS', 1, OWNER)
        return redis.object('ENCODING', 'x')
      },
    }),
  ].map((row) => ({ group: 'Locks with times of fields', ...row })),
  ...[
    {
      what: '30,000 locks end at one moment: the `expired` events that come, and how late the last is',
      run: async ({ redis, connect }) => {
        const at = Date.now() + 3_000
        await manyLocks(redis, 'l', 30_000, `redis.call('pexpireat', k, ${at})`)
        const events = await eventsOf(connect, '__keyevent@0__:expired')
        while (events.length < 30_000 && Date.now() < at + 12_000) await sleep(50)
        return `${events.length < 30_000 ? `${events.length} of 30,000` : 'all'}, ${events.at(-1).at - at > 100 ? 'more than 0.1 s' : 'less'}`
      },
    },
    {
      what: '1,000 locks end 1 ms apart: events that come after one that was due later',
      run: async ({ redis, connect }) => {
        const events = await eventsOf(connect, '__keyevent@0__:expired')
        const at = Date.now() + 1_000
        await manyLocks(redis, 'l', 1_000, `redis.call('pexpireat', k, ${at} + i)`)
        while (events.length < 1_000 && Date.now() < at + 10_000) await sleep(50)
        let latest = 0
        const late = events.filter(({ key }) => {
          const due = Number(key.slice(1))
          const isLate = due < latest
          latest = Math.max(latest, due)
          return isLate
        })
        return late.length > 500 ? 'most' : late.length > 0 ? 'some' : 'none'
      },
    },
    {
      what: '20 locks of 200 ms among 100,000 of an hour, which nobody asks for: events within 3 s',
      run: async ({ redis, connect }) => {
        await manyLocks(redis, 'h', 100_000, "redis.call('expire', k, 3600)")
        const events = await eventsOf(connect, '__keyevent@0__:expired')
        await manyLocks(redis, 's', 20, "redis.call('pexpire', k, 200)")
        await sleep(3_200)
        return events.length < 10 ? 'fewer than 10 of 20' : '10 or more of 20'
      },
    },
    {
      what: 'a lock has ended on the primary, which has not deleted it: `EXISTS`, `DBSIZE` on a replica',
      run: async ({ withEndedLock }) => {
        const asked = await withEndedLock()
        return `${await asked.exists('x')}, ${await asked.dbsize()}`
      },
    },
    {
      what: 'the same, in a script on the replica: `hget`, `pttl`',
      run: async ({ withEndedLock }) => {
        const asked = await withEndedLock()
        const script =
          "return { tostring(redis.call('hget', KEYS[1], ARGV[1])), redis.call('pttl', KEYS[1]) }"
        return (await asked.eval(script, 1, 'x', OWNER)).join(', ')
      },
    },
  ].map((row) => ({ group: 'Ends of leases', ...row })),
  ...[
    {
      what: '1,000 scripts by `EVAL`: how many of them `EVALSHA` finds',
      run: async ({ redis }) => {
        await redis.script('FLUSH')
        const scripts = Array.from({ length: 1_000 }, (_, i) => `return ${i}`)
        for (const script of scripts) await redis.eval(script, 0)
        const hashes = scripts.map((script) => createHash('sha1').update(script).digest('hex'))
        return (await redis.script('EXISTS', ...hashes)).filter((each) => each === 1).length
      },
    },
    ...[
      ['`EVAL` first, then `SCRIPT LOAD`, then 1,000 other `EVAL`s: `EVALSHA`', ['eval', 'load']],
      ['`SCRIPT LOAD` first, then `EVAL`, then 1,000 others: `EVALSHA`', ['load', 'eval']],
    ].map(([what, order]) => ({
      what,
      run: async ({ redis }) => {
        await redis.script('FLUSH')
        let sha
        for (const step of order) {
          if (step === 'eval') await redis.eval("return 'kept'", 0)
          else sha = await redis.script('LOAD', "return 'kept'")
        }
        for (let i = 0; i < 1_000; i += 1) await redis.eval(`return ${i}`, 0)
        return told(redis.evalsha(sha, 0))
      },
    })),
    {
      what: '`EVALSHA` of an unknown script between two `SET` in `MULTI`: EXEC',
      isQuick: true,
      run: async ({ redis }) => {
        const replies = await redis.multi().set('a', 1).evalsha('0'.repeat(40), 0).set('b', 1).exec()
        return replies.map(([error, value]) => (error ? codeOf(error) : value)).join(', ')
      },
    },
    {
      what: '`PUBLISH` in `EVAL_RO`',
      isQuick: true,
      run: ({ redis }) =>
        stepIf(redis, 'eval_ro', () =>
          told(redis.call('EVAL_RO', "return redis.call('publish', 'c', 'm')", 0)),
        ),
    },
    {
      what: 'a script publishes to the channel of its own RESP3 connection: which comes first',
      run: async ({ main }) => {
        const text = await raw(
          main.port,
          'HELLO 3',
          'SUBSCRIBE c',
          `EVAL "redis.call('publish','c','m') return 'r'" 0`,
        )
        return text.startsWith('>') ? 'the message' : 'the reply'
      },
    },
  ].map((row) => ({ group: 'Scripts', ...row })),
  ...[
    {
      what: 'memory is full (`noeviction`): a script that deletes, then writes',
      isQuick: true,
      run: async ({ redis, hold }) => {
        await hold(redis)
        await redis.call('CONFIG', 'SET', 'maxmemory', '1')
        return told(
          redis.eval(
            "redis.call('del', KEYS[1]) redis.call('hset', KEYS[2], 'f', 1) return 'written'",
            2,
            'x',
            'y',
          ),
        )
      },
    },
    {
      what: 'a script whose first write needs memory, there',
      isQuick: true,
      run: async ({ redis }) => {
        await redis.call('CONFIG', 'SET', 'maxmemory', '1')
        return told(redis.eval("redis.call('hset', KEYS[1], 'f', 1)", 1, 'y'))
      },
    },
    {
      what: 'a script with `#!lua` that only reads, there',
      run: async ({ redis, column }) => {
        if (column === 'Redis 6.2') return 'no such form'
        await redis.call('CONFIG', 'SET', 'maxmemory', '1')
        return told(redis.eval("#!lua\nreturn redis.call('get', KEYS[1])", 1, 'y'))
      },
    },
    {
      what: '`min-replicas-to-write 1` without a replica: `PUBLISH`; `DEL` of a missing key',
      isQuick: true,
      run: async ({ redis }) => {
        await redis.call('CONFIG', 'SET', 'min-replicas-to-write', '1')
        return `${await told(redis.publish('c', 'm'))}; ${await told(redis.del('none'))}`
      },
    },
    {
      what: 'a script that reads, then writes, there: which call is refused',
      run: async ({ redis }) => {
        await redis.call('CONFIG', 'SET', 'min-replicas-to-write', '1')
        const script =
          "redis.call('get', KEYS[1]) local r = redis.pcall('set', KEYS[1], 1) return r.err and string.match(r.err, '%u+') or 'none'"
        return told(redis.eval(script, 1, 'y'))
      },
    },
    {
      what: '`CLIENT PAUSE … WRITE`: a script that only reads; `PUBLISH`; `EVAL_RO`',
      run: async ({ started, clientOf }) => {
        const server = await started()
        const [one, two, three] = [clientOf(server), clientOf(server), clientOf(server)]
        await Promise.all([one.ping(), two.ping(), three.ping()])
        await server.command('CLIENT', 'PAUSE', '1500', 'WRITE')
        return (
          await Promise.all([
            waits(one.eval("return redis.call('get', KEYS[1])", 1, 'y'), 700),
            waits(two.publish('c', 'm'), 700),
            waits(three.call('EVAL_RO', "return redis.call('get', KEYS[1])", 1, 'y'), 700),
          ])
        ).join('; ')
      },
    },
    {
      what: 'a lease ends during such a pause: `EXISTS` then; when the `expired` event comes',
      run: async ({ started, clientOf, hold }) => {
        const server = await started('--notify-keyspace-events', 'KEA')
        const redis = clientOf(server)
        const events = await eventsOf(() => clientOf(server), '__keyevent@0__:expired')
        await hold(redis, 'x', 200)
        await server.command('CLIENT', 'PAUSE', '1500', 'WRITE')
        await sleep(700)
        const [seen, exists] = [events.length, await redis.exists('x')]
        await sleep(1_300)
        return `${exists}; ${seen > 0 ? 'at the end' : events.length > 0 ? 'after the pause' : 'not'}`
      },
    },
    {
      what: 'a message published while `FAILOVER` waits for the replica: who gets it',
      run: async ({ started, replicaOf, clientOf }) => {
        const primary = await started()
        const replica = await replicaOf(primary)
        const heard = []
        for (const [name, server] of Object.entries({ old: primary, new: replica })) {
          const subscriber = clientOf(server)
          subscriber.on('message', () => heard.push(name))
          await subscriber.subscribe('c')
        }
        return whileFailingOver({
          ...{ primary, replica, clientOf },
          send: async (redis) => {
            const sent = redis.publish('c', 'm')
            await sleep(400)
            replica.resume()
            await sent
            await sleep(300)
            return heard.length > 0
              ? `subscribers of the ${heard.sort().join(' and the ')} primary`
              : 'nobody'
          },
        })
      },
    },
    {
      what: 'a script that writes, sent then',
      run: async ({ started, replicaOf, clientOf }) => {
        const primary = await started()
        const replica = await replicaOf(primary)
        return whileFailingOver({
          ...{ primary, replica, clientOf },
          send: async (redis) => {
            const sent = told(redis.eval("return redis.call('set', KEYS[1], 2)", 1, 'a'))
            const first = await waits(sent, 300)
            replica.resume()
            return `${first}, then ${await sent}`
          },
        })
      },
    },
  ].map((row) => ({ group: 'Refused, paused, failing over', ...row })),
  ...[
    {
      what: '`DUMP` of a lock: `RESTORE` on Redis 7.0 and on Valkey 9.1',
      run: async ({ redis, hold, onOther }) => {
        await hold(redis)
        const payload = await redis.dumpBuffer('x')
        const answers = []
        for (const other of ['Redis 7.0', 'Valkey 9.1']) {
          const target = await onOther(other)
          answers.push(target ? await told(target.restore('restored', 0, payload, 'REPLACE')) : 'not run')
          await target?.del('restored')
        }
        return answers.join('; ')
      },
    },
    {
      what: 'a replica of Redis 8.2 syncs with it, and has the lock',
      run: async ({ redis, hold, replicaIn }) => {
        await hold(redis)
        const replica = await replicaIn('Redis 8.2')
        if (replica === 'not run') return replica
        return replica
          ? (await replica.command('EXISTS', 'x')) === 1
            ? 'yes'
            : 'without the lock'
          : 'never syncs'
      },
    },
    {
      what: 'the versions that it tells: `redis_version`, `valkey_version` of `INFO`',
      isQuick: true,
      run: async ({ redis }) => {
        const info = await redis.info('server')
        const of = (name) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? '–'
        return `${of('redis_version')}, ${of('valkey_version')}`
      },
    },
  ].map((row) => ({ group: 'Between families', ...row })),
  ...[
    {
      what: 'a script publishes to a channel that its user may not use, behind a write: the code, and whether the write stays',
      run: async ({ redis, connect }) => {
        const user = await restricted(redis, connect)
        const code = await told(
          user.eval("redis.call('set', KEYS[1], 1) redis.call('publish', 'other', 'm')", 1, 'x'),
        )
        return `${code}, ${(await redis.exists('x')) ? 'stays' : 'gone'}`
      },
    },
    {
      what: 'an allowed channel passed in `KEYS`, whose name is no allowed key',
      run: async ({ redis, connect }) => {
        const user = await restricted(redis, connect)
        return told(user.eval("return redis.call('publish', KEYS[1], 'm')", 1, 'c1'))
      },
    },
    {
      what: 'a forbidden key that a script reads without naming it in `KEYS`',
      run: async ({ redis, connect }) => {
        const user = await restricted(redis, connect)
        return told(user.eval("return redis.call('get', 'other')", 0))
      },
    },
    {
      what: '`CLIENT KILL TYPE normal`: a RESP3 connection that is subscribed',
      run: async ({ redis, connect }) => {
        const subscriber = connect()
        await subscriber.subscribe('c')
        await redis.call('CLIENT', 'KILL', 'TYPE', 'normal')
        await sleep(100)
        return subscriber.status === 'ready' ? 'stays' : 'ends'
      },
    },
  ].map((row) => ({ group: 'Users and connections', ...row })),
  ...[
    ...[
      [
        'a slot with 1,000 locks is moved in one step: errors of a script that is sent all the time',
        'errors',
      ],
      ['a subscriber (`SSUBSCRIBE`) of a channel in that slot', 'subscriber'],
      ['the events of one of its locks at the target', 'events'],
    ].map(([what, seen]) => ({
      what,
      run: ({ column, cluster }) => onCluster(column, async () => (await moved(await cluster()))[seen]),
    })),
    {
      what: '`SELECT 1` in a cluster',
      run: ({ column, cluster }) =>
        onCluster(column, async () => told((await cluster()).nodes[0].command('SELECT', '1'))),
    },
  ].map((row) => ({ group: 'Clusters', ...row })),
]

/** Moves the slot of `{t}` by the command of Valkey 9, or says that there is none. */
const moved = async (cluster) => {
  const slot = Number(await cluster.nodes[0].command('CLUSTER', 'KEYSLOT', '{t}'))
  const owners = await Promise.all(
    cluster.nodes.map(async (node) => ({
      node,
      id: String(await node.command('CLUSTER', 'MYID')),
      owns: await node.command('HSETNX', '{t}probe', 'f', '1').then(
        () => true,
        () => false,
      ),
    })),
  )
  const source = owners.find(({ owns }) => owns)
  const target = owners.find(({ owns }) => !owns)
  if (!source || !target) throw new Error('no owner of the slot')
  const help = String(await source.node.command('CLUSTER', 'HELP'))
  if (!/MIGRATESLOTS/.test(help)) {
    return { errors: 'no such command', subscriber: 'no such command', events: 'no such command' }
  }
  const redis = new Redis(source.node.port)
  const watcher = new Redis(target.node.port)
  const errors = new Set()
  const events = []
  try {
    await manyLocks(redis, '{t}l', 1_000, "redis.call('expire', k, 3600)")
    await target.node.command('CONFIG', 'SET', 'notify-keyspace-events', 'KEA')
    watcher.on('pmessage', (_, channel, key) => key === '{t}l7' && events.push(channel.slice(15)))
    await watcher.psubscribe('__keyevent@0__:*')
    // By hand: ioredis tells nobody of it.
    const heard = raw(source.node.port, 'HELLO 3', 'SSUBSCRIBE {t}c', ...Array(20).fill('PING'))
    await sleep(300)
    const range = ['SLOTSRANGE', String(slot), String(slot)]
    await source.node.command('CLUSTER', 'MIGRATESLOTS', ...range, 'NODE', target.id)
    for (let i = 0; i < 400 && errors.size === 0; i += 1) {
      await redis
        .eval("return redis.call('hincrby', KEYS[1], 'f', 1)", 1, '{t}n')
        .catch((error) => errors.add(codeOf(error)))
      await sleep(5)
    }
    await sleep(300)
    return {
      errors: [...errors].join(', ') || 'none',
      subscriber: /sunsubscribe/.test(await heard) ? 'unsubscribed' : 'stays',
      events: [...new Set(events)].join(', ') || 'none',
    }
  } finally {
    for (const each of [redis, watcher]) each.disconnect()
  }
}
