import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHistoryLines } from '../../src/cli/history-lines.ts'
import { openSite } from '../fixtures/daemon.ts'

test('the time of the first line of `history` leads to the lines before it, also of the same second', async () => {
  const site = openSite({ routes: 'routes: []\n' })
  const lines = ['one', 'two', 'three'].map((content, at) => ({
    time: `2026-11-29T10:00:00.${at}00Z`,
    channel: 'cli',
    role: 'user',
    content,
  }))
  site.write('.trivium/messages.jsonl', lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const newest = await site.run(['history', '--limit', '2'])
  assert.match(newest.out, /two\n.*three\n$/)
  const time = newest.out.split('  ')[0] ?? ''
  const older = await site.run(['history', '--limit', '2', '--before', time])
  assert.match(older.out, /^.*one\n$/)
})

test('`history` in a terminal is a table with a head, and wraps texts at their column', (t) => {
  const { columns } = process.stdout
  t.after(() => {
    process.stdout.columns = columns
  })
  const line = (day: number, content: string) => ({
    time: `2026-11-${day}T10:00:00.100Z`,
    channel: 'support',
    role: 'user',
    content,
    meta: { messageId: 'mail-1', from: 'ada@mail.example' },
  })
  const text = 'Where is my parcel? It was sent on Monday, and it has not come yet.\n\nAda'
  const shown = (width: number) => {
    process.stdout.columns = width
    const print = createHistoryLines()
    return [line(28, text), line(28, 'Thanks'), line(29, 'Hello')].map(print).join('\n').split('\n')
  }
  for (const width of [80, 140]) {
    const lines = shown(width)
    assert.match(lines[0] ?? '', /^time \(UTC\) +id +who +gateway +text$/)
    assert.deepEqual(
      lines.filter((each) => each.startsWith('2026')),
      ['2026-11-28', '2026-11-29'],
    )
    const column = lines[0]?.indexOf('text') ?? 0
    const texts = lines.filter((each) => /^(10:| )/.test(each))
    assert.ok(texts.every((each) => each.length <= width && each[column] !== ' ' && each[column - 1] === ' '))
  }
  const [, , undated] = createHistoryLines(80)({ ...line(28, 'Hello'), time: 'lost' }).split('\n')
  assert.match(undated ?? '', /← Hello/)
  assert.match(shown(50).join('\n'), /support\n {4}← Where is my parcel/)
  assert.match(createHistoryLines(0)(line(28, 'a\nb')), /^2026-11-28 10:00:00\.100 {2}mail-1 .* ← a\n {4}b$/)
})
