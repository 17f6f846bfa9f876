import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempts } from '../support/attempts.mjs'
import { command } from './command.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FILES = fileURLToPath(new URL('projects/', import.meta.url))

/** A package as this repository has it installed, `name@version`: npm's cache has it, and it is known to work. */
export const asInstalledHere = (name) => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'))
  return `${name}@${version}`
}

/** An empty project of a user, outside this repository. */
export class Project {
  /**
   * @param {string} folder made here
   * @param {{ type?: 'module' | 'commonjs', signal: AbortSignal, redisUrl: string }} options
   */
  constructor(folder, { type, signal, redisUrl }) {
    this.folder = folder
    this.setting = { cwd: folder, signal, env: { REDIS_URL: redisUrl } }
    mkdirSync(folder)
    this.write('package.json', JSON.stringify({ name: 'user', version: '1.0.0', private: true, type }))
  }

  write(file, text) {
    writeFileSync(join(this.folder, file), text)
  }

  /** Takes a file of projects/, under another name if need be. */
  take(file, as = file) {
    cpSync(join(FILES, file), join(this.folder, as))
  }

  install(packages) {
    const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
    return attempts((limitMs) => {
      // A killed npm leaves halves of packages, which the next one takes for whole.
      rmSync(join(this.folder, 'node_modules'), { recursive: true, force: true })
      return command('npm', ['install', ...quiet, ...packages], { ...this.setting, limitMs })
    }, this.setting)
  }

  /** @returns {Promise<string>} what the script wrote */
  async node(...args) {
    return (await command(process.execPath, args, this.setting)).trim()
  }

  /** The compiler of this repository. */
  tsc(...args) {
    return this.node(join(ROOT, 'node_modules/typescript/bin/tsc'), ...args)
  }
}
