import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeUnpainted, paint } from '../../src/lib/paint.ts'
import { wrapped } from '../../src/lib/paragraph.ts'

test('a long text is broken into lines in time, and commands in it stay whole', async () => {
  assert.deepEqual(wrapped('see `trivium job list` for all of them', 12), [
    'see',
    '`trivium job list`',
    'for all of',
    'them',
  ])
  assert.deepEqual(wrapped('an odd ` is a character', 10), ['an odd `', 'is a', 'character'])
  const text = 'a word and `a command` '.repeat(20_000)
  const started = performance.now()
  assert.equal(wrapped(text, 80).join(' '), text)
  assert.deepEqual(wrapped(text, Number.POSITIVE_INFINITY), [text])
  assert.ok(performance.now() - started < 5_000)
})

// `top` paints new texts for days.
test('only the newest painted texts are remembered; older ones are escaped like any other text', () => {
  process.env.FORCE_COLOR = '1'
  const first = paint('red', 'the first one')
  for (let n = 0; n < 60_000; n++) paint('red', `text ${n}`)
  const newest = paint('red', 'the newest one')
  delete process.env.FORCE_COLOR
  assert.equal(escapeUnpainted(newest), newest)
  assert.notEqual(escapeUnpainted(first), first)
})
