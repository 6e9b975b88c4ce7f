import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Column, lineTable } from '../../src/lib/line-table.ts'

const COLUMNS: readonly Column[] = [
  { title: 'id' },
  { title: 'from', least: 8 },
  { title: 'conversation', least: 12, keepsEnd: true },
  { title: 'text', least: 8 },
  { title: 'by', leftOut: 1 },
]
const ROWS = [
  [
    'b224101c',
    'ada.lovelace@mail.example',
    'slack:T0NORDLYS:1795938412.1000108',
    'where is my order',
    'ines',
  ],
  ['a9219fcd', 'bob', 'ledger', 'export 2026-11', 'omar'],
]

test('a list has one line for each row, whatever the width', () => {
  for (const width of [55, 60, 70, 80, 100, 140]) {
    const printed = lineTable(COLUMNS, ROWS, width).split('\n')
    const lines = printed.filter((line) => !line.startsWith('Not shown: '))
    assert.equal(lines.length, ROWS.length + 1, `${width}`)
    assert.ok(
      lines.every((line) => line.length <= width),
      lines.join('\n'),
    )
  }
})

test('ids are cut first and keep their end, then the widest texts', () => {
  assert.equal(
    lineTable(COLUMNS, ROWS, 72),
    [
      'id        from                     conversation  text               by',
      'b224101c  ada.lovelace@mail.exam…  …412.1000108  where is my order  ines',
      'a9219fcd  bob                      ledger        export 2026-11     omar',
    ].join('\n'),
  )
})

test('columns are left out if cutting is not enough, and named below the table', () => {
  assert.doesNotMatch(lineTable(COLUMNS, ROWS, 46), /ines/)
  assert.match(lineTable(COLUMNS, ROWS, 46), /\nNot shown: by \(wider terminal, --json\)$/)
  assert.doesNotMatch(lineTable(COLUMNS, ROWS, 140), /Not shown/)
})

test('a pipe gets all texts whole', () => {
  assert.match(lineTable(COLUMNS, ROWS, Number.POSITIVE_INFINITY), /slack:T0NORDLYS:1795938412.1000108/)
})

test('a column that is empty in all rows is left out if it may be', () => {
  assert.doesNotMatch(lineTable([{ title: 'id' }, { title: 'by', leftOut: 1 }], [['a', '']], 80), /by/)
})
