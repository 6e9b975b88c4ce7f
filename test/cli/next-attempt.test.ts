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
