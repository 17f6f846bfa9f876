import { afterAll } from '@jest/globals'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { useRig, type Rig } from './rig.js'

const DAY_MS = 86_400_000

/** One value of ASN.1, in DER (ITU-T X.690): its tag, its length, what is in it. */
function der(tag: number, ...parts: (Buffer | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  const size = body.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts)
const set = (...parts: Buffer[]): Buffer => der(0x31, ...parts)
const identifier = (...bytes: number[]): Buffer => der(0x06, bytes)
const time = (at: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(at).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`))

/**
 * A certificate for 127.0.0.1 that only itself vouches for, and its key, as PEM. Node makes keys and signatures, but no
 * certificates (RFC 5280).
 */
function selfSigned(): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const ecdsaWithSha256 = sequence(identifier(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
  const name = sequence(set(sequence(identifier(0x55, 0x04, 0x03), der(0x0c, Buffer.from('holdfast')))))
  const addresses = sequence(identifier(0x55, 0x1d, 0x11), der(0x04, sequence(der(0x87, [127, 0, 0, 1]))))
  const content = sequence(
    der(0xa0, der(0x02, [2])),
    der(0x02, [1]),
    ecdsaWithSha256,
    name,
    sequence(time(Date.now() - DAY_MS), time(Date.now() + DAY_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(addresses)),
  )
  const signature = sign('sha256', content, privateKey)
  const whole = sequence(content, ecdsaWithSha256, der(0x03, [0], signature))
  const lines = whole.toString('base64').replaceAll(/.{1,64}/g, '$&\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** A Redis of this file's own that listens for TLS, too, and its certificate. To be called at the top of a test file. */
export async function useTlsRig(): Promise<{ rig: Rig; tlsPort: number; cert: string }> {
  const { key, cert } = selfSigned()
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'))
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  writeFileSync(keyFile, key)
  writeFileSync(certFile, cert)
  const tlsPort = await freePort()
  const rig = useRig({
    args: [
      ...['--tls-port', `${tlsPort}`, '--tls-auth-clients', 'no'],
      ...['--tls-key-file', keyFile, '--tls-cert-file', certFile, '--tls-ca-cert-file', certFile],
    ],
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  return { rig, tlsPort, cert }
}
