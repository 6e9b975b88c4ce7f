import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import type { Retention } from '../../../src/core/retention.ts'
import { acceptAll, DAY, publishAll, pumpAll } from '../../contract/store/kit.ts'
import { redisOf } from './kit.ts'

const TEXTS = Array.from({ length: 30 }, (_, n) => `${n}`)
/** Topics without a limit of their own have that of the journal. */
const POLICY: Retention = {
  journal: { maxAge: DAY, maxCount: 12 },
  topics: { own: { maxCount: 5 } },
}

describe('the maximum count of the retention', () => {
  for (const shards of [1, 4])
    test(`holds for each topic and for all messages, shards: ${shards}`, async (t) => {
      const { open } = await redisOf(t)
      const store = await open({ shards })
      // The store really has this number of shards.
      assert.equal(store.topics.partitions(MESSAGE_TOPIC), shards)
      const ids = await publishAll(store, 'default', TEXTS)
      const own = await publishAll(store, 'own', TEXTS)
      for (const text of TEXTS) await acceptAll(store, [text], { conversation: text })
      await pumpAll(store)
      while ((await store.trim(POLICY)).removed > 0);
      const keptIn = async (topic: string) =>
        (await store.topics.tail(topic, 0, 100)).items.map(({ event }) => event.id)
      assert.deepEqual(await keptIn('default'), ids.slice(-12))
      assert.deepEqual(await keptIn('own'), own.slice(-5))
      const { journal } = await store.stats()
      assert.ok(journal.messages <= 12, `${journal.messages} messages`)
    })
})
