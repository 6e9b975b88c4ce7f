import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { request, sendRaw } from '../chaos/raw-http.ts'
import fc from '../fixtures/fast-check.ts'
import { suiteUnderAbuse } from '../fixtures/suite.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes: [{ name: all, skill: echo, reply: none }]
`
/** Returns whether `Object.prototype` was changed. */
const LOOK = `export default { description: 'looks', run: () => ({ polluted: ({}).polluted ?? null }) }`

/** Refused calls, with their body, status and error code. */
const REFUSED = `
POST /v1/skills/nothing                   {}                                      404 skill_not_found
POST /v1/skills/__proto__                 {}                                      404 skill_not_found
POST /v1/skills/constructor               {}                                      404 skill_not_found
GET  /v1/skills/__proto__                 -                                       404 skill_not_found
POST /v1/skills/..%2f..%2fskills%2fecho   {}                                      404 skill_not_found
POST /v1/skills/${'a'.repeat(10_000)}     {}                                      404 skill_not_found
POST /v1/skills/%E0%A4%A                  {}                                      400 bad_request
GET  /v1/nowhere                          -                                       404 not_found
DELETE /v1/status                         -                                       404 not_found
POST /v1/skills/event-emit                {"topic":                               400 bad_request
POST /v1/skills/echo                      "${'a'.repeat(5_000_000)}"              413 bad_request
POST /v1/skills/event-emit                [1,2]                                   422 skill_args_invalid
POST /v1/skills/event-emit                null                                    422 skill_args_invalid
POST /v1/skills/event-wait                {"topic":{"a":1}}                       422 skill_args_invalid
POST /v1/skills/event-wait                {"topic":"a","max":1e9}                 422 skill_args_invalid
POST /v1/skills/gateway-receive           {"timeout":-1}                          422 skill_args_invalid
POST /v1/skills/gateway-receive           {"nothing":1}                           422 skill_args_invalid
POST /v1/skills/gateway-receive           {"gateway":"nobody"}                    404 gateway_not_found
POST /v1/skills/event-subscribe           {"topic":"a","ref":"ecoh"}              404 skill_not_found
POST /v1/skills/schedule-create           {"skill":"ecoh","every":"1h"}           404 skill_not_found
GET  /v1/messages/..%2f..%2fetc/explain   -                                       404 message_not_found
POST /v1/messages                         {"gateway":"__proto__","text":"a"}      404 gateway_not_found
POST /v1/messages                         {}                                      400 bad_request
POST /v1/skills/dead-letter-show          {"id":"../../etc/passwd"}               404 dead_letter_not_found
POST /v1/skills/event-ack                 {"topic":"a","queue":"b","ids":["c"]}   404 group_not_found
POST /v1/skills/event-emit                {"topic":"gateway-message","data":1}    422 topic_reserved
`

describe('abuse of the control listener', { timeout: 300_000 }, () => {
  const { suite } = suiteUnderAbuse({ routes: ROUTES, skills: { look: LOOK } }, async (daemon) => {
    assert.equal(
      (await daemon.post('/hooks/demo', '{}')).status,
      202,
      'the daemon no longer accepts messages',
    )
    assert.deepEqual(await daemon.invoke('look'), { polluted: null })
  })

  const call = async (method: string, path: string, body?: string, signal?: AbortSignal) => {
    const response = await fetch(suite.daemon.control + path, {
      method,
      // The server might close a kept-alive connection just then.
      headers: {
        authorization: `Bearer ${suite.daemon.token}`,
        'content-type': 'application/json',
        connection: 'close',
      },
      ...(body === undefined ? {} : { body }),
      ...(signal ? { signal } : {}),
    })
    const text = await response.text()
    return { status: response.status, text, code: /"error":\{"code":"(\w+)"/.exec(text)?.[1] }
  }

  test('invalid calls are refused with a code, without a stack trace', async () => {
    for (const line of REFUSED.trim().split('\n')) {
      const [method = '', path = '', body, status, code] = line.split(/ +/)
      const answer = await call(method, path, body === '-' ? undefined : body)
      assert.deepEqual([answer.status, answer.code], [Number(status), code], line.slice(0, 200))
      assert.doesNotMatch(answer.text, /\n\s+at |node_modules/, 'a stack trace')
    }
  })

  test('topics and groups may have the names of object properties', async () => {
    const { daemon } = suite
    for (const [topic, queue] of [
      ['constructor', 'g'],
      ['orders', 'constructor'],
    ]) {
      await daemon.invoke('event-subscribe', { topic, queue })
      await daemon.invoke('event-emit', { topic, data: 1 })
      assert.partialDeepStrictEqual(await daemon.invoke('event-wait', { topic, queue, timeout: 30_000 }), [
        { data: 1 },
      ])
    }
  })

  test('a huge body without a token is refused before it is read', async () => {
    const head = request('POST /v1/skills/echo', ['Content-Length: 9999999999'])
    assert.deepEqual((await sendRaw(suite.daemon.control, head)).statuses, [401])
  })

  test('files outside the console are not served', async () => {
    const paths = ['/../package.json', '/..%2f..%2fpackage.json', '/%2e%2e/api.ts', '/.env', '//etc/passwd']
    for (const path of paths) {
      const { statuses, text } = await sendRaw(suite.daemon.control, request(`GET ${path}`))
      assert.ok([400, 401, 403, 404].includes(statuses[0] ?? 0), `${path}: ${statuses}`)
      assert.doesNotMatch(text, /"name":\s*"trivium"|root:/)
    }
  })

  test('keys like __proto__ in arguments have no side effects, at any depth', async () => {
    const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
    for (const [skill, body] of [
      ['echo', evil],
      ['event-emit', `{"topic":"__proto__","data":{"a":${evil}}}`],
      ['event-subscribe', '{"topic":"__proto__","queue":"__proto__"}'],
      ['state-set', `{"key":"__proto__","value":${evil},"store":"memory"}`],
      ['state-set', `{"key":"__proto__","value":${evil},"store":"shared"}`],
    ]) {
      const { status } = await call('POST', `/v1/skills/${skill}`, body)
      assert.ok(status === 200 || status === 422, `${skill}: ${status}`)
      assert.deepEqual(await suite.daemon.invoke('look'), { polluted: null })
    }
  })

  test('deeply nested JSON is accepted or refused, and does not end the daemon', async () => {
    for (const depth of [1_000, 10_000, 500_000]) {
      const body = `{"topic":"deep","data":${'['.repeat(depth)}${']'.repeat(depth)}}`
      const { status, code } = await call('POST', '/v1/skills/event-emit', body)
      assert.ok(status === 200 || (status < 500 && code), `${depth} levels: ${status}`)
    }
    await call('POST', '/v1/skills/event-wait', '{"topic":"deep","queue":"d","timeout":0}')
  })

  test('any JSON as arguments of any skill gets a result or an error with a code', async () => {
    const skills = Object.values(Object(Object(await suite.daemon.get('/v1/skills')).result))
    const names = skills.map((skill) => String(Object(skill).name))
    assert.ok(names.length > 20)
    const fields = 'topic queue key value text id ids ref receipt gateway store label data to'.split(' ')
    const value = fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.integer(), fc.constant(['a']))
    // With a timeout, so that skills do not wait.
    const args = fc
      .dictionary(fc.constantFrom(...fields), value)
      .map((fields) => JSON.stringify({ ...fields, timeout: 1 }))
    const body = fc.oneof(fc.json({ maxDepth: 3 }), args)
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), body, async (name, body) => {
        // Without the timeout, these skills rightly wait.
        if (/wait|receive/.test(name) && !body.includes('"timeout":1}')) return
        const { status, code, text } = await call('POST', `/v1/skills/${name}`, body)
        assert.ok(status === 200 || (code !== undefined && code !== 'internal'), `${name} ${body}: ${text}`)
      }),
      { numRuns: 400 },
    )
  })

  test('the waits of disconnected callers end', async () => {
    const caller = new AbortController()
    const body = '{"conversation":"nobody","timeout":60000}'
    const waits = Array.from({ length: 300 }, () =>
      call('POST', '/v1/skills/gateway-receive', body, caller.signal).catch(() => undefined),
    )
    // Sent after the waits: when it is answered, they have arrived.
    await suite.daemon.get('/v1/status')
    caller.abort()
    await Promise.all(waits)
    // A wait that still runs would take the message.
    const sent = '{"gateway":"demo","conversation":"nobody","from":"ada","text":"hello"}'
    const { status, text } = await call('POST', '/v1/messages', sent)
    assert.equal(status, 200, text)
    const taken = Object(await suite.daemon.invoke('gateway-receive', { conversation: 'nobody', timeout: 0 }))
    assert.equal(taken.text, 'hello')
  })
})
