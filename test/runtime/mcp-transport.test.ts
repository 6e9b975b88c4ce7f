import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { mcpServerSchema } from '../../src/runtime/mcp/schema.ts'
import { openTransport } from '../../src/runtime/mcp/transport.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { cleanup } from './support/cleanup.ts'
import { createMemoryLog } from './support/log.ts'

test('the configured headers are sent to the server, but not to its login server', async (t) => {
  const requests: { at: string; headers: IncomingHttpHeaders }[] = []
  const login = await serveHttp((request, response) => {
    requests.push({ at: 'login', headers: request.headers })
    response.writeHead(404).end()
  })
  cleanup(t, login.close)
  const server = await serveHttp((request, response) => {
    requests.push({ at: 'server', headers: request.headers })
    if (request.method === 'POST') {
      const metadata = `${server.url}/.well-known/oauth-protected-resource`
      return void response
        .writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` })
        .end()
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ resource: `${server.url}/mcp`, authorization_servers: [login.url] }))
  })
  cleanup(t, server.close)
  const parsed = mcpServerSchema.parse({ url: `${server.url}/mcp`, headers: { 'X-Key': 'secret' } })
  const { transport } = await openTransport(
    { ...parsed, name: 'other', folder: '.' },
    {
      login: {
        redirectUrl: 'http://127.0.0.1/',
        clientMetadata: { redirect_uris: ['http://127.0.0.1/'] },
        clientInformation: () => ({ client_id: 'a' }),
        tokens: () => undefined,
        saveTokens() {},
        redirectToAuthorization() {},
        saveCodeVerifier() {},
        codeVerifier: () => 'verifier',
      },
      log: createMemoryLog(),
      fault() {},
    },
  )
  await transport.start()
  cleanup(t, () => transport.close())
  await assert.rejects(transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' }))
  const keysAt = (at: string) =>
    requests.filter((request) => request.at === at).map(({ headers }) => headers['x-key'])
  assert.ok(keysAt('login').length > 0)
  assert.deepEqual([...new Set(keysAt('server'))], ['secret'])
  assert.deepEqual([...new Set(keysAt('login'))], [undefined])
})
