import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beginningIn, cellsOf } from '../../src/lib/cells.ts'
import { lineTable } from '../../src/lib/line-table.ts'
import { wrapped } from '../../src/lib/paragraph.ts'
import { shorten } from '../../src/lib/short-text.ts'

test('wide characters take two cells, and combining marks none', () => {
  assert.equal(cellsOf('Zoë Lindström'), 13)
  assert.equal(cellsOf('田中 美咲'), 9)
  assert.equal(cellsOf('ソルヴィ'), 8)
  assert.equal(cellsOf('Zoe\u0308'), 3)
  assert.equal(cellsOf('done ✅'), 7)
  assert.equal(beginningIn('田中 美咲', 4), '田中')
  assert.equal(beginningIn('田中 美咲', 1), '')
})

test('texts with wide characters are wrapped and cut at the width of the terminal', () => {
  const text = 'conversation 田中 美咲: Refund for order 46846; Refund 89.90 EUR'
  for (const line of wrapped(text, 24)) assert.ok(cellsOf(line) <= 24, line)
  assert.equal(shorten('田中 美咲: Refund', 10), '田中 美咲…')
  const columns = [{ title: 'who' }, { title: 'what', least: 10 }]
  const lines = lineTable(columns, [['田中 美咲', '返品の理由を教えてください']], 24).split('\n')
  assert.equal(lines.length, 2)
  assert.ok(lines.every((line) => cellsOf(line) <= 24))
})
