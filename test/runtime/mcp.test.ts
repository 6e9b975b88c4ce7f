import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import {
  Client as CurrentClient,
  StreamableHTTPClientTransport as CurrentTransport,
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
import type { McpOptions } from '../../src/runtime/mcp/server.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from './support/cleanup.ts'
import { skillOf } from './support/manager.ts'
import { startRuntime } from './support/runtime.ts'

/** Serves skills over MCP. Returns the URL. */
async function serve(
  t: TestContext,
  skills: Skill[] = [],
  caller: Caller | (() => Caller) = { kind: 'mcp' },
  options: Pick<McpOptions, 'taskAfter'> = {},
): Promise<URL> {
  const { manager } = await startRuntime(t, { skills })
  return serveManager(t, manager, caller, options)
}

async function serveManager(
  t: TestContext,
  manager: SkillManager,
  caller: Caller | (() => Caller) = { kind: 'mcp' },
  options: Pick<McpOptions, 'taskAfter'> = {},
): Promise<URL> {
  const mcp = createMcpHttp({ manager, version: '1', ...options })
  const { url, close } = await serveHttp(async (request, response) => {
    const body = request.method === 'POST' ? parseJson(await text(request)) : undefined
    await mcp.handle(request, response, typeof caller === 'function' ? caller() : caller, body)
  })
  cleanup(t, close)
  cleanup(t, () => mcp.close())
  return new URL(`${url}/mcp`)
}

/** A client of the older library, which only speaks the older protocol. */
async function connect(t: TestContext, skills: Skill[]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(await serve(t, skills)))
  cleanup(t, () => client.close())
  return client
}

const textOf = (result: unknown) => pathGet(result, 'content.0.text')

describe('MCP over HTTP', () => {
  test('an error contains its code', async (t) => {
    const client = await connect(t, [])
    const wrong = await client.callTool({ name: 'state-get', arguments: { kee: 'a' } })
    assert.equal(wrong.isError, true)
    assert.match(String(textOf(wrong)), /"skill_args_invalid".*key/)
  })

  test('each call is a separate invocation', async (t) => {
    const client = await connect(t, [skillOf((ctx) => ctx.call.rootId)])
    const ids = [
      textOf(await client.callTool({ name: 'subject', arguments: {} })),
      textOf(await client.callTool({ name: 'subject', arguments: {} })),
    ]
    assert.match(String(ids[0]), /^mcp-/)
    assert.notEqual(ids[0], ids[1])
  })

  test('a wait ends before the default timeout of clients, unless the call sets one', async (t) => {
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

  test('answers an unknown session with 404, so that the client starts a new one', async (t) => {
    const url = await serve(t)
    const ask = (headers: Record<string, string>, method: string) => fetch(url, { method, headers })
    assert.equal((await ask({ 'mcp-session-id': 'unknown' }, 'POST')).status, 404)
    assert.equal((await ask({}, 'GET')).status, 400)
  })

  test('speaks the current protocol, with progress', async (t) => {
    const skill = skillOf(({ call }) => {
      call.onModel?.({ tool: 'state-get' })
      return { done: true }
    })
    const url = await serve(t, [{ ...skill, metadata: { annotations: { readOnlyHint: true } } }])
    const [client] = await connectCurrent(t, url)
    assert.equal(client.getProtocolEra(), 'modern')
    const listed = (await client.listTools()).tools.find(({ name }) => name === 'subject')
    assert.deepEqual(listed?.annotations, { readOnlyHint: true })
    const progress: unknown[] = []
    const onprogress = ({ message }: { message?: string | undefined }) => progress.push(message)
    const { structuredContent } = await client.callTool({ name: 'subject' }, { onprogress })
    assert.deepEqual(structuredContent, { done: true })
    assert.deepEqual(progress, ['calls state-get'])
  })

  test('asks the user of the client for an approval, in both protocols, and runs an approved call once', async (t) => {
    let runs = 0
    const skill = skillOf(() => ({ runs: ++runs }))
    const url = await serve(t, [{ ...skill, metadata: { approval: true } }])
    for (const mode of ['auto', 'legacy'] as const) {
      const answers = ['approve', 'deny']
      const answer = () => answers.shift() ?? ''
      const [client, questions] = await connectCurrent(t, url, mode, answer)
      const call = () => client.callTool({ name: 'subject', arguments: { what: 'this' } })
      const before = runs
      assert.deepEqual((await call()).structuredContent, { runs: before + 1 })
      assert.match(String(textOf(await call())), /approval_denied/)
      assert.equal(runs, before + 1)
      assert.match(questions[0] ?? '', /Run subject: .*"what": "this"/s)
    }
  })

  test('a running skill asks the user of the client, and continues with the answer', async (t) => {
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
      const [client, questions] = await connectCurrent(t, url, mode, () => answers.shift() ?? '')
      const { structuredContent } = await client.callTool({ name: 'subject' })
      assert.deepEqual(structuredContent, { colour: 'blue', size: 'large' })
      assert.deepEqual(questions, ['Which colour?', 'Which size?'])
    }
    assert.equal(runs, 2)
    const [withoutUser] = await connectCurrent(t, url)
    assert.match(String(textOf(await withoutUser.callTool({ name: 'subject' }))), /nobody_to_ask/)
  })

  test('in the older protocol, cancelling a call aborts the skill, also while the client asks its user', async (t) => {
    let isEnded = false
    const skill = skillOf(({ manager, signal }) => {
      signal.addEventListener('abort', () => {
        isEnded = true
      })
      return manager.invoke('ask-person', { question: 'Which colour?' })
    })
    const url = await serve(t, [skill])
    const question = Promise.withResolvers<void>()
    const [client] = await connectCurrent(t, url, 'legacy', () => {
      question.resolve()
      return new Promise<string>(() => {})
    })
    const cancellation = new AbortController()
    const call = assert.rejects(client.callTool({ name: 'subject' }, { signal: cancellation.signal }))
    await question.promise
    cancellation.abort()
    await call
    await until(() => isEnded, 'the skill to be aborted')
  })

  test('in the older protocol, a client that fails to ask its user gives no answer', async (t) => {
    const skill = skillOf(async ({ manager }) => ({
      answer: await manager.invoke('ask-person', { question: 'Which colour?' }),
    }))
    const url = await serve(t, [skill])
    const [client] = await connectCurrent(t, url, 'legacy', () => {
      throw new Error('the window was closed')
    })
    assert.deepEqual((await client.callTool({ name: 'subject' })).structuredContent, { answer: null })
  })

  test('an answer that is not one of the options counts as none', async (t) => {
    const question = { question: 'Which colour?', options: ['red', 'blue'] }
    const skill = skillOf(async ({ manager }) => ({ answer: await manager.invoke('ask-person', question) }))
    const url = await serve(t, [skill])
    for (const mode of ['auto', 'legacy'] as const) {
      const [client] = await connectCurrent(t, url, mode, () => 'green')
      assert.deepEqual((await client.callTool({ name: 'subject' })).structuredContent, { answer: null })
    }
  })

  test('in the older protocol, a decision by somebody else ends the question', async (t) => {
    const { manager } = await startRuntime(t, {
      skills: [{ ...skillOf(() => ({ done: true })), metadata: { approval: true } }],
    })
    const [client, questions] = await connectCurrent(t, await serveManager(t, manager), 'legacy', () => {
      return new Promise<string>(() => {})
    })
    const call = client.callTool({ name: 'subject' })
    await until(() => questions.length > 0, 'the question')
    const list = () => manager.invoke('approval-list', { status: 'pending' }, { caller: { kind: 'cli' } })
    const id = pathGet(await list(), '0.id')
    await manager.invoke('approval-decide', { id, approve: true }, { caller: { kind: 'cli' } })
    assert.deepEqual((await call).structuredContent, { done: true })
  })

  test('publishes the output schema of a skill, and a result that does not match is an error', async (t) => {
    const output = z.object({ total: z.number() })
    const args = z.object({ total: z.json() })
    const url = await serve(t, [skillOf((ctx) => ctx.args, { args, output })])
    const [client] = await connectCurrent(t, url)
    const listed = (await client.listTools()).tools.find(({ name }) => name === 'subject')
    assert.deepEqual(listed?.outputSchema?.required, ['total'])
    const call = (total: unknown) => client.callTool({ name: 'subject', arguments: { total } })
    assert.deepEqual((await call(3)).structuredContent, { total: 3 })
    assert.match(String(textOf(await call('three'))), /its result does not match its `output`.*total/)
  })

  test('a program with a token is not asked for approvals', async (t) => {
    const caller = { kind: 'mcp', id: 'worker', skills: ['subject'] } as const
    const url = await serve(t, [{ ...skillOf(() => 'ran'), metadata: { approval: true } }], caller)
    const [client, questions] = await connectCurrent(t, url, 'auto', () => 'approve')
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

  /** Sends one raw request of the current protocol. Returns the answer. */
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
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': version,
        'mcp-method': method,
        'mcp-name': String(params.name ?? params.taskId),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    })
    const body = (await response.text()).replace(/^.*?data: /s, '')
    const answer = parseJson(body)
    assert.ok(isJsonObject(answer), body)
    return answer
  }

  /** A call that has become a task, and then asks its user. `aborted` counts its aborted runs. */
  async function serveSlow(t: TestContext, caller: () => Caller = () => ({ kind: 'mcp' })) {
    let aborted = 0
    const started = Promise.withResolvers<void>()
    const isTask = Promise.withResolvers<void>()
    const skill = skillOf(async ({ manager, call, signal }) => {
      call.onModel?.({ tool: 'state-get' })
      signal.addEventListener('abort', () => {
        aborted++
        isTask.reject(signal.reason)
      })
      started.resolve()
      await isTask.promise
      return { colour: await manager.invoke('ask-person', { question: 'Which colour?' }) }
    })
    const url = await serve(t, [skill], caller, { taskAfter: 1 })
    const { result } = await send(url, 'tools/call', { name: 'subject' })
    const { taskId, status } = CreateTaskResultV2Schema.parse(result)
    assert.equal(status, 'working')
    await started.promise
    const { statusMessage } = Object((await send(url, 'tasks/get', { taskId })).result)
    assert.equal(statusMessage, 'calls state-get')
    return { url, taskId, aborted: () => aborted, goOn: isTask.resolve }
  }

  test('a long call becomes a task, whose questions the client answers', async (t) => {
    const { url, taskId, goOn } = await serveSlow(t)
    goOn()
    const get = async () => GetTaskResultV2Schema.parse((await send(url, 'tasks/get', { taskId })).result)
    await until(async () => (await get()).status === 'input_required', 'the question')
    const [key = ''] = Object.keys(Object(Object(await get()).inputRequests))
    const inputResponses = { [key]: { action: 'accept', content: { answer: 'blue' } } }
    UpdateTaskResultV2Schema.parse((await send(url, 'tasks/update', { taskId, inputResponses })).result)
    await until(async () => (await get()).status === 'completed', 'the end of the task')
    assert.deepEqual(pathGet(await get(), 'result.structuredContent'), { colour: 'blue' })
  })

  test('only its caller can see and cancel a task', async (t) => {
    let caller: Caller = { kind: 'mcp' }
    const { url, taskId, aborted } = await serveSlow(t, () => caller)
    caller = { kind: 'mcp', id: 'other', skills: ['*'] }
    for (const method of ['tasks/get', 'tasks/cancel'])
      assert.match(String(pathGet(await send(url, method, { taskId }), 'error.message')), /no such call/)
    caller = { kind: 'mcp' }
    UpdateTaskResultV2Schema.parse((await send(url, 'tasks/cancel', { taskId })).result)
    assert.equal(pathGet(await send(url, 'tasks/get', { taskId }), 'result.status'), 'cancelled')
    assert.equal(aborted(), 1)
  })

  test('a client without tasks repeats the call with the answer, which can be used once', async (t) => {
    const skill = skillOf(async ({ manager }) => manager.invoke('ask-person', { question: 'Sure?' }))
    const url = await serve(t, [skill])
    const question = await send(url, 'tools/call', { name: 'subject' }, { elicitation: {} })
    const { requestState } = Object(question.result)
    const answers = { 'question-1': { action: 'accept', content: { answer: 'yes' } } }
    const repeat = () =>
      send(url, 'tools/call', { name: 'subject', requestState, inputResponses: answers }, { elicitation: {} })
    assert.equal(pathGet(await repeat(), 'result.content.0.text'), 'yes')
    assert.match(String(pathGet(await repeat(), 'error.message')), /no such call/)
  })
})

/**
 * A client of the current library. Returns it with the questions to its user, who gives `answers`.
 */
async function connectCurrent(
  t: TestContext,
  url: URL,
  mode: 'auto' | 'legacy' = 'auto',
  answers?: () => string | Promise<string>,
): Promise<[CurrentClient, string[]]> {
  const client = new CurrentClient(
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
  await client.connect(new CurrentTransport(url))
  cleanup(t, () => client.close())
  return [client, questions]
}
