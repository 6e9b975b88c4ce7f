import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, conversation: data.body.order }
routes:
  - { name: refunds, match: { text: "*refund*" }, skill: refund }
  - { name: orders, skill: order, reply: none }
`
/** Notes each message; one with slow ends when the test says so. */
const ORDER = `import { appendFileSync } from 'node:fs'
export default { description: 'Books an order', async run({ message }) {
  appendFileSync(new URL('../../ran', import.meta.url), message.text + '\\n')
  if (message.text.includes('slow')) await globalThis.slowGivenUp
} }`
const REFUND = `import { appendFileSync } from 'node:fs'
export default {
  description: 'Pays back',
  metadata: { approval: { title: 'Refund' } },
  run({ message }) { appendFileSync(new URL('../../ran', import.meta.url), message.text + '\\n') },
}`

for (const kind of ['embedded', 'redis'] as const) {
  describe(`run-cancel of a message that waits, on the ${kind} store`, { timeout: 300_000 }, async () => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    if (redis) after(() => redis.stop())
    const env = redis ? { REDIS_URL: redis.url } : {}
    const site = openSite({ routes: ROUTES, skills: { order: ORDER, refund: REFUND }, env })
    const daemon = await site.start()
    const ran = (text: string) => {
      const path = join(site.dir, 'ran')
      return existsSync(path) && readFileSync(path, 'utf8').includes(text)
    }
    const post = async (body: object) =>
      String(Object((await daemon.post('/shop', JSON.stringify(body))).body).id)
    const outcomeOf = async (id: string) => Object(await daemon.invoke('message-show', { id })).outcome
    const isNow = (id: string, wanted: string) => until(async () => (await outcomeOf(id)) === wanted, wanted)
    const cancel = (messageId: string, more: object = {}) =>
      daemon.invoke('run-cancel', { messageId, ...more })

    test('ends it while a pause holds it', async () => {
      await daemon.invoke('gateway-pause', { gateway: 'shop' })
      const id = await post({ order: 1, text: 'held one' })
      const next = await post({ order: 1, text: 'held two' })
      const isHeld = async () =>
        [await daemon.invoke('pause-list')].flat().some((each) => Object(each).messageIds?.includes(id))
      await until(isHeld, 'a held message')
      const { out } = await site.run(['run', 'cancel', id, '--reason', 'ordered by phone'])
      assert.match(out, /^Cancelled: message \S+ is a dead letter now\./)
      const letter = Object(await daemon.invoke('dead-letter-show', { id }))
      assert.deepEqual(
        [letter.queue, letter.errors.length, letter.errors[0].code],
        ['dispatch', 1, 'run_cancelled'],
      )
      assert.match(letter.errors[0].message, /^Given up by .*: ordered by phone \(message/)
      assert.match((await site.run(['message', 'show', id])).out, /Given up by .*: ordered by phone/)
      await daemon.invoke('gateway-resume', { gateway: 'shop' })
      await isNow(next, 'done')
      assert.deepEqual([ran('held one'), ran('held two')], [false, true])
    })

    test('ends it behind another message of its conversation', async () => {
      const slow = Promise.withResolvers<void>()
      Object.assign(globalThis, { slowGivenUp: slow.promise })
      const first = await post({ order: 2, text: 'slow one' })
      await isNow(first, 'running')
      const second = await post({ order: 2, text: 'behind one' })
      const third = await post({ order: 2, text: 'behind two' })
      assert.deepEqual(await cancel(second, { drop: true }), {
        ...{ ok: true, messageId: second, cancelled: true, outcome: 'dropped' },
      })
      assert.deepEqual([await outcomeOf(first), await outcomeOf(third)], ['running', 'waiting'])
      slow.resolve()
      await isNow(third, 'done')
      assert.deepEqual([ran('behind one'), ran('behind two')], [false, true])
      await assert.rejects(cancel(third), (error) => /run_not_running/.test(String(error)))
    })

    test('denies its request for approval, and ends it without an answer', async () => {
      const ids = [
        await post({ refund: true, text: 'refund one' }),
        await post({ refund: true, text: 'refund two' }),
      ]
      const [kept = '', dropped = ''] = ids
      for (const id of ids) await isNow(id, 'approval')
      assert.deepEqual(await cancel(dropped, { drop: true, reason: 'a mistake' }), {
        ...{ ok: true, messageId: dropped, cancelled: true, outcome: 'dropped' },
      })
      assert.deepEqual(await cancel(kept), { ok: true, messageId: kept, cancelled: true, outcome: 'dead' })
      const requests = [await daemon.invoke('approval-list', {})].flat().map((each) => Object(each))
      const denied = requests.find(({ message }) => message.id === dropped)
      assert.deepEqual([denied.status, denied.reason], ['denied', 'a mistake'])
      assert.ok(requests.every(({ status }) => status === 'denied'))
      for (const id of ids) {
        const { history } = Object(await daemon.invoke('message-show', { id }))
        const replies = history.filter(
          ({ road, detail }: { road: string; detail?: { text?: string } }) =>
            road === 'outbox' && /denied/.test(detail?.text ?? ''),
        )
        assert.deepEqual(replies, [])
      }
      assert.equal(ran('refund'), false)
    })
  })
}
