import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { after, describe, test } from 'node:test'
import { setImmediate as pause } from 'node:timers/promises'
import { until } from '../../fixtures/until.ts'
import { startWebsocket } from './harness.ts'

const BIG = 'x'.repeat(60_000)

describe('a WebSocket gateway', () => {
  test('disconnects clients that do not answer pings, and no others', async () => {
    const { connect, transport } = await startWebsocket({ heartbeat: '1s' })
    const dead = await connect('', { autoPong: false })
    const alive = await connect()
    let pings = 0
    alive.socket.on('ping', () => pings++)
    assert.equal(await dead.closed, 1006)
    await until(() => pings > 3, 'more pings')
    assert.equal(alive.socket.readyState, alive.socket.OPEN)
    assert.match(transport.health().detail ?? '', /^connections: 1$/)
  })

  test('closes half-open sockets when it stops', async () => {
    const { url, transport, http } = await startWebsocket()
    const socket = connectTcp({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
    after(() => socket.destroy())
    socket.on('error', () => undefined)
    const key = Buffer.alloc(16).toString('base64')
    socket.write(
      `GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
    )
    const [chunk] = await once(socket, 'data')
    assert.match(String(chunk), /101 Switching/)
    await transport.close()
    await until(() => http.connections() === 0, 'no connection')
  })

  test('buffers a bounded amount for a client that stops reading, and sends everything when it continues', async () => {
    const { connect, reply } = await startWebsocket({ 'max-buffer': '256kb' })
    const client = await connect()
    client.socket.pause()
    const total = 400
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().external
    for (let index = 0; index < total; index++) await reply(client.conversation, `${index} ${BIG}`)
    const grown = process.memoryUsage().arrayBuffers + process.memoryUsage().external - before
    assert.ok(grown < 12_000_000, `the buffers grew by ${grown} bytes`)
    client.socket.resume()
    await until(() => client.frames.length === total, 'all replies')
    assert.deepEqual(
      client.frames.map(({ seq }) => seq),
      Array.from({ length: total }, (_, index) => index + 1),
    )
  })

  test('disconnects, with code 1013, a client that stays slow; it can resume', async () => {
    const { connect, reply, logs } = await startWebsocket({
      'max-buffer': '64kb',
      'stall-timeout': '1500ms',
    })
    const client = await connect()
    client.socket.pause()
    // A client that does not read for another 2 s is cut off without a code.
    const isClosing = until(() => logs.some(({ message }) => /too slow/.test(message)), 'the close frame')
    const resumed = isClosing.then(() => client.socket.resume())
    const total = 200
    for (let index = 0; index < total; index++) await reply(client.conversation, `${index} ${BIG}`)
    await resumed
    assert.equal(await client.closed, 1013)
    const last = client.frames.at(-1)?.seq ?? 0
    assert.ok(last < total)
    const back = await connect(`?conversation=${client.conversation}&after=${last}`)
    await until(() => back.frames.length === total - last, 'the rest')
    assert.equal(back.frames[0]?.seq, last + 1)
  })

  test('stops reading from a client that does not read its acknowledgements, and serves the others', async () => {
    const { connect, store, transport } = await startWebsocket({
      'max-buffer': '4kb',
      'stall-timeout': '300ms',
    })
    const client = await connect()
    const other = await connect()
    client.socket.pause()
    const frame = { type: 'message', id: 'i'.repeat(200), text: 'x' }
    const total = 100_000
    for (let index = 0; index < total; index++) client.say(frame)
    other.say({ type: 'message', text: 'hi' })
    await other.next('ack')
    await until(() => transport.health().detail === 'connections: 1', 'the end of the connection')
    assert.ok(store.acceptCalls < total, `${store.acceptCalls} frames were read`)
    client.socket.terminate()
  })

  test('slows down a client that sends faster than the store accepts, without disconnecting it', async () => {
    const { connect, store } = await startWebsocket({ heartbeat: '1s' })
    const client = await connect()
    let pings = 0
    const other = await connect()
    other.socket.on('ping', () => pings++)
    const release = store.hold()
    const total = 20_000
    try {
      for (let index = 0; index < total; index++) {
        client.say({ type: 'message', text: String(index) })
        // Both ends are in this process. A busy loop longer than a heartbeat would miss the answers
        // to pings.
        if (index % 500 === 0) await pause()
      }
      await until(() => pings >= 3, 'three heartbeats')
      // The frames in the first read of the socket are accepted; there is no second read.
      assert.ok(store.acceptCalls < 5_000, `${store.acceptCalls} frames were waiting`)
    } finally {
      release()
    }
    await until(() => client.frames.length === total, 'all acks')
  })
})
