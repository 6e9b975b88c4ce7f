import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSocket, sendRaw } from '../chaos/raw-http.ts'
import fc from '../fixtures/fast-check.ts'
import { suiteUnderAbuse } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  chat:   { transport: websocket, path: /ws }
routes:
  - { name: all, match: { text: "echo*" }, skill: echo }
`

const HANDSHAKE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
]
const handshakeOf = (path = '/ws', headers = HANDSHAKE) =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers.join('\r\n')}\r\n\r\n`

describe('bad input on a WebSocket', { timeout: 300_000 }, () => {
  /** A new client must get its ack and its reply. */
  const { suite, assertWell } = suiteUnderAbuse({ routes: ROUTES }, async (daemon) => {
    const { send, next, close } = await daemon.chat()
    send({ id: 'hello', text: 'echo' })
    await next('ack')
    await next('message')
    close()
  })

  const refused: Record<string, [status: number, path: string, headers: string[]]> = {
    'no upgrade': [426, '/ws', ['Connection: close']],
    'an unknown version': [400, '/ws', HANDSHAKE.with(2, 'Sec-WebSocket-Version: 99')],
    'no key': [400, '/ws', HANDSHAKE.slice(0, 3)],
    'an invalid key': [400, '/ws', HANDSHAKE.with(3, 'Sec-WebSocket-Key: short')],
    'a position that is too large': [400, '/ws?after=1e99', HANDSHAKE],
    'an unknown path': [404, '/nowhere', HANDSHAKE],
  }
  test('an invalid handshake is refused with its status', async () => {
    for (const [fault, [status, path, headers]] of Object.entries(refused)) {
      const { statuses } = await sendRaw(suite.daemon.url, handshakeOf(path, headers))
      assert.deepEqual(statuses, [status], fault)
    }
  })

  test('any bytes after the handshake are answered or end the connection', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 100 }), async (bytes) => {
        const all = Buffer.concat([Buffer.from(handshakeOf()), bytes])
        assert.deepEqual((await sendRaw(suite.daemon.url, all, { waitForMore: 50 })).statuses, [101])
      }),
      { numRuns: 50 },
    )
  })

  test('fragments over the limit in total end the connection with 1009', async () => {
    const { socket, closed } = await suite.daemon.chat()
    for (let part = 0; part < 20; part++) socket.send('a'.repeat(100_000), { fin: false })
    assert.equal(await closed, 1009)
  })

  test('a flood of pings ends its own connection only', async () => {
    const [bystander, flood] = [await suite.daemon.chat(), await suite.daemon.chat()]
    for (let round = 0; round < 20_000; round++) flood.socket.ping()
    assert.equal(await flood.closed, 1006)
    bystander.send({ text: 'a' })
    await bystander.next('ack')
    bystander.close()
  })

  test('a thousand silent connections, half of which are reset, need little memory', async () => {
    const sockets = Array.from({ length: 1_000 }, () => openSocket(suite.daemon.url))
    let welcomed = 0
    for (const socket of sockets) {
      socket.once('data', () => {
        welcomed += 1
      })
      socket.write(handshakeOf())
    }
    await until(() => welcomed === sockets.length, 'a thousand connections')
    for (const socket of sockets.slice(500)) socket.resetAndDestroy()
    await assertWell()
    for (const socket of sockets) socket.destroy()
  })
})
