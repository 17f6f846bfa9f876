// Makes a Docker image of this machine's own redis-server (or valkey-server), for machines that have Docker but
// reach no registry:
//
//   node scripts/docker/make-redis-image.mjs [tag]           default tag: holdfast/redis:local
//   HOLDFAST_REDIS=testcontainers HOLDFAST_REDIS_IMAGE=holdfast/redis:local TESTCONTAINERS_RYUK_DISABLED=true npm test
//
// The image holds the server, its command line, a shell and `sleep`, with the libraries they are linked to:
// enough for every service of docker-compose.yml. It has no package manager and gets no security updates.
import { chmod, copyFile, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { run, works } from '../redis/run.mjs'

const DEFAULT_TAG = 'holdfast/redis:local'
const FAMILIES = ['redis', 'valkey']
const SERVER = ['redis-server', '--save', '', '--appendonly', 'no', '--protected-mode', 'no']
const CHANGES = [
  'ENV PATH=/usr/bin',
  'WORKDIR /data',
  'EXPOSE 6379',
  // Without a configuration file the server listens on all interfaces; only protected mode keeps others out.
  `CMD ${JSON.stringify(SERVER)}`,
]

let interruptedBy = 0
for (const [name, number] of Object.entries({ SIGINT: 2, SIGTERM: 15 })) {
  // The default action would leave the temporary folder behind.
  process.once(name, () => (interruptedBy = number))
}
const throwIfInterrupted = () => {
  if (interruptedBy > 0) throw new Error('interrupted')
}

const main = async (tag) => {
  if (process.platform !== 'linux')
    throw new Error('only a Linux machine has a redis-server that runs in a container')
  if (!(await works('docker', ['info']))) throw new Error('Docker does not answer: `docker info` failed')
  const family = await installedFamily()
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-image-'))
  try {
    const root = join(folder, 'root')
    await fill(root, family)
    throwIfInterrupted()
    const archive = join(folder, 'image.tar')
    await run('tar', ['--create', '--file', archive, '--owner=0', '--group=0', '--directory', root, '.'])
    throwIfInterrupted()
    const changes = CHANGES.flatMap((change) => ['--change', change])
    await run('docker', ['import', ...changes, archive, tag])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  console.log(`${tag}: ${(await run(`${family}-server`, ['--version'])).trim()}`)
}

const installedFamily = async () => {
  for (const family of FAMILIES) {
    if (await works(`${family}-server`, ['--version'])) return family
  }
  throw new Error('neither redis-server nor valkey-server is on the PATH')
}

/** The file system of the image. */
const fill = async (root, family) => {
  const bin = join(root, 'usr/bin')
  await Promise.all(
    ['usr/bin', 'bin', 'data', 'tmp', 'etc'].map((each) => mkdir(join(root, each), { recursive: true })),
  )
  await chmod(join(root, 'tmp'), 0o1777)
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n')
  const libraries = new Set()
  for (const program of [`${family}-server`, `${family}-cli`, 'sh', 'sleep']) {
    const path = (await run('/bin/sh', ['-c', 'command -v "$1"', 'sh', program])).trim()
    await copyProgram(path, join(bin, program))
    for (const library of await librariesOf(path)) libraries.add(library)
  }
  for (const library of libraries) await copyProgram(library, join(root, library))
  await symlink('/usr/bin/sh', join(root, 'bin/sh'))
  // Whoever runs the image calls the programs by Redis's names, as the official image of Valkey allows it.
  for (const program of family === 'redis' ? [] : ['server', 'cli']) {
    await symlink(`${family}-${program}`, join(bin, `redis-${program}`))
  }
}

const copyProgram = async (from, to) => {
  await mkdir(dirname(to), { recursive: true })
  await copyFile(await realpath(from), to)
  await chmod(to, 0o755)
}

/** The shared libraries of a program, the loader included; none for a static one. */
const librariesOf = async (program) => {
  const listing = await run('ldd', [program]).catch((error) => {
    if (/not a dynamic executable/.test(error.message)) return ''
    throw error
  })
  const missing = /^\s*(\S+) => not found$/m.exec(listing)
  if (missing) throw new Error(`${program} needs ${missing[1]}, which is not there`)
  return Array.from(listing.matchAll(/(?:=>\s+|^\s+)(\/\S+) \(0x/gm), ([, path]) => path)
}

main(process.argv[2] ?? DEFAULT_TAG).catch((error) => {
  console.error(`No image was made: ${error.message}`)
  process.exitCode = interruptedBy > 0 ? 128 + interruptedBy : 1
})
