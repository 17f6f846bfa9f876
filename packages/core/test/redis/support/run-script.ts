import { afterEach } from '@jest/globals'
import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const SCRIPTS = new URL('../../../../../scripts/', import.meta.url)

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs scripts of the project to their end, which comes with the test's at the latest. For the top of a file. */
export function useScripts(): (name: string, args: readonly string[]) => Promise<Ended> {
  let running: ChildProcess | undefined
  afterEach(() => {
    if (running?.exitCode === null) running.kill('SIGTERM')
  })
  return async (name, args) => {
    const script = fileURLToPath(new URL(name, SCRIPTS))
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    running = child
    const output = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].on('data', (text) => (output[stream] += String(text)))
    }
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    return { code, ...output }
  }
}
