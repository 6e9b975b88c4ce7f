import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'

const SECRET = `secret: whsec_${'c2VjcmV0'.repeat(5)}`

describe('pushes of a message', { timeout: 600_000 }, async () => {
  const receiver = await serveHttp(async (request, response) => {
    await request.toArray()
    response.writeHead(request.url === '/up' ? 204 : 503).end()
  })
  after(receiver.close)
  const push = (name: string) =>
    `{ name: ${name}, topic: gateway-message, url: "${receiver.url}/${name}", allow-private: true, retry: { delay: 1h, max-delay: 1h }, ${SECRET} }`
  const site = openSite({
    routes: `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
subscriptions: [${push('up')}, ${push('down')}]
routes: [{ name: all, skill: echo }]
`,
  })
  const daemon = await site.start()
  const { page, show, press, answer } = await openConsole(() => daemon)

  test('are counted once in the result of a test, by their deliveries', async () => {
    await show('compose?gateway=shop')
    await page.getByLabel('text').fill('hello')
    await press('Send test message')
    await answer('Send test message')
    const roads = page.getByLabel('What took it')
    await roads.getByText('1 of 2 got it').waitFor()
    await roads.getByText('attempt 1 failed').waitFor()
    assert.equal(await roads.getByText('push down').count(), 1)
    assert.deepEqual(await faultsOf(page), [])
  })

  test('that failed are not read, on its page and on the command line', async () => {
    const { body } = await daemon.post('/shop', JSON.stringify({ n: 1 }))
    const { id } = Object(body)
    await until(
      async () => Object(await daemon.invoke('message-show', { id })).pushes.length === 2,
      'attempts',
    )
    await show(`messages/${id}`)
    await page.getByText(/down: attempt 1 failed(, next attempt in \d+ min)? · up: delivered/).waitFor()
    // The pause before the next attempt is stored a little after the attempt.
    const out = await until(async () => {
      const shown = await site.run(['message', 'show', id])
      return /the next one in/.test(shown.out) ? shown.out : undefined
    }, 'the next attempt')
    assert.match(out, /^group down +failed, attempt 1 failed: it answered 503; the next one in \d+ min/m)
    assert.match(out, /^group up +delivered, attempt 1$/m)
  })
})
