import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  hook: { transport: webhook, path: /hook, verify: { scheme: none } }
routes:
  - { name: bad, match: { gateway: hook, text: bad }, skill: bad, retry: { attempts: 1 } }
  - { name: again, match: { gateway: hook, text: again }, skill: bad, retry: { attempts: 3, delay: 50ms } }
  - { name: all, match: { gateway: hook }, skill: echo }
`
const SKILLS = { bad: `export default { description: 'fails', run() { throw new Error('no') } }` }

for (const store of ['embedded', 'redis'] as const) {
  describe(`the latency from acceptance to the skill (${store})`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS, store })

    const counted = async () => {
      const response = await fetch(`${suite.daemon.control}/metrics`)
      const [, count = 0] =
        /^trivium_dispatch_latency_seconds_count\{gateway="hook"\} (\d+)$/m.exec(await response.text()) ?? []
      return Number(count)
    }

    test('counts first attempts, but not retried dead letters', async () => {
      const { daemon } = suite
      const { body } = await daemon.post('/hook', 'bad', { 'content-type': 'text/plain' })
      const { id } = Object(body)
      const timesDead = async () => {
        const { history, outcome } = Object(await daemon.invoke('message-show', { id }))
        return outcome === 'dead'
          ? history.filter((note: { what: string }) => note.what === 'dead').length
          : 0
      }
      await until(async () => (await timesDead()) === 1, 'a dead letter')
      assert.equal(await counted(), 1)
      await daemon.invoke('dead-letter-retry', { id })
      await until(async () => (await timesDead()) === 2, 'a dead letter again')
      assert.equal(await counted(), 1)
      await daemon.post('/hook', 'good', { 'content-type': 'text/plain' })
      await until(async () => (await counted()) === 2, 'another first attempt')
    })

    test('does not count attempts after a back-off', async () => {
      const { daemon } = suite
      const before = await counted()
      const { body } = await daemon.post('/hook', 'again', { 'content-type': 'text/plain' })
      const { id } = Object(body)
      const shown = async () => Object(await daemon.invoke('message-show', { id }))
      await until(async () => (await shown()).outcome === 'dead', 'a dead letter after three attempts')
      assert.equal(await counted(), before + 1)
    })

    test('does not contain the time in a pause', async () => {
      const { daemon } = suite
      const latency = async (what: 'sum' | 'count') => {
        const text = await (await fetch(`${daemon.control}/metrics`)).text()
        const line = new RegExp(`^trivium_dispatch_latency_seconds_${what}\\{gateway="hook"\\} (.+)$`, 'm')
        return Number(line.exec(text)?.[1] ?? 0)
      }
      const [sum, count] = [await latency('sum'), await latency('count')]
      await daemon.invoke('route-pause', { route: 'all' })
      const { body } = await daemon.post('/hook', 'held', { 'content-type': 'text/plain' })
      const began = Date.now()
      const { id } = Object(body)
      await until(
        async () =>
          Object(((await daemon.invoke('message-attempts', { ids: [id] })) as object[])[0]).pausedBy,
        'the held message',
      )
      await until(() => Date.now() - began > 2_000, 'a pause of two seconds')
      await daemon.invoke('route-resume', { route: 'all' })
      await until(async () => (await latency('count')) === count + 1, 'its attempt')
      assert.ok((await latency('sum')) - sum < 1, 'the pause is counted')
    })
  })
}
