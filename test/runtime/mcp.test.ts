import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client'
import {
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
  TASKS_EXTENSION_ID_V2,
  UpdateTaskResultV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { z } from 'zod'
import type { Caller } from '../../src/core/call.ts'
import { isJsonObject, parseJson, pathGet } from '../../src/core/json.ts'
import type { Skill } from '../../src/core/skill.ts'
import type { SkillManager } from '../../src/runtime/manager.ts'
import { createMcpHttp } from '../../src/runtime/mcp/http.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from './support/cleanup.ts'
import { skillOf } from './support/manager.ts'
import { startRuntime } from './support/runtime.ts'

/** Serves the skills; resolves to the address of `/mcp`. */
async function serve(
  t: TestContext,
  skills: Skill[] = [],
  caller: Caller | (() => Caller) = { kind: 'mcp' },
): Promise<URL> {
  const { manager } = await startRuntime(t, { skills })
  return serveManager(t, manager, caller)
}

async function serveManager(
  t: TestContext,
  manager: SkillManager,
  caller: Caller | (() => Caller) = { kind: 'mcp' },
): Promise<URL> {
  const mcp = createMcpHttp({ manager, version: '1' })
  const { url, close } = await serveHttp(async (request, response) => {
    const body = request.method === 'POST' ? parseJson(await text(request)) : undefined
    await mcp.handle(request, response, typeof caller === 'function' ? caller() : caller, body)
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
      const answer = () => (answers.shift() ? 'approve' : 'deny')
      const [client, questions] = await connectNew(t, url, mode, answer)
      const call = () => client.callTool({ name: 'subject', arguments: { what: 'this' } })
      const before = runs
      assert.deepEqual((await call()).structuredContent, { runs: before + 1 })
      assert.match(String(textOf(await call())), /approval_denied/)
      assert.equal(runs, before + 1)
      assert.match(questions[0] ?? '', /Run subject: .*"what": "this"/s)
    }
  })

  test('a skill asks the person of its client in the middle of its run, which goes on with the answer', async (t) => {
    let runs = 0
    const skill = skillOf(async ({ manager }) => {
      runs += 1
      const colour = await manager.invoke('ask-person', {
        question: 'Which colour?',
        options: ['red', 'blue'],
      })
      const size = await manager.invoke('ask-person', { question: 'Which size?' })
      return { colour, size }
    })
    const url = await serve(t, [skill])
    for (const mode of ['auto', 'legacy'] as const) {
      const answers = ['blue', 'large']
      const [client, questions] = await connectNew(t, url, mode, () => answers.shift() ?? '')
      const { structuredContent } = await client.callTool({ name: 'subject' })
      assert.deepEqual(structuredContent, { colour: 'blue', size: 'large' })
      assert.deepEqual(questions, ['Which colour?', 'Which size?'])
    }
    assert.equal(runs, 2)
    const [silent] = await connectNew(t, url)
    assert.match(String(textOf(await silent.callTool({ name: 'subject' }))), /nobody_to_ask/)
  })

  test('a call of the older protocol ends with its client, also while that asks its person', async (t) => {
    let isEnded = false
    const skill = skillOf(({ manager, signal }) => {
      signal.addEventListener('abort', () => {
        isEnded = true
      })
      return manager.invoke('ask-person', { question: 'Which colour?' })
    })
    const url = await serve(t, [skill])
    const asked = Promise.withResolvers<void>()
    const [client] = await connectNew(t, url, 'legacy', () => {
      asked.resolve()
      return new Promise<string>(() => {})
    })
    const leaves = new AbortController()
    const call = assert.rejects(client.callTool({ name: 'subject' }, { signal: leaves.signal }))
    await asked.promise
    leaves.abort()
    await call
    await until(() => isEnded, 'the skill to be aborted')
  })

  test('a client of the older protocol that cannot ask its person gives no answer', async (t) => {
    const skill = skillOf(async ({ manager }) => ({
      answer: await manager.invoke('ask-person', { question: 'Which colour?' }),
    }))
    const url = await serve(t, [skill])
    const [client] = await connectNew(t, url, 'legacy', () => {
      throw new Error('the window was closed')
    })
    assert.deepEqual((await client.callTool({ name: 'subject' })).structuredContent, { answer: null })
  })

  test('of the answers that there are, none but these is one', async (t) => {
    const question = { question: 'Which colour?', options: ['red', 'blue'] }
    const skill = skillOf(async ({ manager }) => ({ answer: await manager.invoke('ask-person', question) }))
    const url = await serve(t, [skill])
    for (const mode of ['auto', 'legacy'] as const) {
      const [client] = await connectNew(t, url, mode, () => 'green')
      assert.deepEqual((await client.callTool({ name: 'subject' })).structuredContent, { answer: null })
    }
  })

  test('a person of the older protocol is asked no more once somebody else has decided', async (t) => {
    const { manager } = await startRuntime(t, {
      skills: [{ ...skillOf(() => ({ done: true })), metadata: { approval: true } }],
    })
    const [client, questions] = await connectNew(t, await serveManager(t, manager), 'legacy', () => {
      return new Promise<string>(() => {})
    })
    const call = client.callTool({ name: 'subject' })
    await until(() => questions.length > 0, 'the question')
    const list = () => manager.invoke('approval-list', { status: 'pending' }, { caller: { kind: 'cli' } })
    const id = pathGet(await list(), '0.id')
    await manager.invoke('approval-decide', { id, approve: true }, { caller: { kind: 'cli' } })
    assert.deepEqual((await call).structuredContent, { done: true })
  })

  test('what a skill returns has a schema, and what does not fit it is an error', async (t) => {
    const output = z.object({ total: z.number() })
    const args = z.object({ total: z.json() })
    const url = await serve(t, [skillOf((ctx) => ctx.args, { args, output })])
    const [client] = await connectNew(t, url)
    const listed = (await client.listTools()).tools.find(({ name }) => name === 'subject')
    assert.deepEqual(listed?.outputSchema?.required, ['total'])
    const call = (total: unknown) => client.callTool({ name: 'subject', arguments: { total } })
    assert.deepEqual((await call(3)).structuredContent, { total: 3 })
    assert.match(String(textOf(await call('three'))), /its result does not match its `output`.*total/)
  })

  test('a program with a token decides nothing, and is not asked', async (t) => {
    const caller = { kind: 'mcp', id: 'worker', skills: ['subject'] } as const
    const url = await serve(t, [{ ...skillOf(() => 'ran'), metadata: { approval: true } }], caller)
    const [client, questions] = await connectNew(t, url, 'auto', () => 'approve')
    assert.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ['subject'],
    )
    await assert.rejects(client.callTool({ name: 'subject' }, { timeout: 300 }), /timed out/)
    assert.deepEqual(questions, [])
  })
})

describe('MCP tasks', () => {
  const TASKS = { extensions: { [TASKS_EXTENSION_ID_V2]: {} }, elicitation: {} }

  /** One request of the current protocol, as it goes over the wire. */
  async function send(
    url: URL,
    method: string,
    params: Record<string, unknown>,
    capabilities: object = TASKS,
  ) {
    const version = '2026-07-28'
    const about = 'io.modelcontextprotocol'
    const _meta = { [`${about}/protocolVersion`]: version, [`${about}/clientCapabilities`]: capabilities }
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...{ accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
        ...{ 'mcp-protocol-version': version, 'mcp-method': method },
        'mcp-name': String(params.name ?? params.taskId),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    })
    const body = (await response.text()).replace(/^.*?data: /s, '')
    const answer = parseJson(body)
    assert.ok(isJsonObject(answer), body)
    return answer
  }

  test('a call that takes long is a task of its caller: looked at, answered, cancelled, by the schemas of the extension', async (t) => {
    const ended: string[] = []
    const skill = skillOf(async ({ manager, call, signal }) => {
      call.onModel?.({ tool: 'state-get' })
      signal.addEventListener('abort', () => ended.push('aborted'))
      await setTimeout(5_500, undefined, { signal })
      return { colour: await manager.invoke('ask-person', { question: 'Which colour?' }) }
    })
    const callers = [{ kind: 'mcp' }, { kind: 'mcp', id: 'other', skills: ['*'] }] as const
    let caller: Caller = callers[0]
    const url = await serve(t, [skill], () => caller)
    const [created, second] = await Promise.all([
      send(url, 'tools/call', { name: 'subject' }),
      send(url, 'tools/call', { name: 'subject' }),
    ])
    const { taskId, status, statusMessage } = CreateTaskResultV2Schema.parse(created.result)
    assert.deepEqual({ status, statusMessage }, { status: 'working', statusMessage: 'calls state-get' })
    const get = async () => GetTaskResultV2Schema.parse((await send(url, 'tasks/get', { taskId })).result)

    caller = callers[1]
    for (const method of ['tasks/get', 'tasks/cancel']) {
      assert.match(String(pathGet(await send(url, method, { taskId }), 'error.message')), /no such call/)
    }
    caller = callers[0]
    const other = CreateTaskResultV2Schema.parse(second.result).taskId
    UpdateTaskResultV2Schema.parse((await send(url, 'tasks/cancel', { taskId: other })).result)
    assert.equal(pathGet(await send(url, 'tasks/get', { taskId: other }), 'result.status'), 'cancelled')
    assert.deepEqual(ended, ['aborted'])

    await until(async () => (await get()).status === 'input_required', 'the question')
    const [key = ''] = Object.keys(Object(Object(await get()).inputRequests))
    const inputResponses = { [key]: { action: 'accept', content: { answer: 'blue' } } }
    UpdateTaskResultV2Schema.parse((await send(url, 'tasks/update', { taskId, inputResponses })).result)
    await until(async () => (await get()).status === 'completed', 'its end')
    assert.deepEqual(pathGet(await get(), 'result.structuredContent'), { colour: 'blue' })
  })

  test('a client that knows no tasks waits, and so does the answer of a question that is asked once', async (t) => {
    const skill = skillOf(async ({ manager }) => manager.invoke('ask-person', { question: 'Sure?' }))
    const url = await serve(t, [skill])
    const asked = await send(url, 'tools/call', { name: 'subject' }, { elicitation: {} })
    const { requestState } = Object(asked.result)
    const answers = { 'question-1': { action: 'accept', content: { answer: 'yes' } } }
    const go = () =>
      send(url, 'tools/call', { name: 'subject', requestState, inputResponses: answers }, { elicitation: {} })
    assert.equal(pathGet(await go(), 'result.content.0.text'), 'yes')
    assert.match(String(pathGet(await go(), 'error.message')), /no such call/)
  })
})

/** A client of the current library, and what its person was asked. */
async function connectNew(
  t: TestContext,
  url: URL,
  mode: 'auto' | 'legacy' = 'auto',
  answers?: () => string | Promise<string>,
): Promise<[NewClient, string[]]> {
  const client = new NewClient(
    { name: 'test', version: '2' },
    { versionNegotiation: { mode }, capabilities: answers ? { elicitation: {} } : {} },
  )
  const questions: string[] = []
  if (answers) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      questions.push(params.message)
      return { action: 'accept', content: { answer: await answers() } }
    })
  }
  await client.connect(new NewTransport(url))
  cleanup(t, () => client.close())
  return [client, questions]
}
