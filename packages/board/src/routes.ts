import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { LockObserver } from '@holdfast/core/observe'
import type { LockBreaker } from './breaking.js'
import type { Collector } from './collect/collector.js'
import type { BoardReply, BoardRequest, Sink } from './http/exchange.js'
import type { BoardClock } from './live/board-clock.js'
import { streamLock } from './live/live-lock.js'
import { message, streamTable } from './live/live-table.js'
import type { Settings } from './options.js'
import { pageAssets } from './page-assets.js'
import { permissionOf } from './permission.js'

export interface RouteParts {
  readonly settings: Settings
  readonly observer: LockObserver
  readonly collector: Collector
  readonly breaker: LockBreaker
  readonly clock: BoardClock
}

/** Everything comes from the board itself, and nothing may be embedded, framed or sent elsewhere. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
}

/** Comments keep proxies from ending a stream that is silent. */
const PING_EVERY_MS = 15_000
/** Who may look may stop being allowed to. */
const ASK_AGAIN_EVERY_MS = 30_000
/** Each of them is told something several times a second. */
const MOST_STREAMS = 200
/** Each of them is looked at four times a second. */
const MOST_FOLLOWED = 50
const LONGEST_NAME = 10_000
const RETRY_MS = 1_000

export class Routes {
  private readonly files: ReadonlyMap<string, PageFile>
  private readonly streams = new Set<() => void>()
  private isClosed = false

  constructor(private readonly parts: RouteParts) {
    this.files = new Map([
      ['/', new PageFile('text/html; charset=utf-8', pageHtml(parts.settings.title))],
      ['/board.js', new PageFile('text/javascript; charset=utf-8', pageAssets.script)],
      ['/board.css', new PageFile('text/css; charset=utf-8', pageAssets.style)],
      ['/icon.svg', new PageFile('image/svg+xml', pageAssets.icon)],
    ])
  }

  async respond(request: BoardRequest): Promise<BoardReply> {
    const { settings } = this.parts
    if (this.isClosed) {
      return plain(503, 'The board is closed.')
    }
    if (settings.allowedHosts && !settings.allowedHosts.has(hostOf(request))) {
      return plain(421, 'The board does not answer to this host.')
    }
    if (request.path === settings.basePath) {
      // Relative: what stands in front of the path here, as behind a proxy, stays.
      const last = settings.basePath.split('/').at(-1) ?? ''
      return { ...plain(308, ''), headers: { ...HEADERS, Location: `${last}/` } }
    }
    if (!request.path.startsWith(`${settings.basePath}/`)) {
      return plain(404, 'Nothing is here.')
    }
    const { isAllowed } = await permissionOf(settings, request, { type: 'view' })
    return isAllowed
      ? this.replyTo(request, request.path.slice(settings.basePath.length))
      : plain(403, 'You may not see this board.')
  }

  async close(): Promise<void> {
    this.isClosed = true
    for (const end of [...this.streams]) {
      end()
    }
    await this.parts.collector.close()
  }

  private async replyTo(request: BoardRequest, path: string): Promise<BoardReply> {
    const file = this.files.get(path)
    const method = path === '/break' ? 'POST' : 'GET'
    const isKnown = file !== undefined || ['/live', '/token', '/break'].includes(path)
    if (!isKnown) {
      return plain(404, 'Nothing is here.')
    }
    if (request.method !== method && !(method === 'GET' && request.method === 'HEAD')) {
      return { ...plain(405, `Only ${method}.`), headers: { ...HEADERS, Allow: method } }
    }
    if (file) {
      return file.replyTo(request)
    }
    if (path === '/live') {
      return this.stream(request)
    }
    if (path === '/token') {
      return json(200, { token: this.parts.breaker.token() })
    }
    const { status, outcome, message: text } = await this.parts.breaker.break(request)
    return json(status, { outcome, message: text })
  }

  private async endUnlessAllowed(request: BoardRequest, end: () => void): Promise<void> {
    const { isAllowed } = await permissionOf(this.parts.settings, request, { type: 'view' })
    if (!isAllowed) {
      end()
    }
  }

  private stream(request: BoardRequest): BoardReply {
    const { settings, collector, observer, clock } = this.parts
    const name = request.query.get('lock')
    if (name !== null && (name === '' || name.length > LONGEST_NAME)) {
      return plain(400, 'No lock has this name.')
    }
    const isOneMore = name !== null && collector.followers(name) === 0
    if (this.streams.size >= MOST_STREAMS || (isOneMore && collector.followedLocks >= MOST_FOLLOWED)) {
      return plain(503, 'Too many pages of this board are open.')
    }
    const begin = (sink: Sink): (() => void) => {
      sink.write(message('hello', { now: collector.now, canBreak: settings.authorize !== null }))
      // How soon a browser asks again when the stream has ended.
      sink.write(`retry: ${RETRY_MS}\n\n`)
      const stops = [
        name === null
          ? streamTable(collector, clock, sink)
          : streamLock(name, { collector, observer, clock }, sink),
        clock.every(PING_EVERY_MS, () => sink.write(': still here\n\n')),
        clock.every(ASK_AGAIN_EVERY_MS, () => void this.endUnlessAllowed(request, () => end())),
      ]
      const stop = (): void => {
        this.streams.delete(end)
        stops.splice(0).forEach((each) => each())
      }
      const end = (): void => {
        stop()
        sink.end()
      }
      this.streams.add(end)
      return stop
    }
    const headers = {
      ...HEADERS,
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store, no-transform',
      // nginx would hold the events back until there are many.
      'X-Accel-Buffering': 'no',
    }
    return request.method === 'HEAD'
      ? { status: 200, headers, body: '' }
      : { status: 200, headers, body: begin }
  }
}

/** One file of the page, compressed once. */
class PageFile {
  private readonly tag: string
  private compressed: Uint8Array | null = null

  constructor(
    private readonly type: string,
    private readonly text: string,
  ) {
    this.tag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  }

  replyTo(request: BoardRequest): BoardReply {
    const isCompressed = /\bgzip\b/.test(request.header('accept-encoding') ?? '')
    const headers = {
      ...HEADERS,
      'Content-Type': this.type,
      'Cache-Control': 'no-cache',
      Vary: 'Accept-Encoding',
      ETag: this.tag,
    }
    if (request.header('if-none-match') === this.tag) {
      return { status: 304, headers, body: '' }
    }
    return isCompressed
      ? { status: 200, headers: { ...headers, 'Content-Encoding': 'gzip' }, body: this.gzipped }
      : { status: 200, headers, body: this.text }
  }

  private get gzipped(): Uint8Array {
    return (this.compressed ??= gzipSync(this.text, { level: 9 }))
  }
}

function pageHtml(title: string): string {
  return pageAssets.html.replaceAll('{{title}}', () => escaped(title))
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

function hostOf(request: BoardRequest): string {
  return (request.header('host') ?? '').toLowerCase().replace(/:\d+$/, '')
}

export function plain(status: number, text: string): BoardReply {
  const headers = { ...HEADERS, 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' }
  return { status, headers, body: text }
}

function json(status: number, value: object): BoardReply {
  const headers = { ...HEADERS, 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
  return { status, headers, body: JSON.stringify(value) }
}
