import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Leases, Store } from '../../src/core/store.ts'
import { createEnding } from '../../src/features/push/ending.ts'
import { createRecords } from '../../src/features/push/records.ts'
import { createStoredSubscriptions } from '../../src/features/push/stored-subscriptions.ts'
import { until } from '../fixtures/until.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'

describe('the deletion of a push subscription', () => {
  test('is completed by one call of a daemon at a time', async (t) => {
    const store = await storeWithEnding(t)
    const held = holdAtLetters(store)
    const leases = watchLeases(store)
    const ending = endingOf({ ...held.store, leases: leases.port }, 'a')
    const inBackground = ending.completeAll()
    await held.reached
    const deletion = ending.complete('crm')
    await until(() => leases.refused() > 0, 'the second call to wait for the first')
    held.release()
    await Promise.all([inBackground, deletion])
    assert.deepEqual(await namesIn(store), [])
  })

  test('ends without a change if its lease ran out and the name was created again', async (t) => {
    const store = await storeWithEnding(t)
    const held = holdAtLetters(store)
    const leases = watchLeases(store)
    const slow = endingOf({ ...held.store, leases: leases.port }, 'a').complete('crm')
    await held.reached
    await leases.loseAll()
    await endingOf(store, 'b').complete('crm')
    const records = createRecords(store.kv, 'crm')
    const stopped = { why: 'paused', by: 'ada', at: 2 } as const
    await records.change((control) => ({ ...control, stopped }))
    await createStoredSubscriptions(store.kv).change(() => ({ crm: CREATED }))
    held.release()
    await slow
    assert.deepEqual((await records.control()).stopped, stopped)
    assert.deepEqual(await namesIn(store), ['crm'])
  })
})

const CREATED = { given: { url: 'https://example.com/hook', topic: 'orders' }, by: 'ada', at: 1 }

async function storeWithEnding(t: TestContext): Promise<Store> {
  const store = await openStore(t)
  await createStoredSubscriptions(store.kv).change(() => ({ crm: { ...CREATED, isEnding: true } }))
  return store
}

const namesIn = async (store: Store) => Object.keys(await createStoredSubscriptions(store.kv).all())

function endingOf(store: Store, owner: string) {
  const stored = createStoredSubscriptions(store.kv)
  return createEnding({ store, stored, owner, log: createMemoryLog() })
}

/** A store whose lists of dead letters wait for `release`. */
function holdAtLetters(store: Store) {
  const reached = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const { deadLetters } = store.jobs
  const list: typeof deadLetters.list = async (filter) => {
    reached.resolve()
    await gate.promise
    return deadLetters.list(filter)
  }
  const jobs = { ...store.jobs, deadLetters: { ...deadLetters, list } }
  return { store: { ...store, jobs }, reached: reached.promise, release: gate.resolve }
}

function watchLeases({ leases }: Store) {
  const owners = new Map<string, string>()
  let refused = 0
  const port: Leases = {
    ...leases,
    async acquire(name, owner, ttl) {
      const lease = await leases.acquire(name, owner, ttl)
      if (lease) owners.set(owner, name)
      else refused++
      return lease
    },
  }
  return {
    port,
    refused: () => refused,
    /** Ends the leases as if their time had run out. */
    loseAll: async () => {
      for (const [owner, name] of owners) await leases.release(name, owner)
    },
  }
}
