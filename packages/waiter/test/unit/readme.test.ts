import { readFile } from 'node:fs/promises'
import { afterEach, describe, expect, it, jest } from '@jest/globals'

const here = (path: string) => readFile(new URL(path, import.meta.url), 'utf8')

afterEach(() => {
  jest.restoreAllMocks()
})

describe('the first example of the README', () => {
  it('is the file that the compiler and this test know', async () => {
    const [, example] = /```ts\n(.*?)```/s.exec(await here('../../README.md')) ?? []
    expect(example).toBe(await here('../readme-example.ts'))
  })

  it('runs, and serves callers in order', async () => {
    const log = jest.spyOn(console, 'log').mockImplementation(() => undefined)
    await import('../readme-example.js')
    expect(log.mock.calls.flat()).toEqual([1, 2, 3].map((page) => `laser prints page ${page}`))
  })
})
