import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { z } from 'zod'
import type { Caller } from '../../src/core/call.ts'
import { parseJson, pathGet } from '../../src/core/json.ts'
import type { Skill } from '../../src/core/skill.ts'
import { createMcpHttp } from '../../src/skills/mcp/http.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from './support/cleanup.ts'
import { skillOf } from './support/manager.ts'
import { startRuntime } from './support/runtime.ts'

/** Serves the skills; resolves to the address of `/mcp`. */
async function serve(t: TestContext, skills: Skill[] = [], caller: Caller = { kind: 'mcp' }): Promise<URL> {
  const { manager } = await startRuntime(t, { skills })
  const mcp = createMcpHttp({ manager, version: '1' })
  const { url, close } = await serveHttp(async (request, response) => {
    const body = request.method === 'POST' ? parseJson(await text(request)) : undefined
    await mcp.handle(request, response, caller, body)
  })
  cleanup(t, close)
  cleanup(t, () => mcp.close())
  return new URL(`${url}/mcp`)
}

async function connect(t: TestContext, skills: Skill[]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(await serve(t, skills)))
  cleanup(t, () => client.close())
  return client
}

const textOf = (result: unknown) => pathGet(result, 'content.0.text')

describe('MCP over HTTP', () => {
  test('tells errors with their code', async (t) => {
    const client = await connect(t, [])
    const wrong = await client.callTool({ name: 'state-get', arguments: { kee: 'a' } })
    assert.equal(wrong.isError, true)
    assert.match(String(textOf(wrong)), /"skill_args_invalid".*key/)
  })

  test('each call is an invocation of its own', async (t) => {
    const client = await connect(t, [skillOf((ctx) => ctx.call.rootId)])
    const ids = [
      textOf(await client.callTool({ name: 'subject', arguments: {} })),
      textOf(await client.callTool({ name: 'subject', arguments: {} })),
    ]
    assert.match(String(ids[0]), /^mcp-/)
    assert.notEqual(ids[0], ids[1])
  })

  test('a wait ends before clients give up, unless the call says how long', async (t) => {
    const args = z.object({ timeout: z.number().default(60_000) })
    const client = await connect(t, [skillOf((ctx) => ctx.args, { args })])
    const call = (given: object) => client.callTool({ name: 'subject', arguments: { ...given } })
    assert.deepEqual((await call({})).structuredContent, { timeout: 50_000 })
    assert.deepEqual((await call({ timeout: 90_000 })).structuredContent, { timeout: 90_000 })
  })

  test('a cancelled call aborts the skill', async (t) => {
    const started = Promise.withResolvers<AbortSignal>()
    const skill = skillOf(({ signal }) => {
      started.resolve(signal)
      return new Promise(() => {})
    })
    const client = await connect(t, [skill])
    const controller = new AbortController()
    const { signal } = controller
    const rejected = assert.rejects(
      client.callTool({ name: 'subject', arguments: {} }, undefined, { signal }),
    )
    const seen = await started.promise
    controller.abort()
    await rejected
    await until(() => seen.aborted, 'the skill to be aborted')
  })

  test('tells a client of an unknown session to begin anew', async (t) => {
    const url = await serve(t)
    const ask = (headers: Record<string, string>, method: string) => fetch(url, { method, headers })
    assert.equal((await ask({ 'mcp-session-id': 'gone' }, 'POST')).status, 404)
    assert.equal((await ask({}, 'GET')).status, 400)
  })

  test('speaks the current protocol, each request for itself, and the older one', async (t) => {
    const skill = skillOf(({ call }) => {
      call.onModel?.({ tool: 'state-get' })
      return { done: true }
    })
    const url = await serve(t, [{ ...skill, metadata: { annotations: { readOnlyHint: true } } }])
    const [client] = await connectNew(t, url)
    assert.equal(client.getProtocolEra(), 'modern')
    const listed = (await client.listTools()).tools.find(({ name }) => name === 'subject')
    assert.deepEqual(listed?.annotations, { readOnlyHint: true })
    const heard: unknown[] = []
    const onprogress = ({ message }: { message?: string | undefined }) => heard.push(message)
    const { structuredContent } = await client.callTool({ name: 'subject' }, { onprogress })
    assert.deepEqual(structuredContent, { done: true })
    assert.deepEqual(heard, ['calls state-get'])
  })

  test("asks the client's person to approve, by either protocol, and runs what was approved once", async (t) => {
    let runs = 0
    const skill = skillOf(() => ({ runs: ++runs }))
    const url = await serve(t, [{ ...skill, metadata: { approval: true } }])
    for (const mode of ['auto', 'legacy'] as const) {
      const answers = [true, false]
      const [client, questions] = await connectNew(t, url, mode, () => answers.shift() === true)
      const call = () => client.callTool({ name: 'subject', arguments: { what: 'this' } })
      const before = runs
      assert.deepEqual((await call()).structuredContent, { runs: before + 1 })
      assert.match(String(textOf(await call())), /approval_denied/)
      assert.equal(runs, before + 1)
      assert.match(questions[0] ?? '', /Run subject: .*"what": "this"/s)
    }
  })

  test('a program with a token decides nothing, and is not asked', async (t) => {
    const caller = { kind: 'mcp', id: 'worker', skills: ['subject'] } as const
    const url = await serve(t, [{ ...skillOf(() => 'ran'), metadata: { approval: true } }], caller)
    const [client, questions] = await connectNew(t, url, 'auto', () => true)
    assert.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ['subject'],
    )
    await assert.rejects(client.callTool({ name: 'subject' }, { timeout: 300 }), /timed out/)
    assert.deepEqual(questions, [])
  })
})

/** A client of the current library, and what its person was asked. */
async function connectNew(
  t: TestContext,
  url: URL,
  mode: 'auto' | 'legacy' = 'auto',
  approves?: () => boolean,
): Promise<[NewClient, string[]]> {
  const client = new NewClient(
    { name: 'test', version: '2' },
    { versionNegotiation: { mode }, capabilities: approves ? { elicitation: {} } : {} },
  )
  const questions: string[] = []
  if (approves) {
    client.setRequestHandler('elicitation/create', ({ params }) => {
      questions.push(params.message)
      return { action: 'accept', content: { approve: approves() } }
    })
  }
  await client.connect(new NewTransport(url))
  cleanup(t, () => client.close())
  return [client, questions]
}
