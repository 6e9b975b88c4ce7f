import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  jobs: { transport: webhook, path: /hooks/jobs, verify: { scheme: none } }
  other: { transport: webhook, path: /hooks/other, verify: { scheme: none } }
`

for (const store of ['embedded', 'redis'] as const) {
  describe(`messages leased to workers, on ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, store })
    const receiveRoad = async () => {
      const { roads } = Object(JSON.parse((await suite.site.run(['status', '--json'])).out))
      const { messages, waiting, leased } = roads.find(({ road }: { road: string }) => road === 'receive')
      return { messages, waiting, leased }
    }
    const depth = async () => {
      const headers = { authorization: `Bearer ${suite.daemon.token}`, connection: 'close' }
      const text = await (await fetch(`${suite.daemon.control}/metrics`, { headers })).text()
      return /^trivium_depth\{road="receive"\} (\d+)/m.exec(text)?.[1]
    }

    test('count on the receive road until they are acknowledged', async () => {
      for (const text of ['1', '2', '3']) await suite.daemon.post('/hooks/jobs', JSON.stringify({ text }))
      const { receipt } = Object(
        await suite.daemon.invoke('gateway-receive', { gateway: 'jobs', lease: 60_000 }),
      )
      assert.deepEqual(await receiveRoad(), { messages: 3, waiting: 2, leased: 1 })
      assert.equal(await depth(), '3')
      assert.match((await suite.site.run(['status'])).out, /^receive +3 .*1 leased, 2 not pulled$/m)
      await suite.daemon.invoke('gateway-ack', { receipt })
      assert.deepEqual(await receiveRoad(), { messages: 2, waiting: 2, leased: 0 })
      await until(async () => (await depth()) === '2', 'the metric')
      assert.match(
        (await suite.site.run(['status'])).out,
        /^receive +2 .*2 not pulled \(last pull \d+ (?:s|min) ago\)/m,
      )
    })

    test('of a gateway from which workers pull are counted on it, without those of others', async () => {
      await suite.daemon.post('/hooks/other', '{"text":"for a skill"}')
      const shown = Object(await suite.daemon.invoke('gateway-show', { gateway: 'jobs' }))
      assert.partialDeepStrictEqual(shown.pulled, { messages: 2, more: false })
      assert.ok(Date.now() - shown.pulled.at < 60_000 && shown.pulled.oldestAt > 0)
      const { pulled } = Object(await suite.daemon.invoke('gateway-show', { gateway: 'other' }))
      assert.equal(pulled, undefined)
      const { out } = await suite.site.run(['gateway', 'show', 'jobs'])
      assert.match(
        out,
        /Workers: 2 messages not pulled, oldest \d+ (?:s|min), last pull \d+ (?:s|min) ago by control token\./,
      )
      assert.match((await suite.site.run(['status'])).out, /^receive +3 .*2 not pulled \(last pull/m)
    })
  })
}
