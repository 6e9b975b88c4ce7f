import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { serveHttp } from '../fixtures/http-server.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes and more').toString('base64')}`
const SKILLS = {
  // An unknown skill is not retried.
  broken: `export default { description: 'fails', run: ({ manager }) => manager.invoke('not-there', {}) }`,
}
type Notification = { id: string; types: string[]; text: string }

for (const store of ['embedded', 'redis', 'shards'] as const) {
  describe(`operators are notified of, on ${store}`, { timeout: 300_000 }, async () => {
    const notifications: Notification[] = []
    const receiver = await serveHttp(async (request, response) => {
      const body = (await request.toArray()).join('')
      new Webhook(SECRET).verify(body, Object(request.headers))
      notifications.push({ id: String(request.headers['webhook-id']), ...JSON.parse(body) })
      response.writeHead(204).end()
    })
    const model = await startOpenAiServer([{ text: 'One.', usage: { input: 90, output: 20 } }])
    after(() => Promise.all([receiver.close(), model.close()]))
    const to = `{ url: "${receiver.url}/hook", secret: "${SECRET}", allow-private: true }`
    const suite = suiteWithDaemon({
      ownProcess: 'first',
      store: store === 'embedded' ? store : 'redis',
      skills: SKILLS,
      routes: `
${store === 'shards' ? 'redis: { shards: 3 }' : ''}
gateways:
  hub: { transport: webhook, path: /hub, verify: { scheme: github, secret: "It is a secret" } }
schedules:
  - { name: nightly, cron: "0 3 1 1 *", skill: broken }
model: { name: "openai-compatible:tiny", base-url: "${model.url}", budget: { total: 100 tokens/1h } }
routes: []
notify:
  - { on: refusals, match: { gateway: hub }, to: ${to}, at-most: off }
  - { on: schedule-failed, match: { not: { text: "*daily*" } }, to: ${to}, at-most: off }
  - { on: budget, to: ${to}, at-most: off }
  - { on: dead-letter, to: ${to}, at-most: off }
`,
    })
    const notified = (type: string) =>
      until(() => notifications.find(({ types }) => types.includes(type)), `a notification of ${type}`)

    test('a gateway that refuses deliveries', async () => {
      for (let at = 0; at < 4; at++)
        await suite.daemon.post('/hub', '{}', {
          'content-type': 'application/json',
          'x-hub-signature-256': `sha256=${'0'.repeat(64)}`,
        })
      const { text } = await notified('refusals')
      assert.match(text, /hub/)
    })

    test('a budget of models that is used up', async () => {
      suite.site.write('skills/helper/SKILL.md', '---\nname: helper\ndescription: Helps.\n---\nHelp.\n')
      await until(
        async () =>
          (await suite.site.run(['reload'])).code === 0 &&
          (await suite.site.run(['skill', 'show', 'helper'])).code === 0,
        'the skill',
      )
      await suite.daemon.invoke('helper', { text: 'a number?' })
      assert.match((await notified('budget')).text, /budget of models is used up/)
    })

    test('a schedule that fails, once and not as a dead letter, also over a kill', async () => {
      await suite.daemon.invoke('schedule-run', { id: 'nightly' })
      const { text } = await notified('schedule-failed')
      assert.match(text, /nightly/)
      await suite.restart('SIGKILL')
      const letters = [await suite.daemon.invoke('dead-letter-list', { queue: 'schedules' })].flat()
      assert.equal(letters.length, 1)
      assert.deepEqual(
        notifications.filter(({ types }) => types.includes('dead-letter')),
        [],
      )
      assert.equal(
        new Set(notifications.filter(({ types }) => types.includes('schedule-failed')).map(({ id }) => id))
          .size,
        1,
      )
    })
  })
}
