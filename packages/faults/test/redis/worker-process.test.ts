import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from '@jest/globals'
import { WorkerProcess, serveWorker } from '@holdfast/faults/harness'
import type { WorkerOptions } from '@holdfast/faults/harness'
import { eventually, isAlive } from './support.js'

const fixture = new URL('./fixtures/worker.mjs', import.meta.url)
let worker: WorkerProcess | undefined
const start = async (options?: WorkerOptions): Promise<WorkerProcess> => {
  worker = await WorkerProcess.start(fixture, options)
  return worker
}

afterEach(async () => {
  await worker?.kill()
  worker = undefined
})

describe('WorkerProcess', () => {
  test('runs functions of the module, many at a time', async () => {
    const one = await start()
    expect(one.pid).not.toBe(process.pid)
    const sums = [1, 2, 3].map((n) => one.call('add', n, 10))
    expect(await Promise.all(sums)).toEqual([11, 12, 13])
    expect(await one.call('nothing')).toBeUndefined()
  })

  test('takes a path as well, and hands environment and arguments on, but no flags', async () => {
    worker = await WorkerProcess.start(fileURLToPath(fixture), {
      env: { GREETING: 'hi' },
      args: ['one', 'two'],
    })
    expect(await worker.call('environment')).toEqual({ args: ['one', 'two'], greeting: 'hi', flags: [] })
  })

  test('errors keep name, message and code', async () => {
    const one = await start()
    await expect(one.call('fail')).rejects.toMatchObject({
      name: 'TypeError',
      message: 'not like this',
      code: 'E_WORKER',
    })
    await expect(one.call('failOddly')).rejects.toThrow('just text')
    await expect(one.call('toString')).rejects.toThrow("this worker has no 'toString'")
    expect(await one.call('add', 1, 1)).toBe(2)
  })

  test('the n-th once gets the n-th event, whether it came before or comes later', async () => {
    const one = await start()
    const seen: unknown[] = []
    const off = one.on('tick', (data) => void seen.push(data))
    await one.call('announce', 'tick', 1, { two: 2 })
    expect([await one.once('tick'), await one.once('tick')]).toEqual([1, { two: 2 }])
    const [third, other] = [one.once('tick'), one.once('other')]
    await one.call('announce', 'other', 'o')
    off()
    await one.call('announce', 'tick', 3)
    expect([await third, await other]).toEqual([3, 'o'])
    expect(seen).toEqual([1, { two: 2 }])
  })

  test('what waits for a worker that ends is rejected, with what the worker wrote', async () => {
    const one = await start()
    const [pending, event] = [one.call('never'), one.once('never')]
    const crash = one.call('crash')
    await expect(crash).rejects.toThrow(/ended \(code 3\) before its answer\nabout to crash/)
    await expect(pending).rejects.toThrow('about to crash')
    await expect(event).rejects.toThrow("before its 'never'")
    expect(await one.exited).toEqual({ code: 3, signal: null })
    await expect(one.call('add', 1, 1)).rejects.toThrow('ended')
    await expect(one.once('later')).rejects.toThrow('ended')
  })

  test('a module that does not load is an error with its output', async () => {
    const broken = new URL('./fixtures/not-a-worker.mjs', import.meta.url)
    await expect(WorkerProcess.start(broken)).rejects.toThrow(
      /before its start\n[^]*this module cannot be loaded/,
    )
  })

  test('a paused worker answers when it is resumed', async () => {
    const one = await start()
    await one.pause()
    let answered = false
    const sum = one.call('add', 1, 2).finally(() => (answered = true))
    await promisify(execFile)('true')
    expect(answered).toBe(false)
    one.resume()
    expect(await sum).toBe(3)
  })

  test('kill ends it at once, stop lets it handle SIGTERM, and both are safe again', async () => {
    const killed = await start()
    await killed.kill()
    expect(await killed.exited).toEqual({ code: null, signal: 'SIGKILL' })
    expect(isAlive(killed.pid)).toBe(false)
    await killed.kill()
    const stopped = await start({ env: { ON_TERM: 'exit' } })
    await stopped.pause()
    expect(await stopped.stop()).toEqual({ code: 7, signal: null })
    expect(await stopped.stop()).toEqual({ code: 7, signal: null })
  })

  test('does not outlive a parent that is killed, not even when it is paused', async () => {
    const source = `
      import { WorkerProcess } from '@holdfast/faults/harness'
      const [one, two] = await Promise.all([0, 0].map(() => WorkerProcess.start(${JSON.stringify(fixture)})))
      await one.pause()
      console.log(JSON.stringify([one.pid, two.pid]))
      process.kill(process.pid, 'SIGKILL')`
    const ended = promisify(execFile)(process.execPath, ['--input-type=module', '-e', source])
    const { stdout } = await ended.catch((error: unknown) => error as { stdout: string })
    const pids = JSON.parse(stdout) as number[]
    await eventually(() => !pids.some(isAlive))
  })

  test('serveWorker outside a worker is an error', () => {
    const send = Object.getOwnPropertyDescriptor(process, 'send')
    Object.defineProperty(process, 'send', { value: undefined, configurable: true })
    try {
      expect(() => serveWorker({})).toThrow('not a worker')
    } finally {
      Object.defineProperty(process, 'send', send ?? { value: undefined, configurable: true })
    }
  })
})
