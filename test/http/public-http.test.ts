import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, describe, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { createPublicHttp, type PublicHttpOptions } from '../../src/http/public-http.ts'
import { openSocket, sendRaw } from '../chaos/raw-http.ts'
import { silent } from '../contract/store/kit.ts'
import { until } from '../fixtures/until.ts'
import { createMemoryLog } from '../runtime/support/log.ts'

const closing: (() => Promise<void> | void)[] = []
after(async () => {
  for (const close of closing.reverse()) await close()
})

async function start(options: Partial<PublicHttpOptions> = {}) {
  const http = createPublicHttp({ log: silent, connectionsCheckingInterval: 50, ...options })
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

/** Opens a connection and collects what the server sends on it. */
async function connectRaw(url: string) {
  const socket = openSocket(url)
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  const ended = once(socket, 'close')
  await once(socket, 'connect')
  closing.push(() => void socket.destroy())
  return { socket, received: () => text, ended }
}

describe('the public listener', () => {
  test('with `logsEach` logs each request with its status, but without its query', async () => {
    const log = createMemoryLog()
    const { http, url } = await start({ log, logsEach: true })
    http.mount('/fails', () => Promise.reject(new TriviumError('unauthorized')))
    await fetch(`${url}/echo?key=hidden`, { method: 'POST', body: 'hello' })
    for (const path of ['fails', 'none']) await fetch(`${url}/${path}`)
    await until(() => log.lines.length === 3, 'a line per request')
    const logged = log.lines.map(({ level, fields }) => [
      level,
      Object(fields).method,
      Object(fields).path,
      Object(fields).status,
    ])
    assert.deepEqual(logged, [
      ['debug', 'POST', '/echo', 200],
      ['debug', 'GET', '/fails', 401],
      ['debug', 'GET', '/none', 404],
    ])
  })

  test('serves a POST with an h2c upgrade over HTTP/1.1, and a target in absolute form', async () => {
    const { url } = await start()
    for (const [target, upgrade] of [
      ['/echo', 'Connection: Upgrade, close\r\nUpgrade: h2c'],
      ['http://h/echo', 'Connection: close'],
    ]) {
      const bytes = `POST ${target} HTTP/1.1\r\nHost: h\r\n${upgrade}\r\nContent-Length: 2\r\n\r\nhi`
      const { text, closed } = await sendRaw(url, bytes, { waitFor: 10_000, waitForMore: 10_000 })
      assert.match(text, /^HTTP\/1.1 200[\s\S]*hi$/)
      assert.ok(closed)
    }
  })

  test('disconnects clients that send their head or body too slowly, or nothing', async () => {
    const { url } = await start({ headersTimeout: 200, requestTimeout: 400 })
    const silentClient = await connectRaw(url)
    const head = 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n'
    for (const bytes of [head, `${head}\r\nhe`]) {
      const answer = await sendRaw(url, bytes, { waitFor: 10_000, waitForMore: 10_000 })
      assert.partialDeepStrictEqual(answer, { statuses: [408], closed: true })
    }
    await silentClient.ended
  })

  test('refuses connections beyond its limit and takes new ones when old ones end', async () => {
    const { http, url } = await start({ maxConnections: 2 })
    const first = await connectRaw(url)
    const second = await connectRaw(url)
    await until(() => http.connections() === 2, 'two connections')
    await once(openSocket(url), 'close')
    first.socket.destroy()
    second.socket.destroy()
    await until(() => http.connections() === 0, 'no connection')
    assert.equal((await fetch(`${url}/echo`, { method: 'POST', body: 'hi' })).status, 200)
  })

  test('disconnects a refused client whose body does not end', async () => {
    // Node itself would disconnect after `requestTimeout`.
    const { url } = await start({ requestTimeout: 600_000 })
    const { socket, received, ended } = await connectRaw(url)
    socket.write('POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    const sending = setInterval(() => socket.write('3\r\nabc\r\n'), 20)
    // Later writes may fail with a reset.
    ended.catch(() => {})
    await until(() => socket.closed, 'the end of the connection')
    clearInterval(sending)
    assert.match(received(), /^HTTP\/1.1 404 /)
  })

  test('answers 500 if a handler throws, and keeps running', async () => {
    const { http, url } = await start()
    http.mount('/broken', () => {
      throw new Error('oops')
    })
    assert.equal((await fetch(`${url}/broken`)).status, 500)
    assert.equal((await fetch(`${url}/echo`, { method: 'POST', body: 'hi' })).status, 200)
  })

  test('close waits for requests in progress, ends idle connections and frees the port', async () => {
    const { http, url } = await start()
    const { promise: entered, resolve: enter } = Promise.withResolvers<() => void>()
    http.mount('/slow', (_, response) => enter(() => void response.end('late')))
    const idle = await connectRaw(url)
    const inFlight = fetch(`${url}/slow`)
    const finish = await entered
    const closed = http.close(600_000)
    await idle.ended
    finish()
    assert.equal(await (await inFlight).text(), 'late')
    await closed
    await assert.rejects(fetch(`${url}/echo`))
  })

  test('close ends open connections after the grace period', async () => {
    const { http, url } = await start()
    http.upgrade('/ws', async (_, socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'))
    const peer = await connectRaw(url)
    peer.socket.write('GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    await until(() => peer.received().includes('101'), 'the upgrade')
    await http.close(100)
    await peer.ended
  })

  test('rejects with cannot_listen if the address is in use', async () => {
    const { port } = await start()
    const second = createPublicHttp({ log: silent })
    await assert.rejects(second.listen({ host: '127.0.0.1', port }), { code: 'cannot_listen', exit: 1 })
  })
})
