import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, describe, test } from 'node:test'
import { createPublicHttp, type PublicHttpOptions } from '../../src/gateway/public-http.ts'
import { type LogLine, recordingLog } from '../fixtures/transport-deps.ts'
import { until } from '../fixtures/until.ts'

const logs: LogLine[] = []
const closing: (() => Promise<void> | void)[] = []
after(async () => {
  for (const close of closing.reverse()) await close()
})

async function start(options: Omit<PublicHttpOptions, 'log'> = {}) {
  const http = createPublicHttp({ log: recordingLog(logs), connectionsCheckingInterval: 50, ...options })
  const { port } = await http.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => http.close(0))
  http.mount('/echo', (request, response) => {
    request.setEncoding('utf8')
    let body = ''
    request.on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => response.end(body))
  })
  return { http, port, url: `http://127.0.0.1:${port}` }
}

async function raw(
  port: number,
): Promise<{ socket: Socket; received: () => string; ended: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  socket.on('error', () => undefined)
  const ended = once(socket, 'close')
  await once(socket, 'connect')
  closing.push(() => void socket.destroy())
  return { socket, received: () => text, ended }
}

/** Sends bytes and returns all that comes back until the server hangs up. */
async function exchange(port: number, bytes: string): Promise<string> {
  const { socket, received, ended } = await raw(port)
  socket.write(bytes)
  await ended
  return received()
}

describe('the public listener', () => {
  test('serves a mounted path, with and without a query, and nothing once it is taken away', async () => {
    const { http, url } = await start()
    const unmount = http.mount('/a', (_, response) => void response.end('here'))
    assert.equal(await (await fetch(`${url}/a?x=1`)).text(), 'here')
    unmount()
    assert.equal((await fetch(`${url}/a`)).status, 404)
  })

  test('answers 404 in JSON for a path that nobody serves, also one that differs by a slash', async () => {
    const { url } = await start()
    for (const path of ['/', '/echo/', '/ECHO', '/__proto__', '//echo']) {
      const response = await fetch(url + path)
      assert.equal(response.status, 404)
      const { error } = (await response.json()) as { error: { code: string } }
      assert.equal(error.code, 'not_found')
    }
  })

  test('refuses a second gateway at a taken path', async () => {
    const { http } = await start()
    assert.throws(() => http.mount('/echo', () => undefined), { code: 'config_invalid' })
    assert.throws(() => http.upgrade('/echo', async () => undefined), { code: 'config_invalid' })
  })

  test('tells a plain request to a WebSocket path to upgrade', async () => {
    const { http, url } = await start()
    http.upgrade('/ws', async (_, socket) => void socket.destroy())
    const response = await fetch(`${url}/ws`)
    assert.equal(response.status, 426)
    assert.equal(response.headers.get('upgrade'), 'websocket')
  })

  test('serves a POST that offers h2c as plain HTTP', async () => {
    const { port } = await start()
    const head = 'POST /echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n'
    assert.match(await exchange(port, `${head}Content-Length: 2\r\n\r\nhi`), /^HTTP\/1.1 200[\s\S]*hi$/)
  })

  test('serves the absolute form of a request target', async () => {
    const { port } = await start()
    const answer = await exchange(
      port,
      'POST http://h/echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi',
    )
    assert.match(answer, /^HTTP\/1.1 200/)
  })

  test('answers 404 to an upgrade that nobody serves', async () => {
    const { port } = await start()
    const head = 'GET /no HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n'
    assert.match(await exchange(port, head), /^HTTP\/1.1 404[\s\S]*not_found/)
  })

  const chunked = 'Transfer-Encoding: chunked'
  const unreadable: Record<string, [head: string, rest?: string]> = {
    'both lengths': [`Content-Length: 4\r\n${chunked}`, '0\r\n\r\n'],
    'two lengths': ['Content-Length: 4\r\nContent-Length: 5', 'hello'],
    'a signed length': ['Content-Length: +4', 'hell'],
    'a negative length': ['Content-Length: -1'],
    'an odd coding': ['Transfer-Encoding: xchunked', '0\r\n\r\n'],
    'chunks that are not the last coding': [`${chunked}, identity`, '0\r\n\r\n'],
    'a space before the colon': ['Content-Length : 4', 'hell'],
    'a header without a colon': ['nonsense'],
    'a NUL in a header': ['X-A: a\0b'],
    'a folded header': ['Transfer-Encoding:\r\n chunked\r\nContent-Length: 4', 'hell'],
    'a bad chunk size': [chunked, '0x4\r\nhell\r\n0\r\n\r\n'],
    'a chunk longer than it says': [chunked, '1\r\n{}{}\r\n0\r\n\r\n'],
  }
  test('refuses what HTTP leaves in doubt, once, with a reason, and hangs up', async () => {
    const { port } = await start()
    const whole: Record<string, string> = {
      'a bare line feed': 'POST /echo HTTP/1.1\nHost: x\nContent-Length: 4\n\nhell',
      'no host': 'POST /echo HTTP/1.1\r\nContent-Length: 4\r\nConnection: close\r\n\r\nhell',
      'a version that there is not': 'POST /echo HTTP/9.9\r\nHost: a\r\n\r\n',
      'a method that there is not': 'FROB /echo HTTP/1.1\r\nHost: a\r\n\r\n',
      noise: '\u0016\u0003\u0001\u0002\r\n\r\n',
    }
    for (const [what, [head, rest = '']] of Object.entries(unreadable))
      whole[what] = `POST /echo HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n${rest}`
    for (const [what, bytes] of Object.entries(whole)) {
      const answer = await exchange(port, `${bytes}GET /echo HTTP/1.1\r\nHost: x\r\n\r\n`)
      assert.match(answer, /^HTTP\/1.1 400/, what)
      assert.equal(answer.split('HTTP/1.1 ').length, 2, what)
    }
  })

  test('answers 431 to a head that is too large, and 413 to endless chunk extensions', async () => {
    const { port } = await start({ maxHeaderSize: 2_048 })
    const answer = await exchange(port, `GET /echo HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(4_000)}\r\n\r\n`)
    assert.match(answer, /^HTTP\/1.1 431/)
    const endless = `POST /echo HTTP/1.1\r\nHost: x\r\n${chunked}\r\n\r\n1;${'a'.repeat(20_000)}\r\n`
    assert.match(await exchange(port, endless), /^HTTP\/1.1 413/)
  })

  test('cuts a peer that sends its head too slowly, and one that sends nothing', async () => {
    const { port } = await start({ headersTimeout: 200, requestTimeout: 400 })
    const slow = await raw(port)
    const mute = await raw(port)
    slow.socket.write('GET /echo HTTP/1.1\r\nHost: x\r\nX-')
    await Promise.all([slow.ended, mute.ended])
    assert.match(slow.received(), /^HTTP\/1.1 408/)
  })

  test('cuts a peer that sends its body too slowly', async () => {
    const { port } = await start({ headersTimeout: 200, requestTimeout: 400 })
    const answer = await exchange(port, 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe')
    assert.match(answer, /^HTTP\/1.1 408/)
  })

  test('refuses connections beyond its limit and takes new ones when old ones end', async () => {
    const { http, port, url } = await start({ maxConnections: 2 })
    const first = await raw(port)
    const second = await raw(port)
    await until(() => http.connections() === 2, 'two connections')
    const third = connect(port, '127.0.0.1')
    third.on('error', () => undefined)
    await once(third, 'close')
    first.socket.destroy()
    second.socket.destroy()
    await until(() => http.connections() === 0, 'no connection')
    assert.equal((await fetch(`${url}/echo`, { method: 'POST', body: 'hi' })).status, 200)
  })

  test('answers 500 where a handler throws, and lives', async () => {
    const { http, url } = await start()
    http.mount('/broken', () => {
      throw new Error('oops')
    })
    assert.equal((await fetch(`${url}/broken`)).status, 500)
    assert.equal((await fetch(`${url}/echo`, { method: 'POST', body: 'hi' })).status, 200)
  })

  test('close answers what is in flight, ends idle connections and frees the port', async () => {
    const { http, port, url } = await start()
    const { promise: entered, resolve: enter } = Promise.withResolvers<() => void>()
    http.mount('/slow', (_, response) => enter(() => void response.end('late')))
    const idle = await raw(port)
    const inFlight = fetch(`${url}/slow`)
    const finish = await entered
    const closed = http.close(600_000)
    await idle.ended
    finish()
    assert.equal(await (await inFlight).text(), 'late')
    await closed
    await assert.rejects(fetch(`${url}/echo`))
  })

  test('close cuts what is still open after the grace', async () => {
    const { http, port } = await start()
    http.upgrade('/ws', async (_, socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'))
    const peer = await raw(port)
    peer.socket.write('GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    await until(() => peer.received().includes('101'), 'the upgrade')
    await http.close(100)
    await peer.ended
  })

  test('says where an address is taken', async () => {
    const { port } = await start()
    const second = createPublicHttp({ log: recordingLog(logs) })
    await assert.rejects(second.listen({ host: '127.0.0.1', port }), { code: 'cannot_listen', exit: 1 })
  })
})
