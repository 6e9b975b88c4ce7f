import assert from 'node:assert/strict'
import { test } from 'node:test'
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
