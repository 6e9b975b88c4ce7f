import assert from 'node:assert/strict'
import { test } from 'node:test'
import { humanResult } from '../../src/cli/skill-output.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { wholeText } from '../../src/lib/printed.ts'

const cancel = (result: JsonObject, args: JsonObject = {}) =>
  wholeText(
    humanResult('run-cancel', { ok: true, messageId: 'm1', ...result }, { messageId: 'm1', ...args }, true),
  )

test('run cancel says whether the message still runs, waits for a place or is a dead letter', () => {
  assert.match(cancel({ cancelled: true, outcome: 'dead' }), /^Cancelled: .*`trivium dead-letter retry m1`$/s)
  assert.match(cancel({ cancelled: false, outcome: 'running' }), /m1 still runs\. A skill that ignores/)
  const waits = cancel({ cancelled: false, outcome: 'retrying' })
  assert.match(
    waits.replace(/\s+/g, ' '),
    /^Not given up yet: .* becomes a dead letter once there is a free place/,
  )
  assert.doesNotMatch(waits, /ignores|dropped/)
  assert.match(cancel({ cancelled: false, outcome: 'retrying' }, { drop: true }), /dropped/)
  assert.match(cancel({ cancelled: false, outcome: 'done' }), /ended before, done/)
})
