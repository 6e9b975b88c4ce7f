import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, afterEach, before, describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { memoryOf, openSocket, sendRaw } from '../chaos/raw-http.ts'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'
import fc from '../fixtures/fast-check.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  chat:   { transport: websocket, path: /ws }
  closed: { transport: websocket, path: /closed, tokens: { alice: "alice's long token" } }
routes:
  - name: all
    match: { text: "echo*" }
    skill: echo
`

/** Megabytes that abuse may add to what the daemon needs at rest. */
const GROWTH = 200

type Frame = { type: string; [key: string]: unknown }

describe('bad input on a WebSocket', { timeout: 120_000 }, () => {
  let site: Site
  let daemon: DaemonProcess
  let atRest = 0

  before(async () => {
    site = createSite({ routes: ROUTES, env: { TRIVIUM_LOG_LEVEL: 'error' } })
    daemon = await site.start()
    await saysHello()
    atRest = memoryOf(daemon)
  })
  after(async () => {
    assert.equal(await daemon.end(), 0)
    site.remove()
  })
  afterEach(async () => {
    await saysHello()
    assert.ok(memoryOf(daemon) < atRest + GROWTH, `${atRest} MB grew to ${memoryOf(daemon)} MB`)
  })

  /** A newcomer gets its ack and its reply: whatever happened before did no harm to others. */
  const saysHello = async () => {
    const client = await connect()
    client.socket.send('{"type":"message","id":"hello","text":"echo"}')
    await until(() => client.frames.find(({ type }) => type === 'ack'), 'an ack')
    await until(() => client.frames.find(({ type }) => type === 'message'), 'a reply')
    client.socket.terminate()
  }
  const connect = async (query = '') => {
    const socket = new WebSocket(`${daemon.url.replace('http', 'ws')}/ws${query}`)
    const frames: Frame[] = []
    let code: number | undefined
    socket.on('error', () => {})
    socket.on('close', (given) => {
      code = given
    })
    socket.on('message', (data) => frames.push(JSON.parse(String(data))))
    await until(() => frames.length > 0 || code !== undefined, 'the welcome')
    return { socket, frames, code: () => code, closed: () => until(() => code, 'the end') }
  }
  const upgrade = (path: string, headers: string[]) =>
    sendRaw(daemon.url, `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers.join('\r\n')}\r\n\r\n`)
  const HANDSHAKE = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  ]

  const wrong: Record<string, string> = {
    'no JSON': '{"type":',
    'an array': '[1,2]',
    null: 'null',
    'a number': '7',
    'a frame without a type': '{"text":"a"}',
    'a type of everything': '{"type":"__proto__","text":"a"}',
    'a frame without text': '{"type":"message","id":"1"}',
    'text that is no text': '{"type":"message","text":{"a":1}}',
    'an empty id': '{"type":"message","id":"","text":"a"}',
    'an id of 1,000 characters': `{"type":"message","id":"${'a'.repeat(1_000)}","text":"a"}`,
    'an id that is an object': '{"type":"message","id":{},"text":"a"}',
    'a field that means something to the roads': '{"type":"message","text":"a","replyTarget":{"log":true}}',
    'fields of 5,000 levels': `{"type":"message","text":"a","x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
  }
  for (const [what, frame] of Object.entries(wrong)) {
    test(`${what} gets an error frame with a reason, and the connection stays`, async () => {
      const { socket, frames } = await connect()
      socket.send(frame)
      const error = await until(() => frames.find(({ type }) => type === 'error'), 'the error frame')
      assert.equal(error.code, 'bad_request')
      assert.match(String(error.message), /cannot be read: \w+/)
      socket.send('{"type":"message","text":"still here"}')
      await until(() => frames.find(({ type }) => type === 'ack'), 'the ack')
      socket.terminate()
    })
  }

  test('any JSON gets exactly one ack or error frame', async () => {
    const { socket, frames } = await connect()
    const field = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text)),
    )
    const message = fc
      .dictionary(
        fc.oneof(
          fc.constantFrom('id', 'text', 'type', '__proto__', 'conversation', 'messageId'),
          fc.string(),
        ),
        field,
      )
      .map((fields) => ({ type: 'message', text: 'a', ...fields }))
    await fc.assert(
      fc.asyncProperty(fc.oneof(message, field), async (frame) => {
        const before = frames.length
        socket.send(JSON.stringify(frame) ?? 'null')
        await until(() => frames.length > before, 'an answer')
        assert.equal(frames.length, before + 1)
        assert.match(frames[before]?.type ?? '', /^(ack|error)$/)
      }),
      { numRuns: 200 },
    )
    socket.terminate()
  })

  test('a frame over the limit ends the connection with 1009', async () => {
    const { socket, closed } = await connect()
    socket.send(JSON.stringify({ type: 'message', text: 'a'.repeat(1_100_000) }))
    assert.equal(await closed(), 1009)
  })

  test('fragments that add up over the limit end the connection with 1009', async () => {
    const { socket, closed } = await connect()
    for (let part = 0; part < 20; part++) socket.send('a'.repeat(100_000), { fin: false })
    assert.equal(await closed(), 1009)
  })

  test('text that is no UTF-8 ends the connection with 1007', async () => {
    const { socket, closed } = await connect()
    socket.send(Buffer.from([0xc3, 0x28]), { binary: false })
    assert.equal(await closed(), 1007)
  })

  test('binary frames get an error frame', async () => {
    const { socket, frames } = await connect()
    socket.send(randomBytes(100))
    const error = await until(() => frames.find(({ type }) => type === 'error'), 'the error frame')
    assert.match(String(error.message), /not binary/)
    socket.terminate()
  })

  test('any bytes after the handshake are answered or end the connection', async () => {
    const handshake = `GET /ws HTTP/1.1\r\nHost: a\r\n${HANDSHAKE.join('\r\n')}\r\n\r\n`
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 100 }), async (bytes) => {
        const { statuses } = await sendRaw(
          daemon.url,
          Buffer.concat([Buffer.from(handshake), bytes]),
          5_000,
          50,
        )
        assert.deepEqual(statuses, [101])
      }),
      { numRuns: 50 },
    )
  })

  const handshakes: Record<string, [path: string, headers: string[], status: number]> = {
    'no upgrade at all': ['/ws', ['Connection: close'], 426],
    'a version that there is not': ['/ws', HANDSHAKE.with(2, 'Sec-WebSocket-Version: 99'), 400],
    'no key': ['/ws', HANDSHAKE.slice(0, 3), 400],
    'a key that is none': ['/ws', HANDSHAKE.with(3, 'Sec-WebSocket-Key: short'), 400],
    'a foreign web page': ['/ws', [...HANDSHAKE, 'Origin: https://evil.example'], 403],
    'an origin that is no URL': ['/ws', [...HANDSHAKE, 'Origin: null'], 403],
    'no token where one is needed': ['/closed', HANDSHAKE, 401],
    'a wrong token': ['/closed', [...HANDSHAKE, "Authorization: Bearer bob's token"], 401],
    'a conversation that was made up': ['/ws?conversation=mine', HANDSHAKE, 403],
    'a conversation with a forged proof': [
      `/ws?conversation=${'a'.repeat(22)}.${'b'.repeat(16)}`,
      HANDSHAKE,
      403,
    ],
    'a position that is none': ['/ws?after=-1', HANDSHAKE, 400],
    'a position beyond all numbers': ['/ws?after=1e99', HANDSHAKE, 400],
    'a path that there is not': ['/nowhere', HANDSHAKE, 404],
  }
  for (const [what, [path, headers, status]] of Object.entries(handshakes)) {
    test(`a handshake with ${what} is refused with ${status}`, async () => {
      const { statuses } = await upgrade(path, headers)
      assert.deepEqual(statuses, [status])
    })
  }

  test('a flood of pings ends the connection that it comes from, and no other', async () => {
    const [bystander, flood] = [await connect(), await connect()]
    for (let round = 0; round < 20_000; round++) flood.socket.ping()
    assert.equal(await flood.closed(), 1006)
    bystander.socket.send('{"type":"message","id":"after","text":"a"}')
    await until(() => bystander.frames.find(({ type }) => type === 'ack'), 'the ack')
    bystander.socket.terminate()
  })

  test('a thousand connections that never say a word, and half of them vanish, cost little', async () => {
    const handshake = `GET /ws HTTP/1.1\r\nHost: a\r\n${HANDSHAKE.join('\r\n')}\r\n\r\n`
    const sockets = Array.from({ length: 1_000 }, () => openSocket(daemon.url))
    let welcomed = 0
    for (const socket of sockets) {
      socket.once('data', () => {
        welcomed += 1
      })
      socket.write(handshake)
    }
    await until(() => welcomed === sockets.length, 'a thousand connections', 20_000)
    for (const socket of sockets.slice(500)) socket.resetAndDestroy()
    await saysHello()
    assert.ok(memoryOf(daemon) < atRest + GROWTH, `${memoryOf(daemon)} MB`)
    for (const socket of sockets) socket.destroy()
  })

  test('who sends without reading is held back, not buffered without end', async () => {
    const { socket } = await connect()
    socket.pause()
    const frame = JSON.stringify({ type: 'nonsense', id: 'x'.repeat(150) })
    for (let sent = 0; sent < 300_000; sent += 1_000) {
      for (let each = 0; each < 1_000; each++) socket.send(frame)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await saysHello()
    assert.ok(memoryOf(daemon) < atRest + GROWTH, `${memoryOf(daemon)} MB`)
    socket.terminate()
  })
})
