import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerText } from '../../src/lib/answer-text.ts'

test('the text of a failed answer is its first line, or the error in its JSON', () => {
  assert.equal(answerText('ingest-2: disk quota exceeded.\nRequest 4711'), 'ingest-2: disk quota exceeded')
  assert.equal(answerText('{"error":"disk full"}'), 'disk full')
  assert.equal(answerText('{"error":{"code":7,"message":"disk full"}}'), 'disk full')
  assert.equal(answerText('{"code":7}'), '')
  assert.equal(answerText('{"error":"disk fu [12 characters omitted]'), '')
  assert.equal(answerText('<html><body>Bad Gateway</body></html>'), '')
  assert.equal(answerText(''), '')
  assert.equal(answerText('x'.repeat(200)).length, 120)
})
