// A PostgreSQL and a MariaDB of their own, in a temporary folder, of the programs that Debian's packages install.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@holdfast/faults/harness'
import { run, works } from '../../../scripts/redis/run.mjs'
import { canInstallFromDebian, installFromDebian } from '../../../scripts/support/debian.mjs'

const LIMIT_MS = 120_000
const TABLES = [
  'CREATE TABLE things (id INT PRIMARY KEY, value INT NOT NULL)',
  'INSERT INTO things VALUES (1, 0)',
]

const idOf = async (flag, user) => Number(await run('id', [flag, user]))

/** Debian has PostgreSQL's programs off the PATH, below the number of the major version. */
const postgresBin = () => {
  const root = '/usr/lib/postgresql'
  const [newest] = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  return newest === undefined ? undefined : join(root, newest, 'bin')
}

/** Neither program wants to run as root. */
const asUser = async (user) => {
  const [uid, gid] = [await idOf('-u', user), await idOf('-g', user)]
  return process.getuid?.() === 0 ? { uid, gid } : {}
}

/** Starts a server, and waits until a client answers. */
const started = async (program, args, setting, isReady) => {
  const child = spawn(program, args, { stdio: 'ignore', ...setting })
  const ended = once(child, 'exit')
  const startedAt = performance.now()
  while (!(await isReady())) {
    if (child.exitCode !== null || performance.now() - startedAt > LIMIT_MS) {
      child.kill('SIGKILL')
      throw new Error(`${program} does not answer`)
    }
    await sleep(200)
  }
  return async () => {
    // Fast shutdown of PostgreSQL; MariaDB does the same for it.
    child.kill(/postgres$/.test(program) ? 'SIGINT' : 'SIGTERM')
    await ended
  }
}

const startPostgres = async (folder) => {
  const bin = postgresBin()
  const setting = { ...(await asUser('postgres')), cwd: folder }
  const [data, port] = [join(folder, 'postgres'), await freePort()]
  await mkdir(data)
  if (setting.uid !== undefined) await chown(data, setting.uid, setting.gid)
  await run(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-N'], setting)
  const options = ['-D', data, '-p', `${port}`, '-c', 'listen_addresses=127.0.0.1']
  const quick = ['-c', 'max_connections=200', '-c', `unix_socket_directories=${data}`, '-c', 'fsync=off']
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const psql = (statement) => run(join(bin, 'psql'), [url, '-qc', statement], { limitMs: 10_000 })
  const stop = await started(join(bin, 'postgres'), [...options, ...quick], setting, () =>
    works(join(bin, 'psql'), [url, '-c', 'SELECT 1']),
  )
  return { url, stop, sql: psql }
}

const startMariadb = async (folder) => {
  const setting = { ...(await asUser('mysql')), cwd: folder }
  const [data, port] = [join(folder, 'mariadb'), await freePort()]
  await mkdir(data)
  if (setting.uid !== undefined) await chown(data, setting.uid, setting.gid)
  const install = ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal']
  await run('mariadb-install-db', [...install, '--skip-test-db'], setting)
  const socket = join(data, 's.sock')
  const options = ['--no-defaults', `--datadir=${data}`, `--port=${port}`, `--socket=${socket}`]
  const quick = ['--bind-address=127.0.0.1', '--innodb-flush-log-at-trx-commit=0', '--max-connections=200']
  const sql = (statement) =>
    run('mariadb', ['--no-defaults', '-uroot', `-S${socket}`, '-e', statement], { limitMs: 10_000 })
  const stop = await started('/usr/sbin/mariadbd', [...options, ...quick], setting, () =>
    works('mariadb', ['--no-defaults', '-uroot', `-S${socket}`, '-e', 'SELECT 1']),
  )
  await sql("CREATE DATABASE fences; CREATE USER fences@'127.0.0.1' IDENTIFIED BY 'fences'")
  await sql("GRANT ALL ON fences.* TO fences@'127.0.0.1'")
  const url = `mysql://fences:fences@127.0.0.1:${port}/fences`
  return { url, stop, sql: (statement) => sql(`USE fences; ${statement}`) }
}

const DATABASES = {
  postgres: { start: startPostgres, package: 'postgresql', isThere: () => postgresBin() !== undefined },
  mariadb: {
    start: startMariadb,
    package: 'mariadb-server',
    isThere: () => existsSync('/usr/sbin/mariadbd'),
  },
}

const install = async (names, log) => {
  if (names.length === 0 || !(await canInstallFromDebian())) return
  log(`installing ${names.join(' and ')} with apt-get`)
  // Debian would start a server of its own; nobody has asked for that one.
  const policy = '/usr/sbin/policy-rc.d'
  const isOurs = !existsSync(policy)
  if (isOurs) await run('sh', ['-c', `printf '#!/bin/sh\\nexit 101\\n' > ${policy} && chmod 755 ${policy}`])
  try {
    await installFromDebian(names)
  } finally {
    if (isOurs) await run('rm', ['-f', policy])
  }
}

/**
 * Starts what there is, with the tables. What cannot be had is null, and said.
 *
 * @param {string} folder @param {Record<string, string>} tables the SQL of the fences @param {(line: string) => void} log
 */
export const startDatabases = async (folder, tables, log) => {
  // Servers of other users look into it.
  await chmod(folder, 0o755)
  const missing = Object.values(DATABASES).filter((each) => !each.isThere())
  await install(
    missing.map((each) => each.package),
    log,
  ).catch((error) => log(error.message.split('\n')[0]))
  const [urls, stops] = [{ sqlite: join(folder, 'fences.db') }, []]
  for (const [name, { start, isThere, package: debian }] of Object.entries(DATABASES)) {
    urls[name] = null
    if (!isThere()) {
      log(`${name}: not run, there is no package ${debian} here`)
      continue
    }
    const { url, stop, sql } = await start(folder)
    stops.push(stop)
    for (const statement of [tables[name], ...TABLES]) await sql(statement)
    urls[name] = url
  }
  return {
    urls,
    sqliteTables: [tables.sqlite, ...TABLES],
    stop: () => Promise.all(stops.map((each) => each())),
  }
}
