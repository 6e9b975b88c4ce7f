import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPauses } from '../../src/features/pauses/pauses.ts'
import { openStore } from '../runtime/support/store.ts'
import { silent } from './kit.ts'

test('pauses that were read before an own change are not applied after it', async (t) => {
  const store = await openStore(t)
  const reading = Promise.withResolvers<void>()
  const slow = Promise.withResolvers<void>()
  const next = Promise.withResolvers<number>()
  let reads = 0
  /** The first read of the loop takes long. The next one says which pauses apply then. */
  const get: typeof store.kv.get = async (key) => {
    const value = await store.kv.get(key)
    reads++
    if (reads === 1) {
      reading.resolve()
      await slow.promise
    } else if (changed) next.resolve(pauses.view.list().length)
    return value
  }
  const queues = { dispatch: 'dispatch', runs: [] }
  const pause = { kind: 'skill', name: 'refund', since: Date.now(), by: 'ada@host' } as const
  const before = createPauses({ store, queues, routes: () => [], log: silent, now: Date.now })
  await before.change((state) => ({ ...state, pauses: [pause] }))

  let changed = false
  const pauses = createPauses({
    store: { ...store, kv: { ...store.kv, get } },
    queues,
    routes: () => [],
    log: silent,
    now: Date.now,
  })
  pauses.start()
  t.after(pauses.stop)
  await reading.promise
  await pauses.change((state) => ({ ...state, pauses: [] }))
  changed = true
  slow.resolve()
  assert.equal(await next.promise, 0)
})
