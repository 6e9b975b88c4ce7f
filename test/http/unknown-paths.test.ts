import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { createRefusals } from '../../src/engine/refusals.ts'
import { createPublicHttp } from '../../src/http/public-http.ts'
import { createUnknownPathReports, NO_GATEWAY } from '../../src/http/unknown-paths.ts'
import { silent } from '../contract/store/kit.ts'
import { createMemoryLog } from '../runtime/support/log.ts'

const closing: (() => Promise<void>)[] = []
after(async () => {
  for (const close of closing) await close()
})

async function start() {
  let time = Date.now()
  const counts: string[] = []
  const log = createMemoryLog()
  const refusals = createRefusals({
    count: (gateway, reason) => counts.push(`${gateway} ${reason}`),
    secrets: () => [],
    log,
    now: () => time,
  })
  const off = { name: 'shop', why: 'SHOP_SECRET is not set (enabled: auto)' }
  const offAt = (path: string) => (path === '/hooks/shop' ? off : undefined)
  const reportUnknownPath = createUnknownPathReports(refusals.add, () => time, offAt)
  const http = createPublicHttp({ log: silent, reportUnknownPath })
  const { port } = await http.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => http.close(0))
  for (const path of ['/hooks/demo', '/hooks/github'])
    http.mount(path, (_, response) => void response.end('ok'))
  const send = async (path: string, method = 'POST') => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method })
    await response.arrayBuffer()
    return response.status
  }
  const list = () => refusals.list([NO_GATEWAY])
  return {
    send,
    list,
    counts,
    lines: log.lines,
    advance: (ms: number) => {
      time += ms
    },
  }
}

describe('a request for an unknown path', () => {
  test('is listed, counted and logged with its path and a suggestion, but without its query', async () => {
    for (const [path, nearest] of [
      ['/hooks/demoo', '/hooks/demo'],
      ['/hook/github?token=abc', '/hooks/github'],
      ['/hooks/demo/', '/hooks/demo'],
    ] as const) {
      const { send, list, counts, lines } = await start()
      assert.equal(await send(path), 404)
      const [refusal] = list()
      assert.ok(refusal)
      assert.equal(
        refusal.why,
        `no gateway listens at ${path.split('?')[0]} (POST). Did you mean ${nearest}?`,
      )
      assert.equal(refusal.from, '127.0.0.1')
      assert.deepEqual(counts, ['- not_found'])
      assert.match(JSON.stringify(lines), /no gateway listens at/)
    }
  })

  test('is listed with all paths if none is similar; GET requests then are not', async () => {
    const { send, list } = await start()
    await send('/wp-login.php', 'GET')
    await send('/favicon.ico', 'HEAD')
    assert.deepEqual(list(), [])
    await send('/hooks/demoo', 'GET')
    await send('/somewhere/else/entirely')
    assert.match(
      list()
        .map(({ why }) => why)
        .join(),
      /There are: \/hooks\/demo, \/hooks\/github\./,
    )
    assert.equal(list().length, 2)
  })

  test('names the gateway of this path that is not started, and why', async () => {
    const { send, list } = await start()
    assert.equal(await send('/hooks/shop'), 404)
    assert.equal(
      list()[0]?.why,
      'no gateway listens at /hooks/shop (POST). Gateway shop is not started: SHOP_SECRET is not set (enabled: auto).',
    )
  })

  test('is not listed if a gateway has the path', async () => {
    const { send, list, counts } = await start()
    assert.equal(await send('/hooks/demo?x=1'), 200)
    assert.deepEqual([list(), counts], [[], []])
  })

  test('is cut if it is long, and recorded at most 20 times a second', async () => {
    const { send, list, counts, advance } = await start()
    for (let index = 0; index < 100; index++) assert.equal(await send(`/${index}/${'x'.repeat(2_000)}`), 404)
    assert.equal(counts.length, 20)
    assert.equal(new Set(counts).size, 1)
    assert.ok(list().every(({ why = '' }) => why.length < 400))
    advance(1_000)
    await send('/hooks/demoo')
    assert.equal(counts.length, 21)
  })
})
