import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSocket, request, sendRaw } from '../chaos/raw-http.ts'
import fc from '../fixtures/fast-check.ts'
import { suiteUnderAbuse } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
  keyed: { transport: webhook, path: /hooks/keyed, verify: { scheme: none },
           key: data.body.key, conversation: data.body.conversation, from: data.body.from, event: data.body.event }
  probe: { transport: webhook, path: /hooks/probe, verify: { scheme: none }, respond: result, timeout: 4m }
routes:
  - { name: probe, match: { gateway: probe }, skill: probe }
  - { name: nobody, match: { data.body.skill: "echo" }, skill: echo, reply: none }
`

/** Returns whether a message has changed `Object.prototype`. */
const PROBE = `export default { description: 'looks', run: ({ message }) =>
  JSON.stringify({ polluted: ({}).polluted ?? null, own: Object.hasOwn(message.data.body, '__proto__') }) }`

describe('bad input on the public listener', { timeout: 300_000 }, () => {
  const { suite, assertWell } = suiteUnderAbuse(
    { routes: ROUTES, skills: { probe: PROBE } },
    async (daemon) =>
      assert.equal(
        (await daemon.post('/hooks/demo', '{}')).status,
        202,
        'the daemon no longer accepts messages',
      ),
  )

  const chunked = 'Transfer-Encoding: chunked'

  test('unknown methods and paths are refused with their status, and CONNECT does not tunnel', async () => {
    const refused = {
      405: ['GET /hooks/demo', 'PUT /hooks/demo', 'TRACE /hooks/demo'],
      404: [
        ...['POST /hooks/demo/', 'POST //hooks/demo', 'POST /hooks/../hooks/demo', 'POST /hooks/demo%2f..'],
        ...['POST /hooks/%64emo', 'POST /hooks/demo;a=b', 'POST /__proto__', 'OPTIONS *'],
        'POST http://%zz/hooks/demo',
      ],
    }
    for (const [status, lines] of Object.entries(refused)) {
      for (const line of lines) {
        assert.deepEqual((await sendRaw(suite.daemon.url, request(line))).statuses, [Number(status)], line)
      }
    }
    const { statuses } = await sendRaw(suite.daemon.url, 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: a\r\n\r\n')
    assert.ok(!statuses.includes(200))
  })

  test('pipelined requests are answered in order', async () => {
    const to = (path: string, more = '') =>
      `POST ${path} HTTP/1.1\r\nHost: a\r\n${more}Content-Length: 2\r\n\r\n{}`
    const one = to('/hooks/demo')
    const last = to('/no', 'Connection: close\r\n')
    const { statuses, closed } = await sendRaw(suite.daemon.url, `${one}${to('/no')}${one}${last}`)
    assert.deepEqual(statuses, [202, 404, 202, 404])
    assert.ok(closed)
  })

  test('keys like __proto__ are data without side effects', async () => {
    const body = '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},"a":1}'
    const first = await suite.daemon.post('/hooks/probe', body)
    assert.deepEqual(JSON.parse(Object(first.body).reply), { polluted: null, own: true })
    await suite.daemon.post('/hooks/demo', '__proto__[polluted]=yes&constructor.prototype.polluted=yes', {
      'content-type': 'application/x-www-form-urlencoded',
    })
    assert.match(JSON.stringify((await suite.daemon.post('/hooks/probe', '{}')).body), /polluted\\?":null/)
  })

  test('any JSON as key, conversation, sender or event is accepted and can be read again', async () => {
    const odd = ['\ud800', '__proto__', '', '\0', '~', '*', '$', "'; DROP TABLE journal; --", '../../etc']
    const text = fc.string({ unit: 'binary', maxLength: 400 })
    const value = fc.oneof(text, fc.constantFrom(...odd), fc.json({ maxDepth: 2 }), fc.double())
    const body = fc.record(
      { key: value, conversation: value, from: value, event: value },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(body, async (fields) => {
        const answer = await suite.daemon.post('/hooks/keyed', JSON.stringify(fields))
        assert.ok([200, 202].includes(answer.status), JSON.stringify(answer.body))
        const { id } = Object(answer.body)
        const { message } = Object(await suite.daemon.invoke('message-show', { id }))
        assert.equal(message.id, id)
        const args = { gateway: 'keyed', conversation: message.conversation, timeout: 0 }
        if (answer.status === 202)
          assert.equal(Object(await suite.daemon.invoke('gateway-receive', args)).id, id)
      }),
      { numRuns: 100 },
    )
  })

  test('any bytes on a socket get an answer or a closed connection', async () => {
    const start = fc.constantFrom('', 'POST /hooks/demo HTTP/1.1\r\n', request('POST /hooks/demo', [chunked]))
    await fc.assert(
      fc.asyncProperty(start, fc.uint8Array({ minLength: 1, maxLength: 200 }), async (head, bytes) => {
        const { statuses } = await sendRaw(suite.daemon.url, Buffer.concat([Buffer.from(head), bytes]), {
          waitFor: 50,
        })
        assert.ok(statuses.every((status) => [400, 202, 431].includes(status)))
      }),
      { numRuns: 100 },
    )
  })

  test('thousands of idle connections need little memory, and others are served', async () => {
    const sockets = Array.from({ length: 4_000 }, () => openSocket(suite.daemon.url))
    await until(() => sockets.every(({ readyState }) => readyState === 'open'), 'open sockets')
    await assertWell()
    for (const socket of sockets) socket.destroy()
  })
})
