import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHeldTimes } from '../../src/features/pauses/held-times.ts'

const job = { id: 'm1', lane: 'shop/c1', group: 'orders' }
const by = 'ada'

test('the time in ended pauses of a message is known, and counts once', () => {
  const heldFor = createHeldTimes(
    [
      { kind: 'gateway', name: 'shop', by, since: 100, endedAt: 300 },
      { kind: 'route', name: 'orders', by, since: 200, endedAt: 400 },
      { kind: 'skill', name: 'confirm', by, since: 500, endedAt: 600 },
      { kind: 'conversation', gateway: 'shop', name: 'c1', by, since: 700, endedAt: 750 },
      // Others, and one whose messages do not wait.
      { kind: 'gateway', name: 'shopping', by, since: 0, endedAt: 1_000 },
      { kind: 'conversation', gateway: 'shop', name: 'c1', drop: true, by, since: 800, endedAt: 900 },
    ],
    () => [{ name: 'orders', skill: 'confirm' }],
  )
  assert.equal(heldFor(job, 0, 1_000), 300 + 100 + 50)
  assert.equal(heldFor(job, 150, 250), 100)
  assert.equal(heldFor(job, 900, 1_000), 0)
  assert.equal(heldFor({ ...job, lane: 'desk/c1', group: 'mails' }, 0, 1_000), 0)
})
