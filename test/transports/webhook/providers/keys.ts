import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { exportJWK } from 'jose'

/** Serves the public key `k1` of an issuer, until the process ends. */
export async function serveKeys() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }
  const server = createServer((_, response) => response.end(JSON.stringify({ keys: [key] })))
  await once(server.listen(0, '127.0.0.1').unref(), 'listening')
  return { url: `http://127.0.0.1:${Object(server.address()).port}/certs`, privateKey }
}
