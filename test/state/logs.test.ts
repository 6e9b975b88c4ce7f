import assert from 'node:assert/strict'
import { appendFileSync, closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createLogs, type Logs } from '../../src/state/logs.ts'
import { temporaryDir } from './temporary.ts'
import { until } from './until.ts'

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

describe('messages.jsonl becomes conversational memory', () => {
  test('every message is a line with time, channel, role, content and meta', async (t) => {
    const { dir, logs } = make(t, { now: () => Date.UTC(2026, 4, 6, 12) })
    await logs.message({ channel: 'cli', role: 'user', content: 'remember persistent systems keep state' })
    await logs.message({
      channel: 'cli',
      role: 'assistant',
      content: 'Stored note memory-1.',
      meta: { skill: 'remember_note' },
    })
    assert.equal(
      readFileSync(join(dir, 'messages.jsonl'), 'utf8'),
      '{"time":"2026-05-06T12:00:00.000Z","channel":"cli","role":"user","content":"remember persistent systems keep state","meta":{}}\n' +
        '{"time":"2026-05-06T12:00:00.000Z","channel":"cli","role":"assistant","content":"Stored note memory-1.","meta":{"skill":"remember_note"}}\n',
    )
  })

  test('the history can be inspected by channel, text, role and number', async (t) => {
    const { logs } = make(t)
    for (let i = 0; i < 10; i += 1) await say(logs, `Message ${i}`, i % 2 ? 'slack' : 'cli')
    await logs.message({ channel: 'cli', role: 'assistant', content: 'Answer' })
    assert.deepEqual(await contents(logs.history({ channel: 'slack', limit: 2 })), ['Message 7', 'Message 9'])
    assert.deepEqual(await contents(logs.history({ channel: 'sl*', grep: 'MESSAGE 3' })), ['Message 3'])
    assert.deepEqual(await contents(logs.history({ grep: '/age [45]$/' })), ['Message 4', 'Message 5'])
    assert.deepEqual(await contents(logs.history({ role: 'assistant' })), ['Answer'])
    assert.equal((await contents(logs.history())).length, 11)
  })

  test('two runs with the same input accumulate', async (t) => {
    const { dir, logs } = make(t)
    await say(logs, 'hello')
    const again = createLogs({ dir })
    t.after(() => again.close())
    await say(again, 'hello')
    assert.deepEqual(await contents(again.history()), ['hello', 'hello'])
  })

  test('a missing log is an empty history', async (t) => {
    const { logs } = make(t)
    assert.deepEqual(await contents(logs.history()), [])
    assert.deepEqual(await contents(logs.history({ limit: 5 })), [])
  })

  test('following gives what is there and what comes, over a rotation', async (t) => {
    const { logs } = make(t, { maxSize: 400 })
    await say(logs, 'before 1')
    await say(logs, 'before 2')
    const seen: unknown[] = []
    const stop = new AbortController()
    const following = (async () => {
      const entries = logs.history({ limit: 1, follow: true, signal: stop.signal })
      for await (const entry of entries) seen.push(entry.content)
    })()
    await until(() => seen.length === 1)
    for (let i = 0; i < 12; i += 1) {
      await say(logs, `after ${i}`)
      await until(() => seen.length === i + 2)
    }
    stop.abort()
    await following
    assert.deepEqual(seen, ['before 2', ...Array.from({ length: 12 }, (_, i) => `after ${i}`)])
  })
})

describe('events.jsonl tracks operations, not dialogue', () => {
  test('an event is a line with time, event, channel and its own fields', async (t) => {
    const { dir, logs } = make(t, { now: () => Date.UTC(2026, 4, 6, 12) })
    await logs.event({
      event: 'message_processed',
      channel: 'cli',
      skill: 'remember_note',
      ok: true,
      approval_required: false,
    })
    assert.equal(
      readFileSync(join(dir, 'events.jsonl'), 'utf8'),
      '{"time":"2026-05-06T12:00:00.000Z","event":"message_processed","channel":"cli","skill":"remember_note","ok":true,"approval_required":false}\n',
    )
    await logs.event({ event: 'schedule_fired', schedule: 'daily' })
    assert.equal((await Array.fromAsync(logs.events({ event: 'schedule_fired' }))).length, 1)
    assert.equal((await Array.fromAsync(logs.events({ grep: 'remember' }))).length, 1)
  })
})

describe('logs', () => {
  test('rotate by size, are read across all files, and only so many are kept', async (t) => {
    const { dir, logs } = make(t, { maxSize: 500, keep: 3 })
    for (let i = 0; i < 40; i += 1) await say(logs, `line ${i}`)
    const files = readdirSync(dir).filter((file) => file.endsWith('.jsonl'))
    assert.equal(files.length, 4)
    const all = await contents(logs.history())
    assert.ok(all.length > 10 && all.length < 40)
    assert.deepEqual(
      all,
      Array.from({ length: all.length }, (_, i) => `line ${40 - all.length + i}`),
    )
    assert.deepEqual(await contents(logs.history({ limit: 9 })), all.slice(-9))
  })

  test('rotate by the age of their first line', async (t) => {
    let time = Date.UTC(2026, 0, 1)
    const { dir, logs } = make(t, { maxAge: 86_400_000, now: () => time })
    await say(logs, 'monday')
    time += 3_600_000
    await say(logs, 'monday too')
    time += 86_400_000
    await say(logs, 'tuesday')
    assert.ok(readdirSync(dir).includes('messages.20260102T010000000Z.jsonl'))
    assert.deepEqual(await contents(logs.history()), ['monday', 'monday too', 'tuesday'])
  })

  test('a torn last line is tolerated by readers and closed by the next writer', async (t) => {
    const { dir, logs } = make(t)
    await say(logs, 'whole')
    appendFileSync(join(dir, 'messages.jsonl'), '{"time":"2026-01-01T00:00:00Z","chan')
    assert.deepEqual(await contents(logs.history()), ['whole'])
    assert.deepEqual(await contents(logs.history({ limit: 3 })), ['whole'])
    await say(logs, 'next')
    assert.deepEqual(await contents(logs.history()), ['whole', 'next'])
    assert.deepEqual(await contents(logs.history({ limit: 1 })), ['next'])
  })

  test('lines of many writers at once are all there and whole', async (t) => {
    const { dir, logs } = make(t, { maxSize: 5000 })
    const other = createLogs({ dir, maxSize: 5000 })
    t.after(() => other.close())
    await Promise.all(Array.from({ length: 200 }, (_, i) => say(i % 2 ? logs : other, `line ${i}`)))
    const all = await contents(logs.history())
    assert.equal(new Set(all).size, 200)
  })

  test('a line longer than any chunk is read, forwards and backwards', async (t) => {
    const { logs } = make(t)
    await say(logs, 'first')
    await say(logs, 'x'.repeat(700_000))
    await say(logs, 'last')
    const lengths = (entries: unknown[]) => entries.map((entry) => String(entry).length)
    assert.deepEqual(lengths(await contents(logs.history())), [5, 700_000, 4])
    assert.deepEqual(lengths(await contents(logs.history({ limit: 3 }))), [5, 700_000, 4])
  })

  test('a log of 100 MB is searched with bounded memory, and its end is found at once', async (t) => {
    const { dir, logs } = make(t)
    const fd = openSync(join(dir, 'messages.jsonl'), 'a')
    const line = (i: number) =>
      `${JSON.stringify({ time: '2026-01-01T00:00:00.000Z', channel: 'cli', role: 'user', content: `${i} ${'x'.repeat(900)}`, meta: {} })}\n`
    for (let i = 0; i < 100_000; i += 500) {
      writeSync(fd, Array.from({ length: 500 }, (_, j) => line(i + j)).join(''))
    }
    closeSync(fd)
    const started = performance.now()
    assert.deepEqual(
      (await contents(logs.history({ limit: 1 }))).map((text) => String(text).slice(0, 6)),
      ['99999 '],
    )
    assert.ok(performance.now() - started < 1000)
    let most = 0
    let count = 0
    const before = process.memoryUsage().rss
    for await (const _ of logs.history({ grep: '0 xxx' })) {
      count += 1
      if (count % 1000 === 0) most = Math.max(most, process.memoryUsage().rss - before)
    }
    assert.equal(count, 10_000)
    assert.ok(most < 100 * 1024 * 1024, `${Math.round(most / 1024 / 1024)} MB more`)
  })
})
