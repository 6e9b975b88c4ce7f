import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { acceptAll, bury, claimOne, DAY, job, pumpAll } from '../../contract/store/kit.ts'
import { redisOf } from './kit.ts'

describe('the histories in Redis', () => {
  test('a dead letter that is retried after retention removed its message leaves no history behind', async (t) => {
    const { open, client } = await redisOf(t)
    let time = Date.now()
    const now = () => time
    const store = await open({ now })
    const texts = Array.from({ length: 100 }, (_, index) => `${index}`)
    const [first = ''] = await acceptAll(store, texts)
    await pumpAll(store)
    await bury({ store, now }, 'q', job('a', 'l', { messageId: first }))
    time += 2 * DAY
    await store.trim({ journal: { maxAge: DAY, maxCount: 1_000 } })
    assert.equal(await store.journal.get(first), undefined)
    await store.jobs.deadLetters.retry('a')
    const { token } = await claimOne(store, 'q')
    const notes = [{ at: time, road: 'dispatch' as const, what: 'done' }]
    assert.deepEqual(await store.jobs.settle('q', [{ id: 'a', token, outcome: 'done', notes }]), [true])
    assert.deepEqual(await client().keys('*:notes:*'), [])
  })
})
