import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { parseJson, pathGet } from '../../src/core/json.ts'
import { createMcpConnection } from '../../src/runtime/mcp/connection.ts'
import { mcpServerSchema } from '../../src/runtime/mcp/schema.ts'
import { silent } from '../contract/store/kit.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { cleanup } from './support/cleanup.ts'

const call = { signal: new AbortController().signal, repeatable: false }

/** A server over HTTP with a tool that waits for `release`. A call of `refused-N` is answered with the status N. */
async function serve(t: TestContext) {
  const started = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const mcp = createMcpHandler(() => {
    const server = new McpServer({ name: 'over-http', version: '1' })
    server.registerTool('slow', {}, async () => {
      started.resolve()
      await released.promise
      return { content: [{ type: 'text', text: 'done' }] }
    })
    return server
  })
  const answer = toNodeHandler(mcp)
  const { url, close } = await serveHttp(async (request, response) => {
    const body = parseJson(await text(request))
    const refused = /^refused-(\d+)$/.exec(String(pathGet(body, 'params.name')))
    if (refused) return void response.writeHead(Number(refused[1])).end('no')
    const { method = 'GET', url: path = '/' } = request
    await answer(Object.assign(request, { method, url: path }), response, body)
  })
  const server = { ...mcpServerSchema.parse({ url: `${url}/mcp` }), name: 'far', folder: '.' }
  const connection = createMcpConnection({ server, version: '1', listed: () => {}, log: silent })
  cleanup(t, close)
  cleanup(t, () => mcp.close())
  cleanup(t, () => connection.close())
  return { connection, started: started.promise, release: () => released.resolve() }
}

describe('a connection to an MCP server over HTTP', () => {
  for (const status of [400, 413, 429, 502])
    test(`a call that is answered with ${status} does not affect other calls`, async (t) => {
      const { connection, started, release } = await serve(t)
      const slow = connection.call('slow', {}, call)
      slow.catch(() => {})
      await started
      await assert.rejects(connection.call(`refused-${status}`, {}, call), { code: /^mcp_/ })
      release()
      assert.equal(pathGet(await slow, 'content.0.text'), 'done')
    })
})
