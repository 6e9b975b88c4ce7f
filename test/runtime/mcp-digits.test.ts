import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import { mcpServerSchema } from '../../src/runtime/mcp/schema.ts'
import { openTransport } from '../../src/runtime/mcp/transport.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { cleanup } from './support/cleanup.ts'
import { createMemoryLog } from './support/log.ts'

const ID = '7615917337495251231'
const ANSWER = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"id: ${ID}"}],"structuredContent":{"id":${ID},"n":7,"rate":0.1}}}`
const FOUND = { id: ID, n: 7, rate: 0.1 }

/** Calls a tool of a server with this configuration. Returns the structured content. */
async function callTool(t: TestContext, configuration: object): Promise<unknown> {
  const server = { ...mcpServerSchema.parse(configuration), name: 'other', folder: '.' }
  const deps = { login: undefined, log: createMemoryLog(), fault() {} }
  const { transport } = await openTransport(server, deps)
  const { promise, resolve } = Promise.withResolvers<unknown>()
  transport.onmessage = resolve
  await transport.start()
  cleanup(t, () => transport.close())
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'find' } })
  return pathGet(await promise, 'result.structuredContent')
}

/** Serves an answer of this type in these chunks. */
async function serve(t: TestContext, type: string, chunks: readonly string[]) {
  const { url, close } = await serveHttp(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    await text(request)
    response.writeHead(200, { 'content-type': type })
    for (const chunk of chunks) {
      response.write(chunk)
      await new Promise(setImmediate)
    }
    response.end()
  })
  cleanup(t, close)
  return { url: `${url}/mcp` }
}

test('ids in the structured content of a tool keep their digits, over HTTP', async (t) => {
  assert.deepEqual(await callTool(t, await serve(t, 'application/json', [ANSWER])), FOUND)
  const withSpaces = ANSWER.replace('"n":7', '"n": 7 \n')
  assert.deepEqual(await callTool(t, await serve(t, 'application/json', [withSpaces])), FOUND)
})

test('ids keep their digits in an event stream, however it is cut', async (t) => {
  const event = `event: message\ndata: ${ANSWER}\n\n`
  const middle = event.indexOf(ID) + 5
  for (const chunks of [
    [event],
    [event.slice(0, middle), event.slice(middle)],
    [...event],
    [event.replaceAll('\n', '\r\n')],
  ])
    assert.deepEqual(await callTool(t, await serve(t, 'text/event-stream', chunks)), FOUND)
})

test('ids keep their digits over stdio, if a line is cut', async (t) => {
  const code = `process.stdin.once('data', async () => {
    const line = ${JSON.stringify(`${ANSWER}\n`)}
    const middle = line.indexOf('${ID}') + 5
    process.stdout.write(line.slice(0, middle), () => setTimeout(() => process.stdout.write(line.slice(middle)), 20))
  })`
  assert.deepEqual(await callTool(t, { command: process.execPath, args: ['-e', code] }), FOUND)
})
