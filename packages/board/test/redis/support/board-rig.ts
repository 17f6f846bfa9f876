import { afterAll, afterEach, beforeAll } from '@jest/globals'
import type { LockClient } from '@holdfast/core'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { createBoard, type Board, type BoardLogEntry, type BoardOptions } from '../../../src/index.js'

const provider = new URL('../../../../../scripts/browser/provide-chromium.mjs', import.meta.url).href
const { chromiumProgram } = (await import(provider)) as { chromiumProgram: () => string | undefined }

function browserProgram(): string {
  const found = chromiumProgram()
  if (found === undefined) {
    throw new Error('There is no Chromium: put one on the PATH, or name one in HOLDFAST_CHROMIUM.')
  }
  return found
}

/** A board behind a server, and what it has logged. */
export interface ServedBoard {
  readonly board: Board
  readonly url: string
  readonly log: BoardLogEntry[]
  /** Breaks all connections. */
  disconnect(): void
  close(): Promise<void>
}

export async function serveBoard(locks: LockClient, options: BoardOptions = {}): Promise<ServedBoard> {
  const log: BoardLogEntry[] = []
  const board = createBoard(locks, { log: (entry) => log.push(entry), ...options })
  const server = createServer((request, response) => void board.handle(request, response))
  const origin = await listening(server)
  return {
    board,
    log,
    disconnect: () => server.closeAllConnections(),
    url: `${origin}${(options.basePath ?? '').replace(/\/$/, '')}/`,
    close: async () => {
      await board.close()
      await closed(server)
    },
  }
}

export function listening(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    })
  })
}

export function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** A page, and everything that went wrong in it: violations of the policy are errors of the console. */
export interface OpenPage {
  readonly page: Page
  readonly troubles: string[]
}

export class Browsing {
  private browser!: Browser
  private readonly closers: (() => Promise<unknown>)[] = []

  async start(): Promise<void> {
    const args = ['--disable-dev-shm-usage', '--disable-gpu']
    this.browser = await chromium.launch({
      executablePath: browserProgram(),
      chromiumSandbox: process.getuid?.() !== 0,
      args,
      timeout: 90_000,
    })
  }

  async open(url: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
    const context = await this.browser.newContext({ viewport: { width: 1_200, height: 700 }, ...options })
    this.closers.push(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    const troubles: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') {
        troubles.push(message.text())
      }
    })
    page.on('pageerror', (error) => troubles.push(String(error)))
    await page.goto(url)
    return { page, troubles }
  }

  /** For what a test opened beside pages; closed in the reverse order. */
  atEnd(close: () => Promise<unknown>): void {
    this.closers.push(close)
  }

  async finish(): Promise<void> {
    for (const close of this.closers.splice(0).reverse()) {
      await close()
    }
  }

  stop(): Promise<void> {
    return this.browser.close()
  }
}

/** To be called at the top of a test file, after `useRig`: pages are closed before clients. */
export function useBrowser(): Browsing {
  const browsing = new Browsing()
  beforeAll(() => browsing.start())
  afterAll(() => browsing.stop())
  afterEach(() => browsing.finish())
  return browsing
}
