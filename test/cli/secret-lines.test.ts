import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { createLineReader } from '../../src/cli/secret-input.ts'

test('a secret from stdin ends at the end of its line only', async () => {
  const input = Buffer.from('one\u2028half\r\ntwo\u0085ü\nlast')
  // A character may be in two chunks.
  const bytes = [...input].map((byte) => Buffer.from([byte]))
  const lines = createLineReader(Readable.from(bytes))
  const read = [await lines.next(), await lines.next(), await lines.next(), await lines.next()]
  assert.deepEqual(read, ['one\u2028half', 'two\u0085ü', 'last', ''])
})
