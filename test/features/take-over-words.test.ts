import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pausedAnswer } from '../../src/engine/print/pause-note.ts'
import { wholeText } from '../../src/lib/printed.ts'

const clause = { clause: 'Its messages are accepted and wait' }
const said = (pause: object) => wholeText(pausedAnswer({ pause: { since: 0, by: 'ada', ...pause } }, clause))

test('a conversation is taken over, not paused, and the answer says how to hand it back', () => {
  const until = Date.UTC(2026, 10, 30, 15, 28)
  const of = { kind: 'conversation', name: 'mail-1', reason: 'I call them' }
  assert.equal(
    said({ ...of, until }),
    'The conversation mail-1 is taken over. Its messages are accepted and wait, until 2026-11-30 15:28 UTC. Reason: I call them. `trivium conversation hand back mail-1` hands it back.',
  )
  assert.match(said(of), /wait, until `trivium conversation hand back mail-1`\. Reason/)
  assert.match(
    said({ kind: 'route', name: 'orders' }),
    /^The route orders is paused\. .* `trivium route resume orders`/,
  )
})
