import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createRetryNow } from '../../src/engine/retry-now.ts'
import { acceptAll, claimOne, failure, job } from '../contract/store/kit.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callOf } from './kit.ts'

for (const { kind, place, open } of storeKinds())
  describe(`message-retry on the ${kind} store`, () => {
    test('refuses several messages as a whole if one is of a gateway that the caller may not use', async (t) => {
      const store = await open(t, await place(t))
      const [own = ''] = await acceptAll(store, ['own'], { gateway: 'shop' })
      const [other = ''] = await acceptAll(store, ['other'], { gateway: 'mail' })
      await store.jobs.add('dispatch', [job(own, 'a')])
      const { id, token } = await claimOne(store, 'dispatch')
      const error = failure('no', Date.now())
      await store.jobs.settle('dispatch', [{ id, token, outcome: 'retry', delay: 3_600_000, error }])
      const { retry } = createRetryNow(store, Date.now)
      const call = callOf({ caller: { kind: 'http', id: 'shop', gateways: ['shop'] } })
      const retryAll = (ids: string[]) => retry({ id: ids, limit: 200 }, call)
      await assert.rejects(() => retryAll([own, other]), { code: 'forbidden' })
      assert.deepEqual(await store.journal.history(own), [])
      assert.partialDeepStrictEqual(await retryAll([own]), { count: 1, ids: [own], left: 0 })
    })
  })
