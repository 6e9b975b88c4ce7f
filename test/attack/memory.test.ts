import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { openSocket } from '../chaos/raw-http.ts'
import { INSPECTED, type LiveMemory, openLiveMemory } from '../fixtures/live-memory.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /demo }
  hub: { transport: webhook, path: /hub, verify: { scheme: github, secret: hub-secret } }
  chat: { transport: websocket, path: /chat }
  team: { transport: slack, mode: http, signing-secret: s3cret, bot-token: xoxb-1, path: /slack }
routes:
  - { name: rest, skill: echo }
`

/** The bound for unfinished bodies in docs/security.md (MB). */
const BOUND = 64
/** Growth that sockets may add to it (MB). */
const SOCKETS = 20
/** Growth that may remain afterwards (MB). */
const REMAINDER = 20
/** Pause between two measurements (ms). */
const SAMPLE_PAUSE = 200
const MB = 1024 * 1024

describe('the memory for requests of strangers', { timeout: 540_000 }, () => {
  let memory: LiveMemory
  // Before the daemon is stopped: a process does not end while its inspector is in use.
  after(() => memory?.close())
  const suite = suiteWithDaemon({ ownProcess: 'measured', routes: ROUTES, env: INSPECTED })
  before(async () => {
    memory = await openLiveMemory(suite.daemon)
  })

  /** Starts a request or a WebSocket that never ends. */
  const begin = async (head: string, at = suite.daemon.url): Promise<Socket> => {
    const socket = openSocket(at)
    await once(socket, 'connect')
    socket.write(head)
    return socket
  }
  const post = (path: string) =>
    begin(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`)
  const upgrade = async () => {
    const key = Buffer.alloc(16).toString('base64')
    const socket = await begin(
      `GET /chat HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
    )
    await once(socket, 'data')
    return socket
  }

  /** Growth of the memory (MB) when each connection has sent `times` pieces. */
  const grownBy = async (open: () => Promise<Socket>, connections: number, piece: Buffer, times: number) => {
    const atRest = await memory.live()
    const sockets = await Promise.all(Array.from({ length: connections }, open))
    await Promise.all(sockets.map((socket) => sendAll(socket, piece, times)))
    // This request is accepted after all pieces.
    assert.equal((await suite.daemon.post('/demo', 'x', { 'content-type': 'text/plain' })).status, 202)
    const grown = (await memory.live()) - atRest
    for (const socket of sockets) socket.destroy()
    await until(async () => (await memory.live()) < atRest + REMAINDER, 'the release of the memory')
    return grown
  }

  const oneByte = Buffer.from('1\r\nx\r\n'.repeat(10_000))
  for (const path of ['/demo', '/hub', '/slack']) {
    test(`is proportional to a body in chunks of one byte: ${path}`, async () => {
      const grown = await grownBy(() => post(path), 1, oneByte, 90)
      assert.ok(grown < 10, `900 KB took ${grown} MB`)
    })
  }

  test('is bounded for all unfinished bodies together', async () => {
    const small = Buffer.from(`40\r\n${'x'.repeat(64)}\r\n`.repeat(1_000))
    const grown = await grownBy(() => post('/hub'), 100, small, 14)
    assert.ok(grown < BOUND + SOCKETS, `${grown} MB`)
  })

  test('is bounded for all unfinished WebSocket messages together, in fragments or small reads', async () => {
    // An empty first fragment, then continuations of one byte each.
    const fragments = Buffer.concat([Buffer.from([0x01, 0x80, 0, 0, 0, 0]), continuations(9_000)])
    const many = await grownBy(upgrade, 200, fragments, 1)
    assert.ok(many < BOUND + SOCKETS, `fragments: ${many} MB`)
    // One frame of 1 MB that never ends.
    const frame = Buffer.concat([Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0])])
    const large = await grownBy(
      async () => {
        const socket = await upgrade()
        socket.write(frame)
        return socket
      },
      220,
      Buffer.alloc(MB / 16),
      15,
    )
    assert.ok(large < BOUND + SOCKETS, `frames: ${large} MB`)
  })

  /**
   * Peak growth of the memory (MB) by complete deliveries at the same time, each of which is
   * answered 202 or 503.
   */
  const grownByDeliveries = async (count: number, headers: string[], body: Buffer) => {
    const atRest = await memory.live()
    const head = ['POST /demo HTTP/1.1', 'Host: localhost', 'Connection: close', ...headers]
    const answers = Promise.all(
      Array.from({ length: count }, async () => {
        const socket = await begin(`${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n`)
        const answered = once(socket, 'data')
        socket.write(body)
        const status = String((await answered)[0]).slice(9, 12)
        socket.destroy()
        return status
      }),
    )
    const peak = await peakUntil(answers)
    assert.deepEqual(
      [...new Set(await answers)].filter((status) => !['202', '503'].includes(status)),
      [],
    )
    return peak - atRest
  }

  /** Peak of the memory (MB) until a promise is settled. */
  const peakUntil = async (end: Promise<unknown>) => {
    let hasEnded = false
    void end.finally(() => {
      hasEnded = true
    })
    let peak = 0
    while (!hasEnded) {
      peak = Math.max(peak, await memory.live())
      // Each measurement collects garbage. Without the pause, the daemon could not work.
      await Promise.race([end, pause(SAMPLE_PAUSE)])
    }
    return peak
  }

  test('is bounded for bodies that decompress to a thousand times their size', async () => {
    const bomb = gzipSync(Buffer.alloc(MB - 10, 'a'))
    const packed = await grownByDeliveries(400, ['Content-Type: text/plain', 'Content-Encoding: gzip'], bomb)
    // Accepted messages wait for the store, up to another bound.
    assert.ok(packed < BOUND * 2 + SOCKETS * 3, `400 MB from ${bomb.length} bytes each: ${packed} MB`)
  })

  test('is bounded for forms with files', async () => {
    const file = 'Content-Disposition: form-data; name="f"; filename="f"'
    const form = Buffer.concat([
      Buffer.from(`--X\r\n${file}\r\n\r\n`),
      Buffer.alloc(1_000_000, 1),
      Buffer.from('\r\n--X--\r\n'),
    ])
    const type = 'Content-Type: multipart/form-data; boundary=X'
    const files = await grownByDeliveries(100, [type], form)
    assert.ok(files < BOUND * 2 + SOCKETS, `100 forms of 1 MB: ${files} MB`)
  })

  /**
   * Sends a byte per second of a body of 1,000 bytes. Resolves with the answer and the duration of
   * the connection.
   */
  const drip = async (path: string, at: string): Promise<[answer: string, seconds: number]> => {
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n`
    const socket = await begin(head, at)
    const began = performance.now()
    let answer = ''
    socket.on('data', (data) => {
      answer += data
    })
    const timer = setInterval(() => socket.write('x'), 1_000)
    await once(socket, 'close')
    clearInterval(timer)
    return [answer, (performance.now() - began) / 1_000]
  }

  test('is freed after 60 s for a slow body, which each listener then refuses', async () => {
    const { url, control } = suite.daemon
    const drips = [
      [url, '/demo'],
      [control, '/v1/session'],
    ] as const
    for (const [answer, seconds] of await Promise.all(drips.map(([at, path]) => drip(path, at)))) {
      assert.match(answer, /^HTTP\/1\.1 408 /)
      assert.ok(seconds > 55, `${seconds} s`)
    }
  })
})

function continuations(count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => Buffer.from([0x00, 0x81, 0, 0, 0, 0, 0x78])))
}

/** Sends pieces, until the daemon disconnects. */
async function sendAll(socket: Socket, piece: Buffer, times: number): Promise<void> {
  socket.on('data', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  for (let sent = 0; sent < times && !socket.destroyed; sent++) {
    await Promise.race([closed, new Promise<void>((resolve) => socket.write(piece, () => resolve()))])
  }
}
