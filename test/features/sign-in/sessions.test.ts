import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import type { KeyValues } from '../../../src/core/store.ts'
import { createSessions } from '../../../src/features/sign-in/sessions.ts'
import { createMemoryStore } from '../../fixtures/memory-store.ts'

const MINUTE = 60_000

/** A store with a clock, and sessions on it. `setAway` makes reads of the store fail. */
function setUp(token = 'the-control-token') {
  const clock = { at: 1_000_000 }
  const store = createMemoryStore(() => clock.at)
  let isAway = false
  const kv: KeyValues = {
    ...store.kv,
    async get(key) {
      if (isAway) throw new TriviumError('store_unavailable', { store: 'test', reason: 'away' })
      return store.kv.get(key)
    },
  }
  const make = (given = token) => createSessions({ kv, token: () => given, now: () => clock.at })
  const setAway = (is: boolean) => {
    isAway = is
  }
  return { clock, kv: store.kv, make, setAway }
}

describe('sessions of the console', () => {
  test('end on time, also if the store keeps them for longer', async () => {
    const { clock, make } = setUp()
    const sessions = make()
    const { id } = await sessions.open({ via: 'token' }, MINUTE)
    assert.deepEqual((await sessions.read(id))?.person, { via: 'token' })
    clock.at += MINUTE
    assert.equal(await sessions.read(id), undefined)
  })

  test('are invalid if somebody without the control token has written them into the store', async () => {
    const { kv, make } = setUp()
    const sessions = make()
    const [mine, other] = await Promise.all([1, 2].map(() => sessions.open({ via: 'token' }, MINUTE)))
    const { items: keys } = await kv.list('console-session:', 10)
    const [first, second] = await Promise.all(keys.map((key) => kv.get(key)))
    assert.ok(mine && other && first && second)
    await kv.set(keys[0] ?? '', second.value)
    const changed = '{"person":{"via":"token"},"startedAt":0,"expiresAt":9e15}'
    await kv.set(keys[1] ?? '', { ...Object(second.value), session: changed })
    assert.equal(await sessions.read(mine.id), undefined, 'one was moved to another id, one was changed')
    assert.equal(await sessions.read(other.id), undefined)
    const { id } = await make('another-token').open({ via: 'token' }, MINUTE)
    assert.equal(await sessions.read(id), undefined, 'it was signed with another token')
  })

  test('stay valid while the store is away, for those who were known before and have not signed out', async () => {
    const { make, setAway, clock } = setUp()
    const sessions = make()
    const [mine, ended] = await Promise.all([1, 2].map(() => sessions.open({ via: 'token' }, MINUTE)))
    await sessions.close(ended?.id)
    setAway(true)
    assert.ok(await sessions.read(mine?.id))
    assert.equal(await sessions.read(ended?.id), undefined)
    assert.equal(await make().read(mine?.id), undefined, 'a new process does not know it')
    clock.at += MINUTE
    assert.equal(await sessions.read(mine?.id), undefined)
  })

  test('are not found by a text that cannot be their id', async () => {
    const sessions = setUp().make()
    for (const id of [undefined, '', '../x', 'A'.repeat(42), `${'A'.repeat(43)}\n`, '*'.repeat(43)]) {
      assert.equal(await sessions.read(id), undefined)
      await sessions.close(id)
    }
  })
})
