import { createReadStream, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'

const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/**
 * Serves a folder of files to this machine alone.
 *
 * @param {string} folder
 * @param {number} port 0: one that is free
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export const serve = (folder, port) => {
  const server = createServer((request, response) => {
    const file = fileAt(folder, new URL(request.url, 'http://localhost').pathname)
    const path = file ?? join(folder, '404.html')
    const type = TYPES[extname(path)] ?? 'application/octet-stream'
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': type })
    createReadStream(path).pipe(response)
  })
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(port, '127.0.0.1', () => {
      resolve({
        url: `http://127.0.0.1:${server.address().port}/`,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            server.closeAllConnections()
          }),
      })
    })
  })
}

/** As every host of files does it: a folder is its index. */
const fileAt = (folder, pathname) => {
  const path = join(folder, normalize(decoded(pathname)))
  return [path, join(path, 'index.html')].find((each) => isFile(each))
}

const decoded = (pathname) => {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return pathname
  }
}

const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true
