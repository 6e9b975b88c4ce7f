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

/** What docs/security.md promises for unfinished bodies (MB), what the sockets themselves may add, and what may be left after them. */
const BOUND = 64
const SLACK = 20
const REST = 20
/** How often (ms) the daemon is looked at while it works. */
const LOOK_EVERY = 200
const MB = 1024 * 1024

describe('what a stranger makes the daemon remember', { timeout: 540_000 }, () => {
  let memory: LiveMemory
  // First: a process whose inspector is in use does not end.
  after(() => memory?.close())
  const suite = suiteWithDaemon({ ownProcess: 'measured', routes: ROUTES, env: INSPECTED })
  before(async () => {
    memory = await openLiveMemory(suite.daemon)
  })

  /** Starts a request or a WebSocket, which never ends. */
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

  /** What all the connections make the daemon keep (MB) once each has sent `times` pieces. */
  const grownBy = async (open: () => Promise<Socket>, connections: number, piece: Buffer, times: number) => {
    const atRest = await memory.live()
    const sockets = await Promise.all(Array.from({ length: connections }, open))
    await Promise.all(sockets.map((socket) => sendAll(socket, piece, times)))
    // Accepted behind everything that was sent.
    assert.equal((await suite.daemon.post('/demo', 'x', { 'content-type': 'text/plain' })).status, 202)
    const grown = (await memory.live()) - atRest
    for (const socket of sockets) socket.destroy()
    await until(async () => (await memory.live()) < atRest + REST, 'all of it to be given back')
    return grown
  }

  const oneByte = Buffer.from('1\r\nx\r\n'.repeat(10_000))
  for (const path of ['/demo', '/hub', '/slack']) {
    test(`is little more than the bytes of a body in chunks of one byte: ${path}`, async () => {
      const grown = await grownBy(() => post(path), 1, oneByte, 90)
      assert.ok(grown < 10, `900 KB took ${grown} MB`)
    })
  }

  test('is bounded over all unfinished bodies, however they are cut', async () => {
    const small = Buffer.from(`40\r\n${'x'.repeat(64)}\r\n`.repeat(1_000))
    const grown = await grownBy(() => post('/hub'), 100, small, 14)
    assert.ok(grown < BOUND + SLACK, `${grown} MB`)
  })

  test('is bounded over all unfinished messages of WebSockets, in fragments or in small reads', async () => {
    // A first fragment of no bytes, then continuations of one byte each.
    const fragments = Buffer.concat([Buffer.from([0x01, 0x80, 0, 0, 0, 0]), continuations(9_000)])
    const many = await grownBy(upgrade, 200, fragments, 1)
    assert.ok(many < BOUND + SLACK, `fragments: ${many} MB`)
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
    assert.ok(large < BOUND + SLACK, `frames: ${large} MB`)
  })

  /** What whole deliveries add at most (MB), all sent at the same time; what is not taken is told to come back. */
  const grownByWhole = async (count: number, headers: string[], body: Buffer) => {
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
    const most = await mostUntil(answers)
    assert.deepEqual(
      [...new Set(await answers)].filter((status) => !['202', '503'].includes(status)),
      [],
    )
    return most - atRest
  }

  /** The most that the daemon keeps (MB) until something has ended. */
  const mostUntil = async (end: Promise<unknown>) => {
    let hasEnded = false
    void end.finally(() => {
      hasEnded = true
    })
    let most = 0
    while (!hasEnded) {
      most = Math.max(most, await memory.live())
      // To collect garbage all the time would keep the daemon from its work.
      await Promise.race([end, pause(LOOK_EVERY)])
    }
    return most
  }

  test('is bounded over bodies that become a thousand times as large, and over forms with files', async () => {
    const bomb = gzipSync(Buffer.alloc(MB - 10, 'a'))
    const packed = await grownByWhole(400, ['Content-Type: text/plain', 'Content-Encoding: gzip'], bomb)
    // What was accepted waits for the store, up to a bound of its own.
    assert.ok(packed < BOUND * 2 + SLACK * 3, `400 MB from ${bomb.length} bytes each: ${packed} MB`)
    const file = 'Content-Disposition: form-data; name="f"; filename="f"'
    const form = Buffer.concat([
      Buffer.from(`--X\r\n${file}\r\n\r\n`),
      Buffer.alloc(1_000_000, 1),
      Buffer.from('\r\n--X--\r\n'),
    ])
    const type = 'Content-Type: multipart/form-data; boundary=X'
    const files = await grownByWhole(100, [type], form)
    assert.ok(files < BOUND * 2 + SLACK, `100 forms of 1 MB: ${files} MB`)
  })

  /** Sends a byte a second, of a body that would take 1000 s. Resolves with the answer, and with how long the connection was kept. */
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

  test('ends with a body that drips in: after 60 s each listener refuses it', async () => {
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

/** Ends early where the daemon hangs up. */
async function sendAll(socket: Socket, piece: Buffer, times: number): Promise<void> {
  socket.on('data', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  for (let sent = 0; sent < times && !socket.destroyed; sent++) {
    await Promise.race([closed, new Promise<void>((resolve) => socket.write(piece, () => resolve()))])
  }
}
