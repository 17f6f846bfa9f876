import { afterAll } from '@jest/globals'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@holdfast/faults/harness'
import { useRig, type Rig } from './rig.js'

interface TlsRig {
  readonly rig: Rig
  readonly tlsPort: number
  /** A certificate for 127.0.0.1 that only itself vouches for, as PEM. */
  readonly cert: string
  readonly certFile: string
}

/** A Redis of this file's own that listens for TLS, too, and its certificate. To be called at the top of a test file. */
export async function useTlsRig(): Promise<TlsRig> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'))
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const kind = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', keyFile, '-out', certFile]
  const subject = ['-subj', '/CN=holdfast', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', ['req', ...kind, ...subject], { stdio: 'ignore' })
  const tlsPort = await freePort()
  const rig = useRig({
    args: [
      ...['--tls-port', `${tlsPort}`, '--tls-auth-clients', 'no'],
      ...['--tls-key-file', keyFile, '--tls-cert-file', certFile, '--tls-ca-cert-file', certFile],
    ],
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  return { rig, tlsPort, certFile, cert: readFileSync(certFile, 'utf8') }
}
