import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLeftovers } from '../../src/features/notify/leftovers.ts'
import { openStore } from '../runtime/support/store.ts'

const MINUTE = 60_000

test('groups of a rule that was removed disappear after ten minutes, those of current rules stay', async (t) => {
  const store = await openStore(t)
  const { topics, kv } = store
  for (const id of ['aaaa0001', 'bbbb0002']) {
    await topics.subscribe('trivium-operations', `~notify:${id}`, 'now')
    await topics.subscribe(`trivium-operations/${id}`, `notify-${id}`, 'now')
    await kv.set(`notify:${id}`, { sent: [] })
  }
  await topics.subscribe('trivium-operations', 'oncall', 'now')
  await topics.subscribe('orders', 'notify-orders', 'now')
  let time = 1_000 * MINUTE
  const leftovers = createLeftovers(store, () => time)
  const ids = new Set(['aaaa0001'])
  const groups = async () => (await topics.groups()).map(({ group }) => group).sort()
  const all = await groups()
  // Another daemon has the rule for a while.
  await leftovers.check(ids)
  time += 9 * MINUTE
  await leftovers.check(new Set([...ids, 'bbbb0002']))
  time += 2 * MINUTE
  await leftovers.check(ids)
  assert.deepEqual(await groups(), all)
  time += 10 * MINUTE
  await leftovers.check(ids)
  assert.deepEqual(await groups(), ['notify-aaaa0001', 'notify-orders', 'oncall', '~notify:aaaa0001'])
  assert.equal(await kv.get('notify:bbbb0002'), undefined)
  assert.deepEqual((await kv.get('notify:aaaa0001'))?.value, { sent: [] })
})
