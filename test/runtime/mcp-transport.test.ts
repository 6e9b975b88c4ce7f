import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { describe, test } from 'node:test'
import { MIB } from '../../src/core/units.ts'
import { pause } from '../../src/lib/pause.ts'
import { mcpServerSchema } from '../../src/runtime/mcp/schema.ts'
import { openTransport } from '../../src/runtime/mcp/transport.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
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

describe('the size limit of a stream counts each event, not all of them', () => {
  const note = JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'a'.repeat(MIB) },
  })
  const answer = '{"jsonrpc":"2.0","id":1,"result":{}}'
  for (const [form, end, isCut] of [
    ['ended by \\n\\n', '\n\n', false],
    ['ended by \\r\\n\\r\\n', '\r\n\r\n', false],
    ['whose ends arrive in two pieces', '\n\n', true],
  ] as const) {
    test(`with events ${form}`, async (t) => {
      const server = await serveHttp(async (request, response) => {
        if (request.method !== 'POST') return void response.writeHead(405).end()
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const data of [...Array.from({ length: 6 }, () => note), answer]) {
          const event = `data: ${data}${end}`
          const middle = isCut ? event.length - 1 : event.length
          response.write(event.slice(0, middle))
          await pause(isCut ? 20 : 0)
          response.write(event.slice(middle))
        }
        response.end()
      })
      cleanup(t, server.close)
      const parsed = mcpServerSchema.parse({ url: `${server.url}/mcp`, 'max-result': MIB })
      const faults: string[] = []
      const deps = { login: undefined, log: createMemoryLog(), fault: (why: string) => void faults.push(why) }
      const { transport } = await openTransport({ ...parsed, name: 'other', folder: '.' }, deps)
      const { promise, resolve } = Promise.withResolvers<void>()
      transport.onmessage = (message) => {
        if ('id' in message) resolve()
      }
      transport.onerror = () => resolve()
      await transport.start()
      cleanup(t, () => transport.close())
      await transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'find' } })
      await promise
      assert.deepEqual(faults, [])
    })
  }
})

test('the size limit of a JSON response includes its blank lines', async (t) => {
  const server = await serveHttp(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{"jsonrpc":"2.0","id":1,')
    for (let sent = 0; sent < 6 && !response.destroyed; sent++) {
      response.write('\n'.repeat(MIB))
      await pause(0)
    }
    response.end('"result":{}}')
  })
  cleanup(t, server.close)
  const parsed = mcpServerSchema.parse({ url: `${server.url}/mcp`, 'max-result': MIB })
  const faults: string[] = []
  const deps = { login: undefined, log: createMemoryLog(), fault: (why: string) => void faults.push(why) }
  const { transport } = await openTransport({ ...parsed, name: 'other', folder: '.' }, deps)
  await transport.start()
  cleanup(t, () => transport.close())
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'find' } } as const
  await assert.rejects(transport.send(call))
  assert.deepEqual(faults, [`it sent more than ${4 * MIB} bytes at once (max-result)`])
})

test('no part of a secret is left in a long line of the standard error', async (t) => {
  const secret = 'SUPERSECRETVALUE0123456789'
  const code = "process.stderr.write(process.env.KEY.repeat(100) + '\\n'); process.stdin.resume()"
  const parsed = mcpServerSchema.parse({
    command: process.execPath,
    args: ['-e', code],
    env: { KEY: secret },
  })
  const log = createMemoryLog()
  const deps = { login: undefined, log, fault() {} }
  const { transport } = await openTransport({ ...parsed, name: 'other', folder: '.' }, deps)
  await transport.start()
  cleanup(t, () => transport.close())
  const line = await until(() => log.lines[0], 'the line')
  assert.deepEqual(line.fields, { stderr: '[secret]'.repeat(76) })
})
