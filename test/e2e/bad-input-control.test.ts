import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { memoryOf, request, sendRaw } from '../chaos/raw-http.ts'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'
import fc from '../fixtures/fast-check.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes:
  - name: all
    skill: echo
    reply: none
`

const SKILLS = {
  look: `export default { description: 'looks', run: () => ({ polluted: ({}).polluted ?? null }) }`,
}

/** Megabytes that abuse may add to what the daemon needs at rest. */
const GROWTH = 200

describe('abuse of the control listener', { timeout: 120_000 }, () => {
  let site: Site
  let daemon: DaemonProcess
  let atRest = 0

  before(async () => {
    site = createSite({ routes: ROUTES, skills: SKILLS, env: { TRIVIUM_LOG_LEVEL: 'error' } })
    daemon = await site.start()
    await daemon.get('/v1/status')
    atRest = memoryOf(daemon)
  })
  after(async () => {
    assert.equal(await daemon.end(), 0)
    site.remove()
  })
  afterEach(async () => {
    assert.equal((await daemon.post('/hooks/demo', '{}')).status, 202, 'the daemon accepts no more')
    assert.deepEqual(await daemon.invoke('look'), { polluted: null })
    assert.ok(memoryOf(daemon) < atRest + GROWTH, `${atRest} MB grew to ${memoryOf(daemon)} MB`)
  })

  const call = async (method: string, path: string, body?: string, headers: Record<string, string> = {}) => {
    const response = await fetch(daemon.control + path, {
      method,
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    return { status: response.status, text, error: errorIn(text) }
  }

  test('without the token everything but health, metrics and the static console is 401', async () => {
    const wrong = [
      '',
      'Bearer',
      'Bearer wrong',
      `Basic ${daemon.token}`,
      `Bearer ${daemon.token}x`,
      'Bearer  ',
    ]
    const paths = ['status', 'skills', 'doctor', 'nowhere', `status?token=${daemon.token}`]
    for (const authorization of wrong) {
      for (const path of paths) {
        const { status, error } = await call('GET', `/v1/${path}`, undefined, { authorization })
        assert.deepEqual([status, error], [401, 'unauthorized'], `${authorization} at ${path}`)
      }
      assert.equal((await call('POST', '/v1/skills/echo', '{}', { authorization })).status, 401)
      const message = '{"gateway":"demo","text":"a"}'
      assert.equal((await call('POST', '/v1/messages', message, { authorization })).status, 401)
      assert.equal((await call('POST', '/v1/reload', undefined, { authorization })).status, 401)
    }
  })

  test('a stranger with a huge body is turned away before it is read', async () => {
    const { statuses } = await sendRaw(
      daemon.control,
      request('POST /v1/skills/echo', ['Content-Length: 9999999999']),
    )
    assert.deepEqual(statuses, [401])
  })

  const invoke = 'POST /v1/skills'
  const refused: [request: string, body: string | undefined, status: number, code: string][] = [
    [`${invoke}/nothing`, '{}', 404, 'skill_not_found'],
    [`${invoke}/__proto__`, '{}', 404, 'skill_not_found'],
    [`${invoke}/constructor`, '{}', 404, 'skill_not_found'],
    ['GET /v1/skills/__proto__', undefined, 404, 'skill_not_found'],
    [`${invoke}/..%2f..%2fskills%2fecho`, '{}', 404, 'skill_not_found'],
    [`${invoke}/${'a'.repeat(10_000)}`, '{}', 404, 'skill_not_found'],
    [`${invoke}/%E0%A4%A`, '{}', 400, 'bad_request'],
    ['GET /v1/nowhere', undefined, 404, 'not_found'],
    ['DELETE /v1/status', undefined, 404, 'not_found'],
    [`${invoke}/event-emit`, '{"topic":', 400, 'bad_request'],
    [`${invoke}/echo`, JSON.stringify({ text: 'a'.repeat(5_000_000) }), 413, 'bad_request'],
    [`${invoke}/event-emit`, '[1,2]', 422, 'skill_args_invalid'],
    [`${invoke}/event-emit`, 'null', 422, 'skill_args_invalid'],
    [`${invoke}/event-wait`, '{"topic":{"a":1}}', 422, 'skill_args_invalid'],
    [`${invoke}/event-wait`, '{"topic":"a","max":1e9}', 422, 'skill_args_invalid'],
    [`${invoke}/gateway-receive`, '{"timeout":-1}', 422, 'skill_args_invalid'],
    [`${invoke}/gateway-receive`, '{"nothing":1}', 422, 'skill_args_invalid'],
    ['GET /v1/messages/..%2f..%2fetc/explain', undefined, 404, 'message_not_found'],
    ['POST /v1/messages', '{"gateway":"__proto__","text":"a"}', 404, 'gateway_not_found'],
    ['POST /v1/messages', '{}', 400, 'bad_request'],
    [`${invoke}/dead-letter-show`, '{"id":"../../etc/passwd"}', 404, 'dead_letter_not_found'],
    [`${invoke}/event-ack`, '{"topic":"a","queue":"b","ids":["c"]}', 404, 'group_not_found'],
    [`${invoke}/event-emit`, '{"topic":"gateway-message","data":1}', 422, 'topic_reserved'],
  ]
  for (const [what, body, status, code] of refused) {
    test(`${what.slice(0, 60)} with ${body?.slice(0, 40) ?? 'nothing'} is refused as ${code}`, async () => {
      const [method = '', path = ''] = what.split(' ')
      const answer = await call(method, path, body)
      assert.deepEqual([answer.status, answer.error], [status, code], answer.text.slice(0, 300))
      assert.doesNotMatch(answer.text, /\n\s+at |node_modules/, 'it shows a stack')
    })
  }

  test('files outside the console are not served', async () => {
    const paths = [
      '/../package.json',
      '/..%2f..%2fpackage.json',
      '/%2e%2e/api.ts',
      '/.env',
      '//etc/passwd',
      '/%00',
    ]
    for (const path of paths) {
      const { statuses, text } = await sendRaw(daemon.control, request(`GET ${path}`))
      assert.ok([400, 401, 403, 404].includes(statuses[0] ?? 0), `${path}: ${statuses}`)
      assert.doesNotMatch(text, /"name":\s*"trivium"|root:/)
    }
  })

  test('keys like __proto__ in arguments change nothing for others, at any depth', async () => {
    const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
    const bodies = [
      ['echo', evil],
      ['event-emit', `{"topic":"evil","data":${evil}}`],
      ['event-emit', `{"topic":"__proto__","data":{"a":${evil}}}`],
      ['event-subscribe', '{"topic":"__proto__","queue":"__proto__"}'],
      ['state-set', `{"key":"__proto__","value":${evil},"store":"memory"}`],
      ['state-set', `{"key":"__proto__","value":${evil},"store":"shared"}`],
    ]
    for (const [skill, body] of bodies) {
      const { status } = await call('POST', `/v1/skills/${skill}`, body)
      assert.ok(status === 200 || status === 422, `${skill}: ${status}`)
      assert.deepEqual(await daemon.invoke('look'), { polluted: null })
    }
  })

  test('deep JSON is refused or taken, and never ends the daemon', async () => {
    for (const depth of [1_000, 10_000, 500_000]) {
      const body = `{"topic":"deep","data":${'['.repeat(depth)}${']'.repeat(depth)}}`
      const { status, error } = await call('POST', '/v1/skills/event-emit', body)
      assert.ok(status === 200 || (status < 500 && error), `${depth} levels: ${status}`)
      if (status === 200)
        await call('POST', '/v1/skills/event-wait', '{"topic":"deep","queue":"d","timeout":0}')
    }
  })

  test('any JSON as the arguments of any skill gets a result or an error with a code', async () => {
    const names = Object.values(Object(Object(await daemon.get('/v1/skills')).result)).map((skill) =>
      String(Object(skill).name),
    )
    assert.ok(names.length > 20)
    const keys = 'topic queue key value text id ids ref receipt gateway store label data to'.split(' ')
    const leaf = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.integer(),
      fc.constantFrom<unknown>(null, ['a']),
    )
    const given = fc.dictionary(fc.constantFrom(...keys), leaf)
    // What reads waits no longer than it must.
    const args = fc.oneof(
      fc.json({ maxDepth: 3 }),
      given.map((each) => JSON.stringify({ ...each, timeout: 1 })),
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), args, async (name, body) => {
        // Without its bound a skill that waits is right to wait.
        if (/wait|receive/.test(name) && !body.includes('"timeout":1}')) return
        const { status, error, text } = await call('POST', `/v1/skills/${name}`, body)
        assert.ok(status === 200 || (error !== undefined && error !== 'internal'), `${name} ${body}: ${text}`)
      }),
      { numRuns: 400 },
    )
  })

  test('a foreign Host or Origin gets no token, no CORS header and no frame', async () => {
    for (const headers of [['Host: evil.example'], ['Host: 127.0.0.1:1', 'Origin: https://evil.example']]) {
      const bytes = `GET / HTTP/1.1\r\n${headers.join('\r\n')}\r\nConnection: close\r\n\r\n`
      const { text } = await sendRaw(daemon.control, bytes)
      assert.ok(!text.includes(daemon.token))
      assert.doesNotMatch(text, /access-control-allow/i)
      assert.match(text, /frame-ancestors 'none'/)
    }
    const preflight = await call('OPTIONS', '/v1/skills/echo', undefined, { origin: 'https://evil.example' })
    assert.doesNotMatch(preflight.text, /access-control-allow/i)
  })

  test('callers that go away while they wait leave nothing waiting', async () => {
    const waits = Array.from({ length: 300 }, () => {
      const abort = new AbortController()
      const answer = fetch(`${daemon.control}/v1/skills/gateway-receive`, {
        method: 'POST',
        signal: abort.signal,
        headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
        body: '{"gateway":"nobody","timeout":60000}',
      }).catch(() => undefined)
      return { abort, answer }
    })
    await daemon.get('/v1/status')
    for (const { abort } of waits) abort.abort()
    await Promise.all(waits.map(({ answer }) => answer))
    assert.equal(await daemon.invoke('gateway-receive', { gateway: 'nobody', timeout: 0 }), null)
  })
})

function errorIn(text: string): string | undefined {
  try {
    return Object(JSON.parse(text)).error?.code
  } catch {
    return undefined
  }
}
