import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { memoryOf, openSocket } from '../chaos/raw-http.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /demo }
  hub: { transport: webhook, path: /hub, verify: { scheme: github, secret: hub-secret } }
  chat: { transport: websocket, path: /chat }
  team: { transport: slack, mode: http, signingSecret: s3cret, botToken: xoxb-1, path: /slack }
routes:
  - { name: rest, skill: echo }
`

/** What docs/security.md promises for unfinished bodies (MB), and what garbage and the sockets themselves may add. */
const BOUND = 64
const SLACK = 60
const MB = 1024 * 1024

describe('what a stranger makes the daemon remember', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ ownProcess: 'measured', routes: ROUTES })

  /** Starts a request or a WebSocket, which never ends. */
  const begin = async (head: string): Promise<Socket> => {
    const socket = openSocket(suite.daemon.url)
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

  /** What all the connections add to the memory of the daemon (MB) while each has sent `times` pieces. */
  const grownBy = async (open: () => Promise<Socket>, connections: number, piece: Buffer, times: number) => {
    const before = memoryOf(suite.daemon)
    const sockets = await Promise.all(Array.from({ length: connections }, open))
    let most = 0
    const look = setInterval(() => {
      most = Math.max(most, memoryOf(suite.daemon) - before)
    }, 20)
    await Promise.all(sockets.map((socket) => sendAll(socket, piece, times)))
    // Accepted behind everything that was sent.
    assert.equal((await suite.daemon.post('/demo', 'x', { 'content-type': 'text/plain' })).status, 202)
    clearInterval(look)
    for (const socket of sockets) socket.destroy()
    return most
  }

  const oneByte = Buffer.from('1\r\nx\r\n'.repeat(10_000))
  for (const path of ['/demo', '/hub', '/slack']) {
    test(`is little more than the bytes of a body in chunks of one byte: ${path}`, async () => {
      const grown = await grownBy(() => post(path), 1, oneByte, 90)
      assert.ok(grown < 40, `900 KB took ${grown} MB`)
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
    const before = memoryOf(suite.daemon)
    let most = 0
    const look = setInterval(() => {
      most = Math.max(most, memoryOf(suite.daemon) - before)
    }, 20)
    const head = ['POST /demo HTTP/1.1', 'Host: localhost', 'Connection: close', ...headers]
    const statuses = await Promise.all(
      Array.from({ length: count }, async () => {
        const socket = await begin(`${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n`)
        const answered = once(socket, 'data')
        socket.write(body)
        const status = String((await answered)[0]).slice(9, 12)
        socket.destroy()
        return status
      }),
    )
    clearInterval(look)
    assert.deepEqual(
      [...new Set(statuses)].filter((status) => !['202', '503'].includes(status)),
      [],
    )
    return most
  }

  test('is bounded over bodies that become a thousand times as large, and over forms with files', async () => {
    const bomb = gzipSync(Buffer.alloc(MB - 10, 'a'))
    const packed = await grownByWhole(400, ['Content-Type: text/plain', 'Content-Encoding: gzip'], bomb)
    // What was accepted waits for the store, which has a bound of its own.
    assert.ok(packed < 300, `400 MB from ${bomb.length} bytes each: ${packed} MB`)
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

  test('ends with a body that drips in: after 60 s it is refused, whatever came', async () => {
    const socket = await begin(
      'POST /demo HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n',
    )
    const began = performance.now()
    let answer = ''
    socket.on('data', (data) => {
      answer += data
    })
    const drip = setInterval(() => socket.write('x'), 1_000)
    await once(socket, 'close')
    clearInterval(drip)
    const seconds = (performance.now() - began) / 1_000
    assert.match(answer, /^HTTP\/1\.1 408 /)
    assert.ok(seconds > 55 && seconds < 75, `${seconds} s`)
  })
})

function continuations(count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => Buffer.from([0x00, 0x81, 0, 0, 0, 0, 0x78])))
}

/** Ends early where the daemon hangs up. */
async function sendAll(socket: Socket, piece: Buffer, times: number): Promise<void> {
  socket.on('data', () => {})
  for (let sent = 0; sent < times && !socket.destroyed; sent++) {
    await new Promise<void>((resolve) => {
      socket.once('close', resolve)
      socket.write(piece, () => resolve())
    })
  }
}
