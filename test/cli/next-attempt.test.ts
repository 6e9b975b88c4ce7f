import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withOwnAttempt } from '../../src/cli/next-attempt.ts'

test('the next attempt is known if the note of an early retry is stored after its failure', async () => {
  const daemon = { running: false, invoke: async () => [] }
  const failed = { at: 1_000, road: 'dispatch', what: 'failed', detail: { attempt: 2, delay: 500 } }
  const early = { at: 900, road: 'dispatch', what: 'retried early', detail: { by: 'ada' } }
  const shown = await withOwnAttempt(daemon, { outcome: 'retrying', history: [failed, early] })
  assert.deepEqual(Object(shown).next, { at: 1_500, attempt: 3 })
})

test('a test ends after five minutes if its attempts would take longer', async () => {
  const retry = { attempts: 4, backoff: 'exponential', delay: 60_000, maxDelay: 300_000 }
  const daemon = { running: true, invoke: async () => [{ name: 'orders', retry }] }
  const nextOf = async (delay: number, replyTarget: { log: true; test?: true }) => {
    const failed = {
      at: 1_000,
      road: 'dispatch',
      what: 'failed',
      detail: { route: 'orders', attempt: 1, delay },
    }
    const message = { receivedAt: 500, data: { replyTarget } }
    const shown = await withOwnAttempt(daemon, { outcome: 'retrying', message, history: [failed] })
    return Object(shown).next
  }
  const next = { at: 61_000, attempt: 2, of: 4 }
  assert.deepEqual(await nextOf(60_000, { log: true, test: true }), { ...next, endsAt: 300_500 })
  assert.deepEqual(await nextOf(60_000, { log: true }), { ...next, givesUpAt: 421_000 })
  retry.delay = 10_000
  assert.equal((await nextOf(10_000, { log: true, test: true })).givesUpAt, 71_000)
})
