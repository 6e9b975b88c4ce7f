import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createExactLines } from '../../src/runtime/mcp/exact-lines.ts'

test('lines of an MCP server keep numbers beyond the range of a double', () => {
  const lines = createExactLines(1_000)
  const read = ['{"n":1e400}\n', 'data: [-1.5E+309,1e-400]\n'].map((line) =>
    lines.add(Buffer.from(line)).toString(),
  )
  assert.deepEqual(read, ['{"n":"1e400"}\n', 'data: ["-1.5E+309","1e-400"]\n'])
})
