import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPauses } from '../../src/features/pauses/pauses.ts'
import { openStore } from '../runtime/support/store.ts'
import { silent } from './kit.ts'

test('a call is held only while its skill is paused', async (t) => {
  const store = await openStore(t)
  const now = Date.now
  const queues = { dispatch: 'dispatch', runs: ['schedules'] }
  const pauses = createPauses({ store, queues, routes: () => [], log: silent, now })
  const pause = { kind: 'skill', name: 'refund', since: now(), by: 'ada@host' } as const
  await pauses.change((state) => ({ ...state, pauses: [pause] }))
  assert.equal(await pauses.holdCall({ id: 'early' }, 'refund'), true)
  assert.equal(pauses.view.holdsRun({ id: 'early', group: 'desk' }), true)
  await pauses.change((state) => ({ ...state, pauses: [] }))
  // Its run has called the skill during the pause, and ends only now.
  assert.equal(await pauses.holdCall({ id: 'late' }, 'refund'), false)
  assert.equal(pauses.calls.skillOf('late'), undefined)
})
