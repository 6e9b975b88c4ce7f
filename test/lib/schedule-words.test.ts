import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whenInWords } from '../../src/lib/schedule-words.ts'

const inWords = (times: Parameters<typeof whenInWords>[0]) =>
  whenInWords(times, (at) => new Date(at).toISOString())

test('the times of a schedule are in words if there are simple ones', () => {
  assert.equal(inWords({ every: 900_000 }), 'every 15 min')
  assert.equal(inWords({ cron: '0 16 * * *', timezone: 'UTC' }), 'daily at 16:00, UTC')
  assert.equal(inWords({ cron: '0 8 * * 1-5' }), 'Monday to Friday at 08:00')
  assert.equal(inWords({ cron: '0 9 * * 1', step: '2 weeks' }), 'Monday at 09:00, each 2 weeks')
  assert.equal(inWords({ cron: '0 9 L * *', timezone: 'UTC' }), '0 9 L * *, UTC')
  assert.equal(inWords({ cron: '2026-12-24T18:00', timezone: 'UTC' }), 'once at 2026-12-24 18:00, UTC')
  assert.equal(inWords({ cron: '2026-12-24T18:00+01:00' }), 'once at 2026-12-24T17:00:00.000Z')
})
