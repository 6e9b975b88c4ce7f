import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, afterEach, before, describe, test } from 'node:test'
import { memoryOf, openSocket, request, sendRaw } from '../chaos/raw-http.ts'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'
import fc from '../fixtures/fast-check.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
  keyed: { transport: webhook, path: /hooks/keyed, verify: { scheme: none },
           key: data.body.key, conversation: data.body.conversation, from: data.body.from, event: data.body.event }
  probe: { transport: webhook, path: /hooks/probe, verify: { scheme: none }, respond: result, timeout: 5s }
routes:
  - name: probe
    match: { gateway: probe }
    skill: probe
  - name: nobody
    match: { data.body.skill: "echo" }
    skill: echo
    reply: none
`

/** Says whether some message has changed what every object has. */
const PROBE = `export default { description: 'looks', run: ({ message }) =>
  JSON.stringify({ polluted: ({}).polluted ?? null, own: Object.hasOwn(message.data.body, '__proto__') }) }`

const JSON_TYPE = { 'content-type': 'application/json' }
/** Megabytes that abuse may add to what the daemon needs at rest. */
const GROWTH = 250

describe('bad input on the public listener', { timeout: 120_000 }, () => {
  let site: Site
  let daemon: DaemonProcess
  let atRest = 0

  before(async () => {
    site = createSite({ routes: ROUTES, skills: { probe: PROBE }, env: { TRIVIUM_LOG_LEVEL: 'error' } })
    daemon = await site.start()
    await daemon.post('/hooks/demo', '{}')
    atRest = memoryOf(daemon)
  })
  after(async () => {
    assert.equal(await daemon.end(), 0)
    site.remove()
  })
  afterEach(async () => {
    assert.equal((await daemon.post('/hooks/demo', '{}')).status, 202, 'the daemon accepts no more')
    assert.ok(memoryOf(daemon) < atRest + GROWTH, `${atRest} MB grew to ${memoryOf(daemon)} MB`)
  })

  const accepted = async () => {
    const list = await daemon.invoke('message-list', { gateway: 'demo', limit: 1000 })
    return Object.values(Object(list)).length
  }
  const chunked = 'Transfer-Encoding: chunked'

  const unreadable: Record<string, [bytes: string, ...statuses: number[]]> = {
    'bytes that are no HTTP': ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n', 400],
    'a version that there is not': ['POST /hooks/demo HTTP/9.9\r\nHost: a\r\n\r\n', 400],
    'no Host': ['POST /hooks/demo HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    'a header without a colon': [request('POST /hooks/demo', ['nonsense']), 400],
    'a space before the colon': [request('POST /hooks/demo', ['Content-Length : 2'], '{}'), 400],
    'a NUL in a header': [request('POST /hooks/demo', ['X-A: a\0b']), 400],
    'a head of 100 KB': [request('POST /hooks/demo', [`X-A: ${'a'.repeat(100_000)}`]), 431],
    'thousands of headers': [request('POST /hooks/demo', Array(5_000).fill('X-A: a')), 431],
    'a negative length': [request('POST /hooks/demo', ['Content-Length: -1']), 400],
    'two lengths': [request('POST /hooks/demo', ['Content-Length: 2', 'Content-Length: 3'], '{}x'), 400],
    'a length and chunks (CL.TE)': [
      request(
        'POST /hooks/demo',
        ['Content-Length: 4', chunked],
        '0\r\n\r\nPOST /hooks/demo HTTP/1.1\r\n\r\n',
      ),
      400,
    ],
    'chunks that are not the last encoding (TE.TE)': [
      request('POST /hooks/demo', ['Transfer-Encoding: chunked, identity'], '0\r\n\r\n'),
      400,
    ],
    'a misspelt encoding': [
      request('POST /hooks/demo', ['Transfer-Encoding: xchunked', 'Content-Length: 2'], '{}'),
      400,
    ],
    'a chunk size that is none': [request('POST /hooks/demo', [chunked], 'zz\r\n{}\r\n0\r\n\r\n'), 400],
    'a chunk that is longer than it says': [
      request('POST /hooks/demo', [chunked], '1\r\n{}{}\r\n0\r\n\r\n'),
      400,
    ],
    'endless chunk extensions': [request('POST /hooks/demo', [chunked], `1;${'a'.repeat(20_000)}\r\n`), 413],
    'a method that there is not': ['FROB /hooks/demo HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  }
  for (const [what, [bytes, ...expected]] of Object.entries(unreadable)) {
    test(`${what} is refused, with a reason, and is on no road`, async () => {
      const before = await accepted()
      const { text, statuses, closed } = await sendRaw(daemon.url, Buffer.from(bytes, 'latin1'))
      assert.deepEqual(statuses, expected)
      assert.ok(closed, 'the connection stays open')
      if (!text.includes('Content-Length: 0')) assert.match(text, /\{"error":\{"code":"\w+","message":"[^"]+/)
      assert.equal(await accepted(), before)
    })
  }

  test('a method or a path that is not served is refused by name', async () => {
    const refused: [line: string, status: number][] = [
      ['GET /hooks/demo', 405],
      ['PUT /hooks/demo', 405],
      ['TRACE /hooks/demo', 405],
      ['POST /hooks/demo/', 404],
      ['POST //hooks/demo', 404],
      ['POST /hooks/../hooks/demo', 404],
      ['POST /hooks/demo%2f..', 404],
      ['POST /hooks/%64emo', 404],
      ['POST /hooks/demo;a=b', 404],
      ['POST /__proto__', 404],
      ['POST http://%zz/hooks/demo', 404],
      ['OPTIONS *', 404],
    ]
    for (const [line, status] of refused) {
      const { statuses } = await sendRaw(daemon.url, request(line))
      assert.deepEqual(statuses, [status], line)
    }
    // Nobody may tunnel through the listener.
    const { statuses } = await sendRaw(daemon.url, 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: a\r\n\r\n')
    assert.ok(!statuses.includes(200))
  })

  test('pipelined requests are answered in order, a bad one among them is the last', async () => {
    const one = 'POST /hooks/demo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'
    const nowhere = 'POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'
    const { statuses, closed } = await sendRaw(daemon.url, [one, nowhere, one, 'bad\r\n\r\n', one].join(''))
    assert.deepEqual(statuses, [202, 404, 202, 400])
    assert.ok(closed)
  })

  const bodies: Record<string, [body: string | Buffer, type: string, status: number]> = {
    'JSON that is none': ['{"a":', 'application/json', 400],
    'JSON that is empty': ['', 'application/json', 400],
    'JSON that is no UTF-8': [Buffer.from([0x22, 0xff, 0xfe, 0x22]), 'application/json', 400],
    'JSON of 100,000 levels': ['['.repeat(100_000) + ']'.repeat(100_000), 'application/json', 400],
    'JSON of 400,000 levels that never ends': ['{"a":'.repeat(200_000), 'application/json', 400],
    'text that is not in its charset': [Buffer.from([0xff]), 'text/plain; charset=utf-8', 400],
    'a charset that there is not': ['a', 'text/plain; charset=klingon', 400],
    'a form with 100,000 fields': ['a=1&'.repeat(100_000), 'application/x-www-form-urlencoded', 400],
    'a body over the limit': [Buffer.alloc(1_048_577, 'a'), 'text/plain', 413],
  }
  for (const [what, [body, type, status]] of Object.entries(bodies)) {
    test(`${what} is refused with ${status}`, async () => {
      const answer = await daemon.post('/hooks/demo', body, { 'content-type': type })
      assert.equal(answer.status, status)
      assert.match(Object(answer.body).error.message, /\w+/)
    })
  }

  test('a body that is declared small and chunked large is cut off at the limit', async () => {
    const huge = `${(2_000_000).toString(16)}\r\n${'a'.repeat(2_000_000)}\r\n0\r\n\r\n`
    const { statuses } = await sendRaw(daemon.url, request('POST /hooks/demo', [chunked], huge))
    assert.deepEqual(statuses, [413])
  })

  test('a compressed body is refused instead of unpacked', async () => {
    const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' }
    assert.equal((await daemon.post('/hooks/demo', Buffer.alloc(100), headers)).status, 400)
  })

  test('keys like __proto__ stay data: nothing that other messages see changes', async () => {
    const body = '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},"a":1}'
    const { status, body: answer } = await daemon.post('/hooks/probe', body)
    assert.equal(status, 200)
    assert.deepEqual(JSON.parse(Object(answer).reply.text ?? Object(answer).reply), {
      polluted: null,
      own: true,
    })
    await daemon.post('/hooks/demo', '__proto__[polluted]=yes&constructor.prototype.polluted=yes', {
      'content-type': 'application/x-www-form-urlencoded',
    })
    const next = await daemon.post('/hooks/probe', '{}')
    assert.match(JSON.stringify(next.body), /polluted\\?":null/)
  })

  test('any bytes under any content type get a 2xx or a 4xx with a reason', async () => {
    const types = [
      'application/json',
      'application/x-www-form-urlencoded',
      'text/plain',
      'text/xml; charset=utf-16',
    ]
    const type = fc.oneof(fc.constantFrom(...types), fc.stringMatching(/^[!-~]{1,30}$/))
    await fc.assert(
      fc.asyncProperty(type, fc.uint8Array({ maxLength: 300 }), async (contentType, bytes) => {
        const answer = await daemon.post('/hooks/demo', Buffer.from(bytes), { 'content-type': contentType })
        assert.ok([202, 400].includes(answer.status), `status ${answer.status}`)
        if (answer.status === 400) assert.match(Object(answer.body).error.code, /^[a-z_]+$/)
      }),
      { numRuns: 200 },
    )
  })

  test('any JSON in the places of key, conversation, sender and event is accepted and can be read again', async () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.constantFrom(
        '\ud800',
        '__proto__',
        '',
        '\0',
        '~',
        '*',
        '$',
        '{}',
        "'; DROP TABLE journal; --",
        '../../etc',
      ),
      fc.json({ maxDepth: 2 }),
      fc.double(),
    )
    const body = fc.record(
      { key: value, conversation: value, from: value, event: value },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(body, async (given) => {
        const answer = await daemon.post('/hooks/keyed', JSON.stringify(given), JSON_TYPE)
        assert.ok([200, 202].includes(answer.status), JSON.stringify(answer.body))
        const { id } = Object(answer.body)
        const { message } = Object(await daemon.invoke('message-show', { id }))
        assert.equal(message.id, id)
        const { conversation } = message
        const args = { gateway: 'keyed', conversation, timeout: 0 }
        if (answer.status === 202) assert.equal(Object(await daemon.invoke('gateway-receive', args)).id, id)
      }),
      { numRuns: 100 },
    )
  })

  test('any bytes on the socket end in an answer or a closed connection', async () => {
    const start = fc.constantFrom('', 'POST /hooks/demo HTTP/1.1\r\n', request('POST /hooks/demo', [chunked]))
    await fc.assert(
      fc.asyncProperty(start, fc.uint8Array({ minLength: 1, maxLength: 200 }), async (head, bytes) => {
        const { statuses } = await sendRaw(daemon.url, Buffer.concat([Buffer.from(head), bytes]), 50)
        assert.ok(statuses.every((status) => status === 400 || status === 202 || status === 431))
      }),
      { numRuns: 100 },
    )
  })

  test('headers that never end are cut off after 10 s while others are served', async () => {
    const sockets = Array.from({ length: 300 }, () => openSocket(daemon.url))
    const closed = new Set<Socket>()
    for (const socket of sockets) {
      socket.on('close', () => closed.add(socket)).resume()
      socket.write('POST /hooks/demo HTTP/1.1\r\nHost: a\r\nX-Slow: ')
    }
    const drip = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write('a')
    }, 500)
    let served = 0
    const all = async () => {
      if ((await daemon.post('/hooks/demo', '{}')).status === 202) served += 1
      return closed.size === sockets.length
    }
    await until(all, 'the end of all slow connections', 20_000).finally(() => clearInterval(drip))
    assert.ok(served > 100, `${served} others were served`)
  })

  test('connections that break off in the middle of a body leave nothing behind', async () => {
    const head = 'POST /hooks/demo HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n'
    const before = await accepted()
    for (let round = 0; round < 10; round++) {
      const sockets = Array.from({ length: 50 }, () => openSocket(daemon.url).resume())
      await Promise.all(
        sockets.map((one) => new Promise((resolve) => one.write(head + 'a'.repeat(50_000), resolve))),
      )
      for (const [index, socket] of sockets.entries()) {
        if (index % 2 === 0) socket.resetAndDestroy()
        else socket.end()
      }
      await until(() => sockets.every(({ closed }) => closed), 'closed sockets')
    }
    assert.equal(await accepted(), before)
  })

  test('thousands of idle connections cost little, and others are served', async () => {
    const sockets = Array.from({ length: 4_000 }, () => openSocket(daemon.url))
    await until(() => sockets.every(({ readyState }) => readyState === 'open'), 'open sockets', 20_000)
    assert.equal((await daemon.post('/hooks/demo', '{}')).status, 202)
    assert.ok(memoryOf(daemon) < atRest + GROWTH, `${memoryOf(daemon)} MB`)
    for (const socket of sockets) socket.destroy()
  })

  test('many bodies over the limit at once do not add up in memory', async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, 'a')
    const posts = Array.from({ length: 20 }, () =>
      daemon.post('/hooks/demo', body).catch(() => ({ status: 413 })),
    )
    for (const { status } of await Promise.all(posts)) assert.equal(status, 413)
  })
})
