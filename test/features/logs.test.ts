import assert from 'node:assert/strict'
import { appendFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createLogs, type Logs } from '../../src/features/transcript/logs.ts'
import { until } from '../fixtures/until.ts'
import { temporaryDir } from './kit.ts'

type Options = Omit<Parameters<typeof createLogs>[0], 'dir'>

function make(t: TestContext, options: Options = {}): { dir: string; logs: Logs } {
  const dir = temporaryDir(t)
  const logs = createLogs({ dir, ...options })
  t.after(() => logs.close())
  return { dir, logs }
}

async function contents(entries: AsyncIterable<Record<string, unknown>>): Promise<unknown[]> {
  return (await Array.fromAsync(entries)).map((entry) => entry.content)
}

const say = (logs: Logs, content: string, channel = 'cli') => logs.message({ channel, role: 'user', content })

describe('messages.jsonl and events.jsonl', () => {
  test('can be read by channel, text and number of lines; a missing file is empty', async (t) => {
    const { logs } = make(t)
    assert.deepEqual(await contents(logs.history({ limit: 5 })), [])
    for (let i = 0; i < 10; i += 1) await say(logs, `Message ${i}`, i % 2 ? 'slack' : 'cli')
    await logs.message({ channel: 'cli', role: 'assistant', content: 'Answer' })
    assert.deepEqual(await contents(logs.history({ channel: 'slack', limit: 2 })), ['Message 7', 'Message 9'])
    assert.deepEqual(await contents(logs.history({ channel: 'sl*', grep: 'MESSAGE 3' })), ['Message 3'])
    assert.deepEqual(await contents(logs.history({ grep: '/age [45]$/' })), ['Message 4', 'Message 5'])
    assert.equal((await contents(logs.history())).length, 11)
  })

  test('can be followed from the last lines on, over rotations', async (t) => {
    const { logs } = make(t, { maxSize: 400 })
    await say(logs, 'before 1')
    await say(logs, 'before 2')
    const seen: unknown[] = []
    const stop = new AbortController()
    const following = (async () => {
      for await (const entry of logs.history({ limit: 1, follow: true, signal: stop.signal }))
        seen.push(entry.content)
    })()
    await until(() => seen.length === 1, 'the last line')
    for (let i = 0; i < 8; i += 2) {
      await say(logs, `after ${i}`)
      await say(logs, `after ${i + 1}`)
      await until(() => seen.length === i + 3, 'the new lines')
    }
    stop.abort()
    await following
    assert.deepEqual(seen, ['before 2', ...Array.from({ length: 8 }, (_, i) => `after ${i}`)])
  })

  test('can be followed while entries are removed, without showing the others again', async (t) => {
    let time = Date.UTC(2026, 4, 6)
    const { logs } = make(t, { now: () => time++ })
    await say(logs, 'of ada')
    await say(logs, 'of bob')
    const seen: unknown[] = []
    const stop = new AbortController()
    const following = (async () => {
      for await (const entry of logs.history({ follow: true, signal: stop.signal })) seen.push(entry.content)
    })()
    await until(() => seen.length === 2, 'the lines')
    await logs.lines.messages.filter((entry) => entry.content !== 'of ada')
    await say(logs, 'after the removal')
    await until(() => seen.includes('after the removal'), 'the new line')
    stop.abort()
    await following
    assert.deepEqual(seen, ['of ada', 'of bob', 'after the removal'])
  })

  test('rotate by size, are read across all files, and the newest 20 full files are kept', async (t) => {
    const { dir, logs } = make(t, { maxSize: 90 })
    // The names of full files contain the time, which is the same for all here.
    t.mock.method(Date, 'now', () => 1_800_000_000_000)
    for (let i = 0; i < 40; i += 1) await say(logs, `line ${i}`)
    assert.equal(readdirSync(dir).filter((file) => file.endsWith('.jsonl')).length, 20 + 1)
    const all = await contents(logs.history())
    assert.ok(all.length > 10 && all.length < 40)
    assert.deepEqual(
      all,
      Array.from({ length: all.length }, (_, i) => `line ${40 - all.length + i}`),
    )
    assert.deepEqual(await contents(logs.history({ limit: 9 })), all.slice(-9))
  })

  test('are read without an incomplete last line, which the next writer removes', async (t) => {
    const { dir, logs } = make(t)
    await say(logs, 'complete')
    appendFileSync(join(dir, 'messages.jsonl'), '{"time":"2026-01-01T00:00:00Z","chan')
    const queries = [{}, { limit: 3 }]
    for (const query of queries) assert.deepEqual(await contents(logs.history(query)), ['complete'])
    await say(logs, 'next')
    for (const query of queries) assert.deepEqual(await contents(logs.history(query)), ['complete', 'next'])
  })

  test('have all lines of two writers at the same time', async (t) => {
    const { dir, logs } = make(t, { maxSize: 5000 })
    const other = createLogs({ dir, maxSize: 5000 })
    t.after(() => other.close())
    await Promise.all(Array.from({ length: 200 }, (_, i) => say(i % 2 ? logs : other, `line ${i}`)))
    assert.equal(new Set(await contents(logs.history())).size, 200)
  })
})
