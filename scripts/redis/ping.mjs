import { Buffer } from 'node:buffer'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** @param {string[]} args */
const encode = (args) =>
  `*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('')}`

/** @param {URL} url */
const dial = (url) => {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1'
  const port = Number(url.port || 6379)
  return url.protocol === 'rediss:'
    ? connectTls({ host, port, servername: host })
    : connectTcp({ host, port })
}

/**
 * Resolves when the Redis at `url` (redis:// or rediss://, with or without user and password) answers PING;
 * otherwise rejects with the reason, also when there is no answer within `limitMs` milliseconds.
 *
 * @param {string} url
 * @param {number} [limitMs]
 * @returns {Promise<void>}
 */
export const ping = (url, limitMs = 5_000) =>
  new Promise((resolve, reject) => {
    const parsed = new URL(url)
    const [user, password] = [decodeURIComponent(parsed.username), decodeURIComponent(parsed.password)]
    const socket = dial(parsed)
    let received = ''
    const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${limitMs} ms`)), limitMs)
    const login = password === '' ? '' : encode(user === '' ? ['AUTH', password] : ['AUTH', user, password])
    socket.write(login + encode(['PING']))
    socket.on('data', (chunk) => {
      received += String(chunk)
      if (/^\+PONG\r\n/m.test(received)) resolve()
      // A wrong password is refused first, and says more than the PING that is refused after it.
      else if (/^-.*\r\n/m.test(received)) reject(new Error(/^-(.*)\r\n/m.exec(received)?.[1]))
      else return
      socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => {
      clearTimeout(timer)
      reject(new Error('the connection was closed without an answer'))
    })
  })
