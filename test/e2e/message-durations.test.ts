import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { objectsIn } from '../../src/core/json.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  hook: { transport: webhook, path: /hook, verify: { scheme: none } }
routes:
  - { name: again, match: { gateway: hook, text: again }, skill: bad, retry: { attempts: 3, delay: 50ms } }
  - { name: all, match: { gateway: hook }, skill: echo }
`
const SKILLS = { bad: `export default { description: 'fails', run() { throw new Error('no') } }` }

for (const store of ['embedded', 'redis'] as const) {
  describe(`message-durations (${store})`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS, store })
    const posted = async (text: string) => {
      const { body } = await suite.daemon.post('/hook', text, { 'content-type': 'text/plain' })
      return String(Object(body).id)
    }
    const shown = async (id: string) => Object(await suite.daemon.invoke('message-show', { id }))
    const durations = async (route: string) =>
      Object(await suite.daemon.invoke('message-durations', { route, since: '1h' }))

    test('has the times of the history: the wait before the first attempt, and each attempt', async () => {
      const id = await posted('again')
      await until(async () => (await shown(id)).outcome === 'dead', 'a dead letter')
      const { message, history } = await shown(id)
      const ends = objectsIn(history).flatMap(({ at, what, detail }) =>
        what === 'failed' || what === 'dead' ? [{ at: Number(at), ms: Number(Object(detail).ms) }] : [],
      )
      const [first] = ends
      assert.ok(first)
      const wait = first.at - first.ms - message.receivedAt
      const ran = ends.map(({ ms }) => ms).sort((a, b) => a - b)
      const { total, examined, retried, ...found } = await durations('again')
      assert.deepEqual([total, examined, retried, ran.length], [1, 1, 1, 3])
      assert.deepEqual(found.waited, { p50: Math.max(0, wait), p95: Math.max(0, wait) })
      assert.deepEqual(found.ran, { p50: ran[1], p95: ran[2] })
    })

    test('leaves out the time of a pause, and says nothing about attempts that have not ended', async () => {
      await suite.daemon.invoke('route-pause', { route: 'all' })
      const id = await posted('held')
      const began = Date.now()
      await until(() => Date.now() - began > 1_500, 'some time in the pause')
      const before = await durations('all')
      assert.deepEqual(
        [before.total, before.examined, before.waited, before.ran],
        [1, 1, undefined, undefined],
      )
      await suite.daemon.invoke('route-resume', { route: 'all' })
      await until(async () => (await shown(id)).outcome === 'done', 'the end')
      const { history, message } = await shown(id)
      const done = objectsIn(history).find(({ what }) => what === 'done')
      const all = Number(done?.at) - Number(Object(done?.detail).ms) - message.receivedAt
      const { waited, retried } = await durations('all')
      assert.ok(all > 1_400, `it waited for ${all} ms in all`)
      assert.ok(waited.p95 < all - 1_000, `${waited.p95} ms of ${all} ms`)
      assert.equal(retried, 0)
    })
  })
}
