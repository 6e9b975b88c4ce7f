import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { troublesSchema } from '../../src/core/trouble.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const SECRET = 'the secret that was valid before'
const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: github, secret: "${SECRET}" } }
  orders: { transport: webhook, path: /orders, verify: { scheme: none } }
subscriptions:
  - { name: crm, topic: orders, url: "http://127.0.0.1:9/crm", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, allow-private: true }
routes:
  - { name: refund, match: { data.body.text: "a refund*" }, skill: broken, retry: { attempts: 1 } }
  - { name: later, match: { data.body.text: "later*" }, skill: broken, retry: { attempts: 5, delay: 10m, backoff: fixed } }
  - { name: wipe, match: { data.body.text: "wipe*" }, skill: wipe }
  - { name: rest, match: { gateway: shop }, skill: echo }
`
const SKILLS = {
  broken: `export default { description: 'fails', run() { throw new Error('no refunds today') } }`,
  wipe: `export default { description: 'wipes', metadata: { approval: true }, run: () => 'wiped' }`,
}

for (const store of ['embedded', 'redis'] as const) {
  describe(`the list of troubles, ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS, store })
    const list = async () => {
      const { result } = Object(await suite.daemon.get('/v1/troubles'))
      return troublesSchema.parse(result).troubles
    }
    const found = (code: string) =>
      until(async () => (await list()).find((one) => one.code === code), `the trouble ${code}`)
    const deliver = async (secret: string, at: number) => {
      const body = JSON.stringify({ number: at })
      const signature = createHmac('sha256', secret).update(body).digest('hex')
      const response = await fetch(`${suite.daemon.url}/shop`, {
        method: 'POST',
        headers: { 'x-hub-signature-256': `sha256=${signature}`, 'x-github-delivery': `d-${secret}-${at}` },
        body,
      })
      return response.status
    }

    test('is empty if all is well', async () => {
      assert.deepEqual(await list(), [])
      const { code, out } = await suite.site.run(['troubles'])
      assert.match(out, /All is well/)
      assert.equal(code, 0)
    })

    test('has the share, time and probable cause of 120 deliveries that are refused after a change of the secret', async () => {
      assert.equal(await deliver(SECRET, 0), 202)
      for (let at = 0; at < 120; at++) assert.equal(await deliver('a new secret', at), 401)
      const refusals = await found('refusals')
      assert.partialDeepStrictEqual(refusals, {
        severity: 'error',
        where: { gateway: 'shop', reason: 'signature_invalid' },
        count: 120,
      })
      assert.match(
        refusals.text,
        /^120 of 120 deliveries since .*last accepted delivery.*probably has a new secret/,
      )
      assert.ok((refusals.since ?? 0) > 0)
      const { out } = await suite.site.run(['status'])
      assert.match(out, /! Gateway shop refuses every delivery/)
    })

    test('has dead letters, paused subscriptions and, first, approvals', async () => {
      await suite.daemon.post('/orders', JSON.stringify({ text: 'a refund' }))
      await suite.daemon.post('/orders', JSON.stringify({ text: 'wipe' }))
      await suite.daemon.invoke('subscription-pause', { name: 'crm' })
      assert.partialDeepStrictEqual(await found('dead-letters'), { severity: 'error', count: 1 })
      assert.partialDeepStrictEqual(await found('approval-waiting'), { severity: 'warning', count: 1 })
      assert.partialDeepStrictEqual(await found('subscription-paused'), { where: { subscription: 'crm' } })
      const [first, ...others] = await list()
      assert.equal(first?.code, 'approval-waiting')
      const severities = others.map(({ severity }) => severity)
      assert.deepEqual(severities, severities.toSorted())
      const printed = await suite.site.run(['troubles', '--json'])
      assert.equal(printed.code, 1, 'there is an error')
      assert.deepEqual(
        troublesSchema.parse(JSON.parse(printed.out)).troubles.map(({ code }) => code),
        (await list()).map(({ code }) => code),
      )
      for (const { title, text, todo } of await list()) assert.ok(title && text && todo)
    })

    test('omits messages that will be retried; `status` shows their next attempt', async () => {
      await suite.daemon.post('/orders', JSON.stringify({ text: 'later' }))
      const { result } = await until(async () => {
        const status = Object(await suite.daemon.get('/v1/status'))
        return status.result.waiting.some((one: object) => Object(one).state === 'retrying') && status
      }, 'a message that will be retried')
      const [waiting] = result.waiting.filter((one: object) => Object(one).state === 'retrying')
      assert.partialDeepStrictEqual(waiting, { road: 'dispatch', gateway: 'orders', count: 1 })
      assert.ok(waiting.nextAt > Date.now() + 60_000)
      assert.doesNotMatch(JSON.stringify(await list()), /"later"/)
      const { out } = await suite.site.run(['status'])
      assert.match(out, /dispatch .* tried again, next attempt at \d\d:\d\d UTC/)
    })

    test('is described by OpenAPI, and requires a token', async () => {
      const { paths } = Object(await suite.daemon.get('/openapi.json'))
      assert.ok(paths['/v1/troubles']?.get)
      const response = await fetch(`${suite.daemon.control}/v1/troubles`)
      assert.equal(response.status, 401)
    })
  })
}
