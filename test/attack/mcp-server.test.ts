import assert from 'node:assert/strict'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { publicLookup } from '../../src/lib/public-lookup.ts'
import { createGuardedFetch } from '../../src/runtime/mcp/guarded-fetch.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { assertPrompt } from '../fixtures/in-time.ts'
import { until } from '../fixtures/until.ts'

const HOSTILE = join(import.meta.dirname, '..', 'fixtures', 'mcp-hostile.mjs')
const HEADERS = { 'X-API-Key': 'a-key-of-the-server' }

type Received = { path: string; key: unknown; body: string; method: string | undefined }

/** A server that records its requests. `answer` returns a text or a redirection for a path. */
async function serve(
  t: TestContext,
  answer: (path: string) => string | { status: number; location: string } = () => 'ok',
) {
  const received: Received[] = []
  const { url, close } = await serveHttp(async (request, response) => {
    const { url: path = '/', method, headers } = request
    received.push({ path, key: headers['x-api-key'], body: await text(request), method })
    const result = answer(path)
    if (typeof result === 'string') response.end(result)
    else response.writeHead(result.status, { location: result.location }).end()
  })
  t.after(close)
  return { url, received }
}

describe('a hostile MCP server over HTTP', () => {
  test('cannot direct a login to private addresses, or to addresses without TLS', async (t) => {
    const inside = await serve(t)
    const { port } = new URL(inside.url)
    const fetch = createGuardedFetch({
      url: 'https://mcp.example.com/mcp',
      headers: HEADERS,
      allowPrivate: false,
    })
    for (const address of [
      inside.url,
      `https://127.0.0.1:${port}/`,
      `https://localhost:${port}/`,
      `https://LOCALHOST:${port}/`,
      `https://[::1]:${port}/`,
      `https://[::ffff:127.0.0.1]:${port}/`,
      `https://2130706433:${port}/`,
      `https://0x7f.1:${port}/`,
      `https://0.0.0.0:${port}/`,
      'https://169.254.169.254/latest/meta-data/',
      'https://10.0.0.1/',
      'https://192.168.1.1/',
      'https://[fd00::1]/',
      'https://metadata.google.internal/computeMetadata/v1/',
      'https://printer.local/',
      'https://intranet/',
      'http://example.com/.well-known/oauth-authorization-server',
    ]) {
      await assert.rejects(fetch(address), /private address|is not https/, address)
      await assert.rejects(
        fetch(address, { method: 'POST', body: 'x' }),
        /private address|is not https/,
        address,
      )
    }
    assert.deepEqual(inside.received, [])
    const { promise, resolve } = Promise.withResolvers<Error | null>()
    publicLookup('localhost', {}, resolve)
    assert.match(String(await promise), /localhost \(.*\) is a private address/)
  })

  test('receives its headers, which are not sent to other servers by redirects or logins', async (t) => {
    const other = await serve(t)
    const own = await serve(t, (path) => {
      if (path === '/away') return { status: 307, location: `${other.url}/stolen` }
      if (path === '/slash') return { status: 308, location: '/slash/' }
      if (path === '/round') return { status: 302, location: '/round' }
      return 'ok'
    })
    const fetch = createGuardedFetch({ url: `${own.url}/mcp`, headers: HEADERS, allowPrivate: false })
    const post = (path: string) => fetch(own.url + path, { method: 'POST', body: '{"a":1}' })
    await assert.rejects(post('/away'), /redirects to .*\/stolen; write the final address/)
    await assert.rejects(fetch(`${own.url}/away`), /redirects to/)
    await assert.rejects(post('/round'), /redirects to/)
    assert.equal(await (await post('/slash')).text(), 'ok')
    const expected = { path: '/slash/', key: HEADERS['X-API-Key'], body: '{"a":1}', method: 'POST' }
    assert.deepEqual(own.received.at(-1), expected)
    assert.deepEqual(other.received, [])
    await fetch(`${other.url}/.well-known/oauth-authorization-server`)
    assert.deepEqual(
      other.received.map(({ key }) => key),
      [undefined],
    )
  })

  test('in a private network may name servers there', async (t) => {
    const inside = await serve(t)
    for (const server of [
      { url: 'http://127.0.0.1:1/mcp', allowPrivate: false },
      { url: 'https://tools.internal/mcp', allowPrivate: false },
      { url: 'https://mcp.example.com/mcp', allowPrivate: true },
    ]) {
      assert.equal((await createGuardedFetch(server)(inside.url)).status, 200)
    }
    assert.equal(inside.received.length, 3)
  })
})

describe('a hostile MCP server over stdio', { timeout: 300_000 }, () => {
  const start = () => {
    const site = openSite({ routes: '' })
    const args = JSON.stringify([HOSTILE])
    site.write(
      'routes.yaml',
      `mcp:\n  hostile: { command: ${JSON.stringify(process.execPath)}, args: ${args} }\n`,
    )
    return site.start()
  }

  test('gets no data by requests to the client, and cannot overload the daemon by changing its tools', async () => {
    const daemon = await start()
    assert.deepEqual(JSON.parse(String(await daemon.invoke('hostile.ask'))), Array(5).fill(-32601))
    const before = Number(await daemon.invoke('hostile.lists'))
    const began = performance.now()
    while (performance.now() - began < 2_000) {
      const asked = performance.now()
      assert.equal(await daemon.invoke('hostile.steady'), 'done')
      await assertPrompt('an answer', performance.now() - asked, 3_000)
    }
    const lists = Number(await daemon.invoke('hostile.lists')) - before
    const seconds = (performance.now() - began) / 1_000
    assert.ok(lists >= 1 && lists <= 4 * seconds, `${lists} lists in ${seconds} s`)
  })

  test('is disconnected if it floods the client, and is used again later', async () => {
    const daemon = await start()
    await daemon.invoke('hostile.flood').catch(() => {})
    await until(() => daemon.output().includes('more than 1000 messages per second'), 'the end of the flood')
    const asked = performance.now()
    assert.ok(await daemon.get('/v1/status'))
    await assertPrompt('an answer', performance.now() - asked, 3_000)
    await until(async () => (await daemon.invoke('hostile.steady').catch(() => '')) === 'done', 'the server')
  })
})
