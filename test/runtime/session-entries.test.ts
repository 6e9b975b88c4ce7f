import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderEntry, renderHistory, tokensIn } from '../../src/runtime/session/render-history.ts'
import { withEntry } from '../../src/runtime/session/session-entries.ts'

test('an oversized entry keeps only the parts that it has', () => {
  const args = { items: Array.from({ length: 20_000 }, (_, item) => item) }
  const [entry] = withEntry([], { at: 1, args }, { maxEntries: 5 })
  assert.ok(entry)
  assert.deepEqual(Object.keys(entry), ['at', 'args'])
  assert.doesNotMatch(renderHistory([entry]), /null/)
})

test('the summary of removed entries counts towards the tokens of a session', () => {
  const summary = 'the customer ordered two books. '.repeat(10)
  const entries = Array.from({ length: 4 }, (_, at) => ({ at, result: 'a short answer' }))
  const kept = withEntry(
    entries.map((entry) => (entry.at === 0 ? { ...entry, summary } : entry)),
    { at: 4, result: 'a long answer. '.repeat(10) },
    { maxEntries: 50, maxTokens: 200 },
  )
  const sizes = [summary, ...kept.map(renderEntry)].map(tokensIn)
  assert.ok(sizes.reduce((sum, size) => sum + size) <= 200, `${sizes}`)
  assert.deepEqual([kept[0]?.summary, kept[0]?.dropped, kept.length], [summary, 2, 3])
})
