import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { createControlApi } from '../../src/api/api.ts'
import type { ControlDeps } from '../../src/api/control-deps.ts'
import type { Caller, InvokeOptions } from '../../src/core/call.ts'
import { TriviumError } from '../../src/core/errors.ts'
import { pathGet, toJson } from '../../src/core/json.ts'
import { skillJsonSchema } from '../../src/core/skill.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import type { Reader } from '../../src/features/live/stream.ts'
import { createOidc } from '../../src/features/sign-in/oidc.ts'
import { createSessions } from '../../src/features/sign-in/sessions.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { createMemoryStore } from '../fixtures/memory-store.ts'
import { until } from '../fixtures/until.ts'
import { servicesWith } from '../runtime/support/services.ts'

const TOKEN = 'open-sesame-please'

type Answer = { status: number; headers: Headers; body: string }

/** A control listener without a daemon: skills return their name and arguments. */
async function start(t: TestContext, parts: Partial<ControlDeps> = {}) {
  const calls: { name: string; args: unknown; by: InvokeOptions }[] = []
  const deps: ControlDeps = {
    token: () => TOKEN,
    rotateToken: async () => ({ file: '' }),
    hangUp: () => {},
    tokens: () => [],
    console: () => ({ session: 60_000 }),
    sessions: createSessions({ kv: createMemoryStore().kv, token: () => TOKEN, now: Date.now }),
    record: async () => {},
    oidc: createOidc({ token: () => TOKEN, now: Date.now }),
    board: async () => undefined,
    asyncapi: async () => ({}),
    version: '1.2.3',
    async invoke(name, args, by) {
      calls.push({ name, args, by })
      return name === 'no-result' ? undefined : { name, args: Object(args) }
    },
    skills: () => [{ name: 'echo' }],
    describe: (name) => ({ name }),
    status: async () => ({ version: '1' }),
    troubles: async () => [],
    doctor: async () => [{ name: 'store', ok: true, detail: '' }],
    diagnosis: async () => [],
    submit: async (submission) => ({ id: 'm1', wait: submission.wait }),
    explain: async () => [],
    draft: async () => null,
    configuration: () => ({}),
    reload: async () => ({ ok: true }),
    history: () => ({ every: 5000, points: [] }),
    read: () => () => {},
    artifacts: servicesWith({}).artifacts,
    ready: async () => ({ ok: true, detail: {} }),
    metrics: async () => ({ type: 'text/plain', body: 'up 1\n' }),
    mcp: () => assert.fail('MCP is not used here'),
    ...parts,
  }
  const app = createControlApi(deps)
  const { url, close } = await serveHttp(app)
  t.after(close)

  const ask = async (method: string, path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(url + path, { method, ...init })
    return { status: response.status, headers: response.headers, body: await response.text() }
  }
  const authorization = `Bearer ${TOKEN}`
  const get = (path: string, headers: Record<string, string> = {}) =>
    ask('GET', path, { headers: { authorization, ...headers } })
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    ask('POST', path, { headers: { authorization, 'content-type': 'application/json', ...headers }, body })
  return { app, url, calls, ask, get, post }
}

const json = ({ body }: Answer) => JSON.parse(body)

test('a slow reader of the stream loses events, and learns how many', async (t) => {
  const sent = 3_000
  const { promise: connected, resolve: onReader } = Promise.withResolvers<Reader>()
  const read = (reader: Reader) => {
    onReader(reader)
    return () => {}
  }
  const { url } = await start(t, { read })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write(`GET /v1/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`)
  const reader = await connected
  for (let n = 0; n < sent; n++) reader.send('message', { n, text: 'x'.repeat(10_000) }, String(n))
  let text = ''
  const counted = () => {
    const missed = [...text.matchAll(/"missed":(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0)
    return { received: text.match(/event: message/g)?.length ?? 0, missed }
  }
  socket.on('data', (data) => (text += data))
  await until(() => {
    // Makes the stream report the gap that is still pending.
    reader.missed(0)
    const { received, missed } = counted()
    return missed > 0 && received + missed === sent
  }, 'all events, received or missed')
})

test('a repeated query parameter of a file is refused', async (t) => {
  const { get, post } = await start(t)
  for (const answer of [
    await get(`/v1/artifacts/${'a'.repeat(64)}?message=m1&message=m2`),
    await post('/v1/artifacts?name=a&name=b', 'x', { 'content-type': 'text/plain' }),
  ]) {
    assert.equal(answer.status, 400)
    assert.match(json(answer).error.message, /query parameter (message|name) is repeated/)
  }
})

describe('the OpenAPI document', () => {
  const hostile = {
    name: 'hostile',
    description: '<script src="https://elsewhere.example/x.js">',
    args: {
      type: 'object',
      properties: {
        '<b>': { default: '"</td>' },
        choice: { type: 'string', enum: ['a', 2] },
        optional: { type: ['string', 'null'] },
        several: { anyOf: [{ type: 'string' }, { type: 'array' }, { type: 'string' }, {}] },
      },
    },
  }
  const builtIns = builtInSkills.map((skill) => ({ ...skill, args: skillJsonSchema(skill) }))
  const skills = () => toJson([...builtIns, hostile])

  test('is valid OpenAPI 3.1 with every route', async (t) => {
    const { app, ask } = await start(t, { skills })
    const document = json(await ask('GET', '/openapi.json'))
    const { valid, errors } = await new Validator().validate(document)
    assert.ok(valid, JSON.stringify(errors))
    for (const [, path = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      assert.notEqual(pathGet(document, path.replaceAll('/', '.')), undefined, `${path} exists`)
    }
    const { text, messageId } = document.components.schemas['gateway-send'].properties
    assert.deepEqual([text.type, messageId.type], ['string', 'string'])
    for (const [path, method] of [
      ['/v1/session', 'get'],
      ['/v1/session', 'post'],
      ['/v1/session/end', 'post'],
      ['/v1/proof/{nonce}', 'get'],
    ] as const)
      assert.ok(document.paths[path]?.[method]?.responses[200]?.content, `the result of ${method} ${path}`)
    for (const { route } of app.router.stack) {
      if (!route) continue
      const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
      const methods = path === '/mcp' ? ['post'] : route.stack.map(({ method }) => method)
      for (const method of methods) assert.ok(document.paths[path]?.[String(method)], `${method} ${path}`)
    }
  })

  test('has a page that shows each skill, escapes it and loads nothing', async (t) => {
    const { ask } = await start(t, { skills })
    const { status, body, headers } = await ask('GET', '/docs')
    assert.equal(status, 200)
    assert.match(String(headers.get('content-type')), /^text\/html/)
    for (const { name } of builtIns) assert.ok(body.includes(`POST /v1/skills/${name}<`), name)
    assert.doesNotMatch(body, /<script|<b>|"<\/td>|(src|href)="http/)
    for (const type of ['&quot;a&quot; | 2', 'string | null', 'string | array | any'])
      assert.ok(body.includes(`<td>${type}</td>`), type)
  })
})

describe('the control listener', () => {
  test('serves the console with a restrictive content security policy', async (t) => {
    const { ask } = await start(t)
    const page = await ask('GET', '/')
    assert.equal(page.status, 200)
    assert.match(String(page.headers.get('content-security-policy')), /default-src 'none'.*frame-ancestors/)
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(page.headers.get('x-powered-by'), null)
  })

  test('proves the token to programs on this machine, but not through a proxy', async (t) => {
    const { get } = await start(t)
    assert.equal((await get('/v1/proof/n')).status, 200)
    for (const [name, value] of Object.entries({
      forwarded: 'for=192.0.2.1',
      via: '1.1 proxy',
      'x-forwarded-for': '192.0.2.1',
      'x-real-ip': '192.0.2.1',
      'cf-connecting-ip': '192.0.2.1',
      'true-client-ip': '192.0.2.1',
      'x-forwarded-port': '443',
      'x-any-tunnel-id': '1',
      origin: 'https://page.example',
    }))
      assert.equal((await get('/v1/proof/n', { [name]: value })).status, 401, name)
  })

  test('runs a skill for an operator, and hides the credentials from it', async (t) => {
    const { post, calls } = await start(t)
    const answer = await post('/v1/skills/echo', '{"a":1}', { cookie: 'c=1', 'x-own': 'yes' })
    assert.deepEqual(json(answer), { result: { name: 'echo', args: { a: 1 } } })
    assert.deepEqual(json(await post('/v1/skills/no-result', '{}')), { result: null })
    await post('/v1/skills/echo', '{}', { 'x-trivium-client': 'ann@host' })
    const [http, , cli] = calls
    assert.deepEqual(http?.by.caller, { kind: 'http', id: 'control', roles: ['operator'] })
    const headers = Object(pathGet(http?.by.nonlocals, 'request.headers'))
    assert.equal(headers['x-own'], 'yes')
    assert.equal(headers.authorization ?? headers.cookie, undefined)
    assert.deepEqual([cli?.by.caller?.kind, cli?.by.caller?.id], ['cli', 'ann@host'])
  })

  test('keeps the digits of long ids in arguments, and refuses invalid JSON', async (t) => {
    const { post, calls } = await start(t)
    const answer = await post('/v1/skills/echo', '{"id":7615917337495251231,"n":[1.5,-9007199254740993]}')
    const args = { id: '7615917337495251231', n: [1.5, '-9007199254740993'] }
    assert.deepEqual(json(answer), { result: { name: 'echo', args } })
    for (const bad of ['{', '{"a":01}', 'null,']) {
      const refused = await post('/v1/skills/echo', bad)
      assert.deepEqual([refused.status, json(refused).error.code], [400, 'bad_request'], bad)
      assert.equal(json(refused).error.message, 'The request cannot be read: its body is not valid JSON.')
    }
    await post('/v1/skills/echo', '')
    assert.deepEqual(calls.at(-1)?.args, {})
  })

  test('refuses a body that is not JSON, and accepts any JSON type and no body', async (t) => {
    const { calls, post } = await start(t)
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/octet-stream']) {
      const refused = await post('/v1/skills/echo', '{"a":1}', { 'content-type': type })
      assert.deepEqual([refused.status, json(refused).error.code], [415, 'bad_request'])
      assert.match(json(refused).error.message, /content-type: application\/json/)
    }
    await post('/v1/skills/echo', '{"a":1}', { 'content-type': 'application/vnd.x+json; charset=utf-8' })
    await post('/v1/skills/echo', '', { 'content-type': 'application/x-www-form-urlencoded' })
    assert.deepEqual(
      calls.map(({ args }) => args),
      [{ a: 1 }, {}],
    )
  })

  test('calls MCP as the bearer of the request, with their id and roles', async (t) => {
    const callers: Caller[] = []
    const { ask, post } = await start(t, {
      tokens: () => [{ name: 'worker', token: 'a-token-of-a-worker', skills: ['echo'], gateways: ['*'] }],
      mcp: async (_request, response, caller) => {
        callers.push(caller)
        response.end()
      },
    })
    await post('/mcp', '{}')
    await ask('POST', '/mcp', { headers: { authorization: 'Bearer a-token-of-a-worker' } })
    assert.deepEqual(callers, [
      { kind: 'mcp', roles: ['operator'] },
      { kind: 'mcp', id: 'token:worker', skills: ['echo'] },
    ])
  })

  test('answers with Retry-After while the store is unavailable', async (t) => {
    const { get } = await start(t, {
      status: () => Promise.reject(new TriviumError('store_unavailable', { store: 's', reason: 'r' })),
    })
    const answer = await get('/v1/status')
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'])
  })
})
