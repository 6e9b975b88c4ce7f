import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MINUTE } from '../../src/core/units.ts'
import { createFirstSeen } from '../../src/features/troubles/first-seen.ts'
import { error, warning } from '../../src/features/troubles/trouble-parts.ts'
import { openStore } from '../runtime/support/store.ts'

const WORDS = { title: 'Gateway support does not work', text: 'login refused', todo: 'Check it.' }
const down = (since?: number) =>
  error('gateway-down', { gateway: 'support' }, { ...WORDS, ...(since !== undefined && { since }) })

test('the start of a trouble survives a restart, and a recovery of some minutes', async (t) => {
  const { kv } = await openStore(t)
  let at = 1_000 * MINUTE
  const start = () => createFirstSeen(kv, () => at)
  const sinceOf = async (find: ReturnType<typeof start>, list = [down()], mayRead = true) =>
    (await find(list, mayRead))[0]?.since
  const first = start()
  assert.equal(await sinceOf(first), 1_000 * MINUTE)
  at += 5 * MINUTE
  assert.equal(await sinceOf(first), 1_000 * MINUTE)
  // The trouble is gone for a moment; later, another daemon starts.
  await first([], true)
  at += 5 * MINUTE
  assert.equal(await sinceOf(first), 1_000 * MINUTE)
  assert.equal(await sinceOf(start(), [down(at)]), 1_000 * MINUTE)
  // An earlier time in the data of the trouble counts.
  assert.equal(await sinceOf(start(), [down(900 * MINUTE)]), 900 * MINUTE)
})

test('a trouble starts when its daemon first saw it, if the store is away or the trouble is not about a connection', async (t) => {
  const { kv } = await openStore(t)
  const away = {
    ...kv,
    get: () => Promise.reject(new Error('away')),
    set: () => Promise.reject(new Error('away')),
  }
  let at = 10 * MINUTE
  const find = createFirstSeen(away, () => at)
  const stopping = warning('draining', {}, WORDS)
  await find([down(), stopping], true)
  await find([down(), stopping], false)
  at += MINUTE
  const since = (await find([down(), stopping], true)).map((each) => each.since)
  assert.deepEqual(since, [10 * MINUTE, 10 * MINUTE])
})
