import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'
import { mail } from '../transports/email/harness.ts'
import { startApi } from '../transports/email/posted.ts'

const SKILL = `export default { description: 'answers', async run({ message, signal }) {
  const { existsSync, writeFileSync } = await import('node:fs')
  const once = new URL('../../once', import.meta.url)
  if (message.text.includes('slow') && !existsSync(once)) {
    writeFileSync(once, '')
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  return 'You said: ' + message.text
} }`

const basic = { authorization: `Basic ${Buffer.from('postmark:sesame').toString('base64')}` }
const delivery = (id: string, RawEmail: string) => JSON.stringify({ MessageID: id, RawEmail })

for (const kind of ['embedded', 'redis'] as const) {
  describe(`mail by a provider, on ${kind}`, { timeout: 300_000 }, () => {
    test('comes by a webhook, is answered by the API, keeps its thread, and survives a kill', async (t) => {
      const redis = kind === 'redis' ? await startRedisServer() : undefined
      if (redis) t.after(() => redis.stop())
      const api = await startApi(({ method }) =>
        method === 'GET' ? {} : { body: { ErrorCode: 0, MessageID: 'b7bc' } },
      )
      const routes = `
gateways:
  support:
    transport: email
    address: support@example.com
    authentication: off
    inbound: webhook
    webhook: { provider: postmark, path: /mail, verify: { scheme: basic, user: postmark, secret: sesame } }
    outbound: api
    api: { provider: postmark, token: server-token, url: "${api.url}" }
routes:
  - { name: answer, match: { gateway: support }, skill: answer, retry: { attempts: 3, delay: 10ms } }
`
      const env = redis ? { REDIS_URL: redis.url } : {}
      const site = openSite({ ownProcess: 'first', routes, skills: { answer: SKILL }, env })
      let daemon = await site.start()
      const json = { 'content-type': 'application/json' }
      const post = (id: string, raw: string, as: object = basic) =>
        daemon.post('/mail', delivery(id, raw), { ...json, ...as })
      const sent = () =>
        api.requests
          .filter(({ method }) => method === 'POST')
          .map(({ body }) => {
            const { To, TextBody, Headers } = JSON.parse(body)
            const header = (name: string) =>
              Headers.find((each: { Name: string }) => each.Name === name)?.Value
            return { To, TextBody, id: header('Message-ID'), references: header('References') }
          })
      const sentAt = (at: number) => until(() => sent()[at], `mail ${at}`)

      const first = mail({ id: 'one@example.net', text: 'Where is it?' })
      const answer = await post('m1', first)
      assert.deepEqual([answer.status, Object(answer.body).outcome], [200, 'accepted'])
      const reply = await sentAt(0)
      assert.match(reply.TextBody, /You said: Where is it\?/)
      const again = await post('m1', first)
      assert.deepEqual([again.status, Object(again.body).id], [200, Object(answer.body).id])
      assert.equal((await post('m2', first, { authorization: 'Basic eDp5' })).status, 401)

      // A reply to our mail, whose skill runs when the daemon is killed.
      const second = mail({ text: 'A slow one.', headers: { 'In-Reply-To': reply.id, References: reply.id } })
      const later = await post('m3', second)
      assert.equal(later.status, 200)
      await until(() => existsSync(`${site.dir}/once`), 'the skill to run')
      await daemon.end('SIGKILL')
      daemon = await site.start()
      assert.match((await sentAt(1)).TextBody, /You said: A slow one\./)
      const ids = [answer, later].map(({ body }) => String(Object(body).id))
      const shown = async () => {
        const all = await Promise.all(ids.map((id) => daemon.invoke('message-show', { id })))
        return all.map((each) => Object(each))
      }
      await until(
        async () => (await shown()).every(({ outcome }) => outcome === 'done'),
        'both to be done',
        60_000,
      )
      assert.equal(new Set((await shown()).map(({ message }) => message.conversation)).size, 1)
      assert.equal(sent().length, 2)
      await daemon.end()
    })
  })
}
