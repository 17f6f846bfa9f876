import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { whenWeAreGone } from '@holdfast/faults/harness'
import { installWithPackageManager } from './from-package-manager.mjs'
import { serverProgram } from './from-path.mjs'
import { redisImage } from './from-testcontainers.mjs'
import { run, works } from './run.mjs'

const SERVER = /^(redis|valkey)-server$/
const LOADER = /^ld-(musl|linux)-[\w-]+\.so\.\d$/
const LIBRARY = /\.so(\.[\d.]+)?$/

/**
 * Does something with the program on the PATH that tests start servers of their own with, to kill, stop and empty them.
 * Where none is there, and HOLDFAST_REDIS_SERVER names none, it is taken out of a Docker image, or installed.
 *
 * @template T
 * @param {() => Promise<T>} use
 * @param {(line: string) => void} [log]
 * @returns {Promise<T>}
 */
export const withServerProgram = async (use, log = console.error) => {
  const program = await provided(log)
  process.env.PATH = program.path
  try {
    return await use()
  } finally {
    await program.remove()
  }
}

const provided = async (log) => {
  const present = { path: process.env.PATH, remove: async () => undefined }
  if (await serverProgram()) return present
  try {
    const taken = await fromImage(log)
    if (taken) return taken
  } catch (error) {
    log(`no server program from Docker: ${error.message}`)
  }
  if (!(await installWithPackageManager({ log }))) {
    log(
      'neither redis-server nor valkey-server is on the PATH: tests that start servers of their own will fail',
    )
  }
  return present
}

/** Runs on the host, with the libraries of the image: its signals and files are those of any other program. */
const fromImage = async (log) => {
  if (process.platform !== 'linux' || !(await works('docker', ['info']))) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-redis-program-'))
  const callOff = whenWeAreGone('rm -rf "$1"', [folder])
  const remove = async () => {
    await rm(folder, { recursive: true, force: true })
    callOff()
  }
  try {
    const image = redisImage()
    log(`taking the server program out of ${image}`)
    const root = join(folder, 'root')
    await unpack(image, root)
    const bin = await wrap(root, join(folder, 'bin'))
    return { path: [bin, process.env.PATH].join(delimiter), remove }
  } catch (error) {
    await remove()
    throw error
  }
}

const unpack = async (image, root) => {
  const archive = `${root}.tar`
  const container = (await run('docker', ['create', image])).trim()
  try {
    await run('docker', ['export', '--output', archive, container])
  } finally {
    await run('docker', ['rm', container])
  }
  await mkdir(root)
  await run('tar', ['--extract', '--file', archive, '--directory', root, '--exclude', 'dev/*'])
  await rm(archive)
}

/** A command of the same name that starts the server with the image's own loader and libraries. */
const wrap = async (root, bin) => {
  const files = (await readdir(root, { recursive: true })).map((file) => join(root, file))
  const named = (pattern) => files.filter((file) => pattern.test(basename(file)))
  const libraries = [...new Set(named(LIBRARY).map(dirname))].join(':')
  for (const server of named(SERVER)) {
    for (const loader of named(LOADER)) {
      const start = [loader, '--library-path', libraries, server]
      if (!(await works(loader, [...start.slice(1), '--version']))) continue
      const command = join(bin, basename(server))
      await mkdir(bin, { recursive: true })
      await writeFile(command, `#!/bin/sh\nexec ${start.map((each) => `'${each}'`).join(' ')} "$@"\n`)
      await chmod(command, 0o755)
      return bin
    }
  }
  throw new Error('the image has no redis-server or valkey-server that runs on this machine')
}
