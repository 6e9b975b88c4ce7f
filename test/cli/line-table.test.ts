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

test('a pipe gets all texts whole and all columns, with tabs between them', () => {
  assert.equal(
    lineTable(
      COLUMNS,
      [...ROWS, ['c1', 'eve', 'ledger', 'two\tlines\nof text', '']],
      Number.POSITIVE_INFINITY,
    ),
    [COLUMNS.map(({ title }) => title), ...ROWS, ['c1', 'eve', 'ledger', 'two lines of text', '']]
      .map((cells) => cells.join('\t'))
      .join('\n'),
  )
})

test('a column that is empty in all rows is left out if it may be', () => {
  assert.doesNotMatch(lineTable([{ title: 'id' }, { title: 'by', leftOut: 1 }], [['a', '']], 80), /by/)
})

test('a column that keeps both ends shows the end in which its texts differ, and other texts are cut first', () => {
  const columns = [
    { title: 'route' },
    { title: 'match', least: 24, leftOut: 1, keepsBoth: true as const },
    { title: 'state', least: 16 },
  ]
  const rows = [
    ['orders', 'gateway: store, event: orders/create', ''],
    ['labels', 'gateway: store, event: orders/fulfilled', `paused by Ada: ${'a long reason '.repeat(9)}`],
  ]
  const wide = lineTable(columns, rows, 120)
  assert.match(wide, /orders\/create/)
  assert.match(wide, /gateway: store, event: orders\/fulfilled +paused by Ada.*…/)
  assert.match(lineTable(columns, rows, 60), /orders +gatew\S*….*orders\/create/)
  assert.match(lineTable(columns, rows, 40), /Not shown: match/)
})

test('a column with a share of the terminal is wider in a wide one, and one that wraps is never cut', () => {
  const columns: readonly Column[] = [
    { title: 'id' },
    { title: 'title', least: 10, share: 0.5, wraps: true },
    { title: 'status', least: 6, leftOut: 1 },
  ]
  const rows = [['1', 'Refund 64.50 EUR because the stove leaks', 'approved by Ingrid Aune yesterday']]
  assert.equal(
    lineTable(columns, rows, 40),
    [
      'id  title                         status',
      '1   Refund 64.50 EUR because the  appro…',
      '    stove leaks',
    ].join('\n'),
  )
  assert.match(lineTable(columns, rows, 60), /^1 {3}Refund 64.50 EUR because the stove leaks {2}approved/m)
})
