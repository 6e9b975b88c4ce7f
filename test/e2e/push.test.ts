import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes and more').toString('base64')}`

describe('push from a running daemon', () => {
  test('is signed, repeated with its id after a crash, and shown and controlled on the command line', async () => {
    const got: { id: unknown; text: string }[] = []
    /** 0: the request gets no answer. */
    let status = 0
    const { url, close } = await serveHttp(async (request, response) => {
      const body = (await request.toArray()).join('')
      new Webhook(SECRET).verify(body, Object(request.headers))
      got.push({ id: request.headers['webhook-id'], text: JSON.parse(body).data.body.text })
      if (status > 0) response.writeHead(status).end('thanks')
    })
    after(close)
    const site = openSite({
      routes: `gateways: { in: { transport: webhook, path: /in } }
routes: [{ name: all, skill: echo }]
subscriptions:
  - { name: crm, match: { gateway: in }, url: "${url}/hook?key=k", secret: "\${CRM_SECRET}", allow-private: true,
      retry: { delay: 10ms, max-delay: 20ms } }
`,
      env: { CRM_SECRET: SECRET },
    })
    const first = await site.spawn()
    await first.post('/in', '{"text":"one"}')
    await until(() => got.length === 1, 'the first push')
    // Killed between the POST and its answer.
    await first.end('SIGKILL')
    status = 200
    const daemon = await site.start()
    await until(() => got.length === 2, 'the interrupted push')
    assert.deepEqual(got[0], got[1])

    status = 500
    await daemon.post('/in', '{"text":"two"}')
    const failing = await until(async () => {
      const { out } = await site.run(['status'])
      return out.includes('failing') ? out : undefined
    }, 'a red subscription')
    assert.doesNotMatch(failing, /Consumer groups/, 'a push subscription is not counted twice')
    assert.match(failing, /Push subscriptions {2}1; crm .*failing.* times in a row: it answered 500/)
    const metrics = await (await fetch(`${daemon.control}/metrics`)).text()
    assert.match(metrics, /trivium_subscription_up\{subscription="crm"\} 0/)
    assert.match(metrics, /trivium_pushed_total\{subscription="crm",outcome="retry"\} \d/)

    status = 200
    const failedPushes = got.length
    assert.equal((await site.run(['subscription', 'resume', 'crm'])).code, 0)
    await until(() => got.length > failedPushes, 'the second message')
    assert.equal(got.at(-1)?.text, 'two')
    const shown = await until(async () => {
      const { out } = await site.run(['subscription', 'show', 'crm', '--json'])
      const subscription = JSON.parse(out)
      return subscription.state === 'active' && subscription
    }, 'a working subscription')
    assert.partialDeepStrictEqual(shown, { url: `${url}/hook`, waiting: 0, dead: 0 })
    assert.partialDeepStrictEqual(shown.attempts[0], { status: 200, answer: 'thanks' })
    assert.doesNotMatch(daemon.output(), new RegExp(SECRET))
    assert.match((await site.run(['subscription', 'pause', 'cmr'])).err, /no push subscription cmr/)
    assert.match(
      (await site.run(['subscription', 'replay', 'crm', '--since', 'some day'])).err,
      /a time such as/,
    )
  })

  for (const store of ['embedded', 'redis'] as const) {
    test(`replays a range as a job that survives a crash, with unchanged ids, on ${store}`, async () => {
      const got: string[] = []
      const { url, close } = await serveHttp((request, response) => {
        got.push(String(request.headers['webhook-id']))
        response.end()
      })
      after(close)
      const redis = store === 'redis' ? await startRedisServer() : undefined
      after(() => redis?.stop())
      const site = openSite({
        ownProcess: true,
        routes: `subscriptions: [{ name: crm, topic: orders, url: "${url}/hook", secret: "${SECRET}", allow-private: true }]\n`,
        env: redis ? { REDIS_URL: redis.url } : {},
      })
      const first = await site.spawn()
      const ids: string[] = []
      for (let n = 0; n < 30; n++)
        ids.push(String(Object(await first.invoke('event-emit', { topic: 'orders', data: { n } })).id))
      await until(() => new Set(got).size === 30, 'the events')
      got.length = 0
      const { job } = Object(
        await first.invoke('subscription-replay', { name: 'crm', from: ids[10], to: ids[19] }),
      )
      await first.end('SIGKILL')
      const daemon = await site.start()
      await until(async () => {
        const { state, result } = Object(await daemon.invoke('job-show', { id: job.id }))
        return state === 'done' && result.events >= 0
      }, 'the end of the job')
      const again = await until(() => {
        const seen = new Set(got)
        return seen.size >= 10 ? seen : undefined
      }, 'the replayed events')
      assert.deepEqual([...again].toSorted(), ids.slice(10, 20))
      const listed = await site.run(['job', 'list', '--kind', 'replay'])
      assert.match(listed.out, /replay-\S+\s.*done\s+10 events\s.*→ crm: replay orders /)
      const wrong = await site.run(['subscription', 'replay', 'crm', '--since', '1h', '--until', '2h'])
      assert.match(wrong.err, /ends before it begins/)
    })
  }
})
