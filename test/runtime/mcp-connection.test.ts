import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { type Json, parseJson, pathGet } from '../../src/core/json.ts'
import { createMcpConnection } from '../../src/runtime/mcp/connection.ts'
import { mcpServerSchema } from '../../src/runtime/mcp/schema.ts'
import { silent } from '../contract/store/kit.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from './support/cleanup.ts'

const call = { signal: new AbortController().signal, repeatable: false }

/**
 * A server over HTTP with a tool that waits for `release`. A call of `refused-N` is answered with
 * the status N. `answering` is called with each request before its answer.
 */
async function serve(t: TestContext, answering: (body: Json | undefined) => Promise<void> | void = () => {}) {
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
    await answering(body)
    const { method = 'GET', url: path = '/' } = request
    await answer(Object.assign(request, { method, url: path }), response, body)
  })
  let lists = 0
  const server = { ...mcpServerSchema.parse({ url: `${url}/mcp` }), name: 'far', folder: '.' }
  const connection = createMcpConnection({ server, version: '1', listed: () => lists++, log: silent })
  cleanup(t, close)
  cleanup(t, () => mcp.close())
  cleanup(t, () => connection.close())
  return { connection, lists: () => lists, started: started.promise, release: () => released.resolve() }
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

  test('ignores the list of a client that was lost while it was read', async (t) => {
    let requests = 0
    const isAsked = Promise.withResolvers<void>()
    const mayAnswer = Promise.withResolvers<void>()
    const { connection, lists, started, release } = await serve(t, async (body) => {
      if (pathGet(body, 'method') !== 'tools/list') return
      requests++
      if (requests !== 2) return
      isAsked.resolve()
      await mayAnswer.promise
    })
    connection.start()
    await until(() => lists() === 1, 'the first list')
    // A client with a running call stays open when it is lost.
    const slow = connection.call('slow', {}, call)
    await started
    connection.wake()
    await isAsked.promise
    await assert.rejects(connection.call('refused-502', {}, call), { code: 'mcp_unknown' })
    mayAnswer.resolve()
    await until(() => requests === 3, 'the list of the next client')
    await until(() => connection.status().ok, 'the next connection')
    assert.equal(lists(), 2)
    release()
    await slow
  })
})

describe('a connection to an MCP server over stdio that dies', () => {
  for (const [when, onList] of [
    ['when it lists its tools', 'process.exit(1)'],
    ['after it listed its tools', 'answer({ tools: [] }), setTimeout(() => process.exit(1), 20)'],
  ])
    test(`${when} is tried with growing pauses`, async (t) => {
      const starts = join(temporaryDir(t), 'starts')
      const program = `
        import { appendFileSync } from 'node:fs'
        import { createInterface } from 'node:readline'
        appendFileSync(${JSON.stringify(starts)}, Date.now() + '\\n')
        createInterface({ input: process.stdin }).on('line', (line) => {
          const { id, method } = JSON.parse(line)
          const answer = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
          const info = { protocolVersion: '2025-06-18', serverInfo: { name: 'x', version: '1' }, capabilities: { tools: {} } }
          if (method === 'initialize') answer(info)
          else if (method === 'tools/list') ${onList}
          else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }))
        })`
      const args = ['--input-type=module', '-e', program]
      const parsed = mcpServerSchema.parse({ command: process.execPath, args })
      const server = { ...parsed, name: 'near', folder: '.' }
      const connection = createMcpConnection({ server, version: '1', listed: () => {}, log: silent })
      cleanup(t, () => connection.close())
      connection.start()
      const times = await until(() => {
        const lines = readFileSync(starts, { encoding: 'utf8', flag: 'a+' }).trim().split('\n')
        return lines.length >= 4 ? lines.map(Number) : undefined
      }, 'four starts')
      const [first = 0, , , fourth = 0] = times
      // Pauses of 500, 1,000 and 2,000 ms, less up to half of each.
      assert.ok(fourth - first >= 1_750, `four attempts within ${fourth - first} ms`)
      // The fourth process may be connected for a moment.
      await until(() => /its process ended/.test(connection.status().detail), 'the end of the last process')
    })
})

describe('the first connection to an MCP server over stdio of the older protocol', () => {
  for (const [what, onUnknown, starts] of [
    ['starts one process', `answer({ error: { code: -32601, message: 'no' } })`, 1],
    ['starts another process if the server ends at an unknown request', 'process.exit(1)', 2],
  ] as const)
    test(what, async (t) => {
      const file = join(temporaryDir(t), 'starts')
      const program = `
        import { appendFileSync } from 'node:fs'
        import { createInterface } from 'node:readline'
        appendFileSync(${JSON.stringify(file)}, '.')
        createInterface({ input: process.stdin }).on('line', (line) => {
          const { id, method } = JSON.parse(line)
          const answer = (content) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...content }))
          const info = { protocolVersion: '2025-06-18', serverInfo: { name: 'x', version: '1' }, capabilities: { tools: {} } }
          if (method === 'initialize') answer({ result: info })
          else if (method === 'tools/list') answer({ result: { tools: [] } })
          else if (id !== undefined) ${onUnknown}
        })`
      const args = ['--input-type=module', '-e', program]
      const parsed = mcpServerSchema.parse({ command: process.execPath, args })
      const server = { ...parsed, name: 'near', folder: '.' }
      const connection = createMcpConnection({ server, version: '1', listed: () => {}, log: silent })
      cleanup(t, () => connection.close())
      await connection.once()
      assert.equal(connection.status().ok, true)
      assert.equal(readFileSync(file, 'utf8').length, starts)
    })
})
