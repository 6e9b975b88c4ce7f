import assert from 'node:assert/strict'
import { test } from 'node:test'
import { troubleLines } from '../../src/features/troubles/print.ts'

test('status has a gateway that does not work among its troubles, as trouble list does', () => {
  const down = {
    code: 'gateway-down',
    severity: 'error',
    title: 'Gateway wholesale does not work',
    text: 'Password expired.',
    since: Date.now() - 12 * 60_000,
  }
  const paused = { ...down, code: 'paused', severity: 'info', title: 'Route reviews is paused' }
  assert.deepEqual(troubleLines([down, paused], 4), [
    '',
    '! Gateway wholesale does not work (12 min): Password expired.',
    '· Route reviews is paused (12 min): Password expired.',
  ])
  assert.equal(troubleLines([down, paused], 1).at(-1), '… and 1 more: `trivium trouble list`')
})
