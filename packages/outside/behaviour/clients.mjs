// Facts about Redis clients for whoever shares a connection with Holdfast, or uses one beside it. Redis 7.0 of this machine.
import { AsyncLocalStorage } from 'node:async_hooks'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { FaultProxy, RedisServer } from '@holdfast/faults/harness'
import { startBun } from './bun-client.mjs'
import { packagesOf } from './packages.mjs'

const VERSIONS = {
  ioredis6: 'npm:ioredis@6.0.0',
  ioredis5: 'npm:ioredis@5.11.1',
  iovalkey: '0.4.0',
  redis6: 'npm:redis@6.3.1',
  redis5: 'npm:redis@5.12.1',
  '@valkey/valkey-glide': '2.5.2',
}
export const columns = [
  'ioredis 6',
  'ioredis 5',
  'iovalkey',
  'node-redis 6',
  'node-redis 5',
  'its pool, 6',
  'its Sentinel, 6',
  'its cluster, 6',
  'GLIDE',
  'Bun',
]
export const last = 'with Holdfast'
export const quickColumn = 'ioredis 6'
/** The columns run beside each other. */
export const atOnce = true
const NONE = 'no such thing'

const adapters = {
  /** ioredis and its fork. */
  io: ({ Redis, default: Default }) => ({
    create: (port, options = {}) => {
      const redis = new (Redis ?? Default)({ port, retryStrategy: () => 50, ...options })
      redis.on('error', () => undefined)
      return redis
    },
    /** A connection may take longer than the time limit that a row sets for commands. */
    ready: async (redis) => {
      while (!(await redis.ping().catch(() => undefined))) await sleep(50)
    },
    send: (redis, ...args) => redis.call(...args),
    incr: (redis, key) => redis.incr(key),
    multi: async (redis, key) => (await redis.multi().incr(key).incr(key).exec()).map(([, value]) => value),
    evaluate: (redis, script, key) => redis.eval(script, 1, key),
    end: (redis) => redis.disconnect(),
    subscribe: async (redis, listener) => {
      redis.on('message', listener)
      await redis.subscribe('c')
    },
  }),
  node: (library, kind, sentinel) => ({
    create: (port, { commandTimeout, keyPrefix, connectionName } = {}) => {
      const place = { port, host: '127.0.0.1' }
      const common = commandTimeout && { commandOptions: { timeout: commandTimeout } }
      const settings = {
        ...common,
        socket: { ...(SEVERAL.includes(kind) ? {} : place), reconnectStrategy: 50 },
        ...(keyPrefix && !SEVERAL.includes(kind) && { keyPrefix }),
        ...(connectionName && { name: connectionName }),
      }
      // Sentinel and the cluster tell of a node: it is reached where a fault may be in the way.
      const nodeAddressMap = (address) =>
        address.endsWith(`:${sentinel?.port}`) ? { host: '127.0.0.1', port: sentinel.port } : place
      const several = { ...common, ...(keyPrefix && { keyPrefix }), nodeAddressMap }
      const create = {
        pool: () => library.createClientPool(settings, { minimum: 1, maximum: 1 }),
        sentinel: () =>
          library.createSentinel({
            ...several,
            ...{ name: GROUP, sentinelRootNodes: [{ host: '127.0.0.1', port: sentinel.port }] },
            nodeClientOptions: settings,
          }),
        cluster: () =>
          library.createCluster({ ...several, rootNodes: [{ socket: place }], defaults: settings }),
      }
      const redis = (create[kind] ?? (() => library.createClient(settings)))()
      redis.on('error', () => undefined)
      return redis
    },
    ready: (redis) => redis.connect(),
    send: (redis, ...args) => {
      const before = { sentinel: [false], cluster: [undefined, false] }[kind] ?? []
      return redis.sendCommand(...before, args.map(String))
    },
    incr: (redis, key) => redis.incr(key),
    multi: (redis, key) => redis.multi().incr(key).incr(key).exec(),
    evaluate: (redis, script, key) => redis.eval(script, { keys: [key] }),
    end: (redis) => redis.destroy(),
    subscribe: (redis, listener) =>
      redis.subscribe ? redis.subscribe('c', listener) : Promise.reject(new Error(NONE)),
  }),
  glide: ({ GlideClient, Batch, Script }) => ({
    create: (port, { commandTimeout, db, connectionName } = {}) => ({
      open: () =>
        GlideClient.createClient({
          addresses: [{ host: '127.0.0.1', port }],
          // Its own default of 250 ms would make every row depend on a quick machine.
          requestTimeout: commandTimeout ?? 3_000,
          advancedConfiguration: { connectionTimeout: 5_000 },
          ...(db && { databaseId: db }),
          ...(connectionName && { clientName: connectionName }),
        }),
    }),
    ready: async (redis) => {
      redis.client = await redis.open()
    },
    send: ({ client }, ...args) => client.customCommand(args.map(String)),
    incr: ({ client }, key) => client.incr(key),
    multi: ({ client }, key) => client.exec(new Batch(true).incr(key).incr(key), true),
    evaluate: ({ client }, script, key) => client.invokeScript(new Script(script), { keys: [key] }),
    end: ({ client }) => client?.close(),
    subscribe: () => Promise.reject(new Error(NONE)),
  }),
  bun: ({ create }) => ({
    create: (port, { commandTimeout } = {}) => {
      if (commandTimeout) throw new Error(NONE)
      return create(port)
    },
    ready: (redis) => redis.connect(),
    send: (redis, ...args) => redis.send(...args),
    incr: (redis, key) => redis.incr(key),
    multi: () => {
      throw new Error(NONE)
    },
    evaluate: (redis, script, key) => redis.send('EVAL', script, 1, key),
    end: (redis) => redis.close(),
    subscribe: (redis) => redis.subscribe(),
  }),
}
const SEVERAL = ['sentinel', 'cluster']
const GROUP = 'mine'
const KINDS = {
  'ioredis 6': ['io', 'ioredis6'],
  'ioredis 5': ['io', 'ioredis5'],
  iovalkey: ['io', 'iovalkey'],
  'node-redis 6': ['node', 'redis6'],
  'node-redis 5': ['node', 'redis5'],
  'its pool, 6': ['node', 'redis6', 'pool'],
  'its Sentinel, 6': ['node', 'redis6', 'sentinel'],
  'its cluster, 6': ['node', 'redis6', 'cluster'],
  GLIDE: ['glide', '@valkey/valkey-glide'],
  Bun: ['bun', 'bun'],
}

/** For a cluster, its only node. */
const startServer = async (kind) => {
  if (kind !== 'cluster') return RedisServer.start()
  const server = await RedisServer.start({ args: ['--cluster-enabled', 'yes'] })
  await server.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  while (!String(await server.command('CLUSTER', 'INFO')).includes('cluster_state:ok')) await sleep(50)
  return server
}

let fetching
export const open = async (column) => {
  fetching ??= packagesOf('clients', VERSIONS)
  const packages = await fetching
  if (packages.reason) return packages
  const [kind, name, of] = KINDS[column]
  const bun = kind === 'bun' ? await startBun() : undefined
  if (bun?.reason) return bun
  const server = await startServer(of)
  const sentinel = of === 'sentinel' ? await RedisServer.start({ sentinel: true }) : undefined
  await sentinel?.command('SENTINEL', 'MONITOR', GROUP, server.host, server.port, '1')
  const library = adapters[kind](bun ?? (await packages.load(name)), of, sentinel)
  return {
    run: async (run) => {
      const proxy = await FaultProxy.start(server)
      const ends = []
      const create = (options, port = server.port) => {
        const redis = library.create(port, options)
        ends.push(() => library.end(redis))
        return redis
      }
      const connect = async (options, port) => {
        const redis = create(options, port)
        await library.ready(redis)
        return redis
      }
      try {
        return await run({
          ...{ ...library, kind: of ?? kind, name, server, proxy, create, connect },
          ...{ folder: packages.folder, program: bun?.path, sentinelPort: sentinel?.port },
          /** A client whose connection a fault may break. */
          behind: (options) => connect(options, proxy.port),
          value: async (key) => Number(await server.command('GET', key)),
        })
      } catch (error) {
        if (error.message === NONE) return NONE
        throw error
      } finally {
        server.resume()
        await Promise.allSettled(ends.map(async (end) => end()))
        await proxy.stop()
        await server.command('FLUSHALL')
      }
    },
    close: async () => {
      bun?.stop()
      await sentinel?.stop()
      await server.stop()
    },
  }
}

const short = (value) => {
  if (value instanceof Error)
    return value.message ? `${value.name}: ${value.message.split(/[;.:,]/)[0]}` : value.name
  return typeof value === 'string'
    ? value
    : inspect(value, { breakLength: Infinity, compact: true }).replaceAll('[Object: null prototype] ', '')
}
const outcome = async (promise, ms = 3_000) => {
  const pending = Symbol('pending')
  const settled = await Promise.race([
    Promise.resolve(promise).then(
      (value) => `resolves ${short(value)}`,
      (error) => (error.message === NONE ? NONE : `rejects ${short(error)}`),
    ),
    sleep(ms, pending),
  ])
  return settled === pending ? 'pending' : settled
}
const settles = async (promise, ms) => (await outcome(promise, ms)).split(' ')[0]
const broken = (what, call, match, key = 'n') => ({
  what,
  run: async (client) => {
    const redis = await client.behind()
    // The script is known by then.
    await client.evaluate(redis, COUNTING, 'warm')
    client.proxy.loseReply((bytes) => bytes.toString().toLowerCase().includes(match))
    const told = await settles(call(client, redis), 4_000)
    await sleep(300)
    return `${told}; ran ${await client.value(key)}`
  },
})
const COUNTING = "return redis.call('incr', KEYS[1])"
const only = (kinds, work) => (client) => (kinds.includes(client.kind) ? work(client) : NONE)
const script = (what, text) => ({
  what,
  run: async (client) =>
    inspect(await client.evaluate(await client.connect(), text, 'k'), {
      breakLength: Infinity,
      compact: true,
    }).replace('[Object: null prototype] ', ''),
})
const prefixed = (what, run) => ({
  what,
  run: async (client) => {
    if (['glide', 'bun'].includes(client.kind) || client.name === 'redis5') return NONE
    const redis = await client.connect({ keyPrefix: 'p:' })
    await client.server.command('SET', 'p:k', 'prefixed')
    await client.server.command('SET', 'k', 'plain')
    return run(client, redis)
  },
})
const inChild = async ({ folder, server, name, sentinelPort, program }, lines, ms = 4_000) => {
  const file = join(folder, `child-${server.port}.mjs`)
  const ports = `const [port, sentinelPort] = [${server.port}, ${sentinelPort}]\n`
  await writeFile(file, `import * as library from '${name}'\n${ports}${lines}`)
  const child = spawn(program ?? process.execPath, [file], { stdio: 'ignore' })
  const ended = once(child, 'exit').then(([code]) => code)
  const code = await Promise.race([ended, sleep(ms, 'alive')])
  child.kill('SIGKILL')
  return code
}
const creating = {
  io: (options = '') => `const redis = new (library.Redis ?? library.default)({ port, ${options} })`,
  node: () => 'const redis = library.createClient({ socket: { port } })\nawait redis.connect()',
  pool: () => 'const redis = library.createClientPool({ socket: { port } })\nawait redis.connect()',
  sentinel: () => `const redis = library.createSentinel({ name: '${GROUP}',
    sentinelRootNodes: [{ host: '127.0.0.1', port: sentinelPort }], nodeAddressMap: (address) => ({ host: '127.0.0.1', port: address.endsWith(sentinelPort) ? sentinelPort : port }) })
    await redis.connect()`,
  cluster: () =>
    "const redis = library.createCluster({ rootNodes: [{ socket: { port, host: '127.0.0.1' } }] })\nawait redis.connect()",
  bun: () => 'const redis = new library.RedisClient(`redis://127.0.0.1:${port}`)\nawait redis.connect()',
  glide: () =>
    "const redis = await library.GlideClient.createClient({ addresses: [{ host: '127.0.0.1', port }] })",
}
const closing = ({ kind }, redis) => (kind === 'io' ? redis.quit() : (redis.client ?? redis).close())
const als = new AsyncLocalStorage()

export const rows = [
  ...[
    broken(
      'a single `INCR` whose reply is lost: what its promise does; how often it ran',
      ({ incr }, redis) => incr(redis, 'n'),
      'incr',
    ),
    broken(
      '`MULTI`, two `INCR`, `EXEC`, whose reply is lost',
      ({ multi }, redis) => multi(redis, 'n'),
      'exec',
    ),
    broken(
      'a script that counts, whose reply is lost',
      ({ evaluate }, redis) => evaluate(redis, COUNTING, 'n'),
      'eval',
    ),
    {
      what: '`SET k v NX` whose reply is lost: what the caller is told',
      run: async (client) => {
        const redis = await client.behind()
        client.proxy.loseReply((bytes) => bytes.includes('NX'))
        return outcome(client.send(redis, 'SET', 'k', 'v', 'NX'), 4_000).then((told) =>
          told.replace(/^rejects .*/, 'rejects'),
        )
      },
    },
    {
      what: 'two `INCR` in one pipeline, whose replies are lost: its results; how often they ran',
      run: only(['io'], async (client) => {
        const redis = await client.behind()
        client.proxy.loseReply((bytes) => bytes.toString().toLowerCase().includes('incr'))
        const results = await redis.pipeline().incr('n').incr('n').exec()
        await sleep(200)
        return `${results.map(([error, value]) => (error ? 'error' : value)).join(', ')}; ran ${await client.value('n')}`
      }),
    },
    {
      what: '`BLPOP q 0` when its connection breaks; what a later push comes to',
      run: async (client) => {
        const redis = await client.behind()
        const popped = client.send(redis, 'BLPOP', 'q', '0')
        popped.catch?.(() => undefined)
        await sleep(100)
        client.proxy.cutAll()
        await sleep(400)
        await client.server.command('RPUSH', 'q', 'v')
        return `${await settles(popped, 1_000)}, ${(await client.server.command('LLEN', 'q')) === 0 ? 'taken' : 'still there'}`
      },
    },
    {
      what: '`INCR` called after its connection broke; for 0.5 s new ones are accepted and closed',
      run: async (client) => {
        const redis = await client.behind()
        client.proxy.refuse()
        await sleep(100)
        const sent = client.incr(redis, 'n')
        sent.catch?.(() => undefined)
        await sleep(500)
        client.proxy.pass()
        return `${await settles(sent, 4_000)}; ran ${await client.value('n')}`
      },
    },
  ].map((row) => ({ group: 'When the connection breaks', ...row })),
  ...[
    {
      what: 'time limit of 200 ms, the server stands still for 1 s: `INCR`; how often it ran',
      run: async (client) => {
        const redis = await client.connect({ commandTimeout: 200 })
        await client.server.pause()
        const told = await settles(client.incr(redis, 'n'), 800)
        client.server.resume()
        await sleep(300)
        return `${told}; ran ${await client.value('n')}`
      },
    },
    {
      what: '`BLPOP q 0` with that limit, then a push: who has the element',
      run: async (client) => {
        const redis = await client.connect({ commandTimeout: 200 })
        const popped = client.send(redis, 'BLPOP', 'q', '0')
        const told = await settles(popped, 600)
        await client.server.command('RPUSH', 'q', 'v')
        await sleep(100)
        return `${told}; ${(await client.server.command('LLEN', 'q')) === 0 ? 'the abandoned call' : 'nobody'}`
      },
    },
    ...['before the call', 'in its turn', 'once it was written'].map((when) => ({
      what: `an \`AbortSignal\` that aborts ${when}: \`INCR\`; how often it ran`,
      run: only(['node', 'pool', ...SEVERAL], async (client) => {
        const redis = await client.connect()
        if (!redis.withAbortSignal) return NONE
        const controller = new AbortController()
        if (when === 'before the call') controller.abort()
        const call = redis.withAbortSignal(controller.signal).incr('n')
        if (when === 'in its turn') controller.abort()
        if (when === 'once it was written') {
          await client.server.pause()
          await sleep(50)
          controller.abort()
          client.server.resume()
        }
        const told = await settles(call)
        return `${told}; ran ${await client.value('n')}`
      }),
    })),
  ].map((row) => ({ group: 'Limits and signals', ...row })),
  ...[
    ...[
      ['`quit()` or `close()`', closing],
      ['`disconnect()` or `destroy()`', (client, redis) => client.end(redis)],
    ].map(([what, end]) => ({
      what: `${what} with an \`INCR\` on its way to a server that stands still: it, and the \`INCR\`, after 0.5 s and at the end`,
      run: async (client) => {
        const redis = await client.connect()
        await client.server.pause()
        const sent = client.incr(redis, 'n')
        sent.catch(() => undefined)
        const closed = Promise.resolve(end(client, redis))
        closed.catch(() => undefined)
        const early = `${await settles(closed, 500)}, ${await settles(sent, 10)}`
        await sleep(2_000)
        client.server.resume()
        return `${early}; then ${await settles(sent, 1_000)}`
      },
    })),
    {
      what: 'a command called after that: the error',
      run: async (client) => {
        const redis = await client.connect()
        await client.end(redis)
        await sleep(20)
        return outcome(Promise.resolve().then(() => client.incr(redis, 'n')))
      },
    },
    {
      what: '`quit()` or `close()` behind a `BLPOP q 0`: after 0.3 s, and after a push',
      run: async (client) => {
        const redis = await client.connect()
        const popped = client.send(redis, 'BLPOP', 'q', '0')
        popped.catch(() => undefined)
        await sleep(50)
        const closed = Promise.resolve(closing(client, redis))
        closed.catch(() => undefined)
        const early = await settles(closed, 300)
        await client.server.command('RPUSH', 'q', 'v')
        return `${early}; ${await settles(closed, 500)}, the element ${await settles(popped, 500)}`
      },
    },
    {
      what: '`Symbol.dispose` or `Symbol.asyncDispose`',
      isQuick: true,
      run: async (client) => {
        const redis = await client.connect()
        const it = redis.client ?? redis
        return it[Symbol.dispose ?? 'none'] || it[Symbol.asyncDispose ?? 'none'] ? 'yes' : 'no'
      },
    },
    {
      what: 'a process whose client has had one GET and has nothing to do',
      run: async (client) =>
        (await inChild(client, `${creating[client.kind]()}\nawait redis.get('k')`)) === 'alive'
          ? 'stays'
          : 'ends',
    },
    {
      what: 'a process without a listener of `error`, whose server goes away',
      run: async (client) => {
        const own = await startServer(client.kind)
        const ended = inChild(
          { ...client, server: own },
          `${creating[client.kind]()}\nawait redis.get('k')\nsetInterval(() => undefined, 100)`,
          14_000,
        )
        const isConnected = async () => String(await own.command('CLIENT', 'LIST')).split('id=').length >= 3
        for (let i = 0; i < 120 && !(await isConnected()); i += 1) await sleep(50)
        await sleep(1_000)
        await own.stop()
        return (await ended) === 'alive' ? 'goes on' : 'ends with an uncaught error'
      },
    },
  ].map((row) => ({ group: 'Ends', ...row })),
  ...[
    {
      what: 'the context (`AsyncLocalStorage`) in which a listener of messages runs: that of',
      run: async (client) => {
        // Its listeners run in a process of Bun, and none of this one's contexts reaches them.
        if (client.kind === 'bun') return 'not run'
        let seen
        const redis = als.run('creation', () => client.create())
        await als.run('connect', () => client.ready(redis))
        await als.run('subscribe', () => client.subscribe(redis, () => (seen = als.getStore())))
        await als.run('publish', () => client.server.command('PUBLISH', 'c', 'm'))
        await sleep(100)
        return seen ?? 'none'
      },
    },
    {
      what: 'a command on the connection that is subscribed',
      isQuick: true,
      run: async (client) => {
        const redis = await client.connect()
        await client.subscribe(redis, () => undefined).catch(() => undefined)
        return client.kind === 'pool' || client.kind === 'glide' ? NONE : outcome(client.incr(redis, 'n'))
      },
    },
    ...[
      [
        'the database after `SELECT 3` by its own call',
        async (client, redis) => {
          if (!redis.select) throw new Error(NONE)
          await redis.select(3)
          return (copy) =>
            client.send(copy, 'CLIENT', 'INFO').then((text) => `db ${/ db=(\d+)/.exec(text)[1]}`)
        },
      ],
      [
        'the name',
        async (client) => (copy) => client.send(copy, 'CLIENT', 'GETNAME').then((text) => text || 'none'),
      ],
      [
        'your listener of `end`',
        async (client, redis) => {
          redis.on('end', () => undefined)
          return (copy) =>
            copy.listenerCount('end') > redis.listenerCount('end') - 1 ? 'copied' : 'not copied'
        },
      ],
    ].map(([what, prepare]) => ({
      what: `\`duplicate()\`: ${what}`,
      run: only(['io', 'node', ...SEVERAL], async (client) => {
        const redis = await client.connect({ connectionName: 'mine' })
        if (!redis.duplicate) return NONE
        const ask = await prepare(client, redis)
        const copy = redis.duplicate()
        copy.on('error', () => undefined)
        if (client.kind !== 'io') await copy.connect()
        try {
          return await ask(copy)
        } finally {
          client.end(copy)
        }
      }),
    })),
    ...[
      ['by its own call', (client, redis) => (client.kind === 'glide' ? redis.client : redis).select(3)],
      ['by a raw command', (client, redis) => client.send(redis, 'SELECT', '3')],
    ].map(([how, select]) => ({
      what: `the database after \`SELECT 3\` ${how} and a reconnect`,
      run: async (client) => {
        const redis = await client.behind()
        const isThere = how === 'by a raw command' || client.kind === 'glide' || redis.select
        // A cluster has one database.
        if (client.kind === 'cluster' || !isThere) return NONE
        await select(client, redis)
        client.proxy.cutAll()
        await sleep(400)
        return client.send(redis, 'CLIENT', 'INFO').then((text) => `db ${/ db=(\d+)/.exec(text)[1]}`)
      },
    })),
  ].map((row) => ({ group: 'State of a connection', ...row })),
  ...[
    prefixed('the key of a script', async (client, redis) => client.evaluate(redis, 'return KEYS[1]', 'k')),
    prefixed('`GET k` as a raw command', async (client, redis) =>
      client.send(redis, 'GET', 'k').then((value) => (value === 'prefixed' ? 'p:k' : 'k')),
    ),
    prefixed('the channel of `publish`', async (client, redis) => {
      const heard = await client.connect()
      if (!heard.pSubscribe && !heard.psubscribe) return NONE
      let channel = 'nothing'
      if (client.kind === 'io') {
        heard.on('pmessage', (_, name) => (channel = name))
        await heard.psubscribe('*c')
      } else await heard.pSubscribe('*c', (_, name) => (channel = name))
      await redis.publish('c', 'm')
      await sleep(80)
      return channel
    }),
    prefixed('the channel of `spublish`', async ({ server }, redis) => {
      await server.command('CONFIG', 'SET', 'slowlog-log-slower-than', '0')
      await server.command('SLOWLOG', 'RESET')
      await (redis.sPublish ?? redis.spublish).call(redis, 'c', 'm')
      const log = await server.command('SLOWLOG', 'GET', '5')
      await server.command('CONFIG', 'SET', 'slowlog-log-slower-than', '10000')
      return log.map((entry) => entry[3].map(String)).find(([name]) => /^spublish$/i.test(name))?.[1]
    }),
    prefixed('the pattern of `KEYS *`', async (client, redis) =>
      (await redis.keys('p:*')).length > 0 ? 'not prefixed' : 'prefixed',
    ),
  ].map((row) => ({ group: '`keyPrefix: p:`', ...row })),
  ...[
    {
      what: '`INCR` to 9007199254740993',
      isQuick: true,
      run: async (client) => {
        const redis = await client.connect()
        await client.server.command('SET', 'n', '9007199254740992')
        return short(await client.incr(redis, 'n'))
      },
    },
    script('a script returns `true` behind `setresp(3)`', 'redis.setresp(3) return true'),
    script('`{ double = 3.5 }`', 'redis.setresp(3) return { double = 3.5 }'),
    script('`{ map = { a = 1 } }`', 'redis.setresp(3) return { map = { a = 1 } }'),
    script(
      '`{ big_number = … }` of 28 digits',
      "redis.setresp(3) return { big_number = '1234567999999999999999999999' }",
    ),
    {
      what: 'what an error of `AUTH user secret` shows by `inspect` and `JSON.stringify`',
      isQuick: true,
      run: async (client) => {
        const error = await Promise.resolve(
          client.send(await client.connect(), 'AUTH', 'user', 'hidden-word'),
        ).then(
          () => undefined,
          (thrown) => thrown,
        )
        const shown = [inspect(error), JSON.stringify(error)].map((text) => text.includes('hidden-word'))
        return shown.some(Boolean) ? '**the secret**' : 'no secret'
      },
    },
    {
      what: 'the name of an error that Redis answers',
      isQuick: true,
      run: async (client) =>
        Promise.resolve(client.send(await client.connect(), 'HSET', 'k')).then(
          () => 'none',
          (error) => `${error.name}, a ${error.constructor.name}`,
        ),
    },
    {
      what: 'the protocol that it asks for',
      isQuick: true,
      run: async (client) => {
        const text = await client.send(await client.connect(), 'CLIENT', 'INFO')
        return `RESP${/ resp=(\d)/.exec(String(text))[1]}`
      },
    },
  ].map((row) => ({ group: 'Values and errors', ...row })),
]
