import assert from 'node:assert/strict'
import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import writeFileAtomic from 'write-file-atomic'
import type { JsonObject } from '../../src/core/json.ts'
import { type DocumentSpec, formatDocument } from '../../src/state/document.ts'
import { createStateManager } from '../../src/state/manager.ts'
import { temporaryDir } from './temporary.ts'

/** A document of 2 KB. */
const page: DocumentSpec = {
  name: 'page',
  version: 1,
  schema: {
    type: 'object',
    properties: {
      schema_version: { const: 1 },
      n: { type: 'integer' },
      lines: { type: 'array', items: { type: 'string' } },
    },
    required: ['schema_version', 'n', 'lines'],
    additionalProperties: false,
  },
  initial: () => ({
    schema_version: 1,
    n: 0,
    lines: Array.from({ length: 20 }, (_, i) => `${'x'.repeat(90)}${i}`),
  }),
}

const increment = (document: JsonObject) => {
  document.n = Number(document.n) + 1
}

function bareWrite(dir: string, bytes: Buffer): number {
  const fd = openSync(join(dir, 'bare.tmp'), 'w')
  writeSync(fd, bytes)
  fsyncSync(fd)
  closeSync(fd)
  renameSync(join(dir, 'bare.tmp'), join(dir, 'bare'))
  return 1
}

const AT_ONCE = 64

/** The contenders take turns write by write, so that all meet the same noise; writes a second by the median. */
async function compare(t: TestContext, turns: number): Promise<Map<string, number>> {
  const dir = temporaryDir(t)
  const manager = createStateManager({ dir: join(dir, 'state'), documents: [page] })
  t.after(() => manager.close())
  const { document } = await manager.load('page')
  const text = formatDocument(document)
  const bytes = Buffer.from(text)
  const update = () => manager.update('page', increment)
  const contenders: [string, number, () => Promise<unknown> | number][] = [
    ['bare', 1, () => bareWrite(dir, bytes)],
    ['write-file-atomic', 1, () => writeFileAtomic(join(dir, 'atomic'), text)],
    ['one after the other', 1, update],
    [`${AT_ONCE} at once`, AT_ONCE, () => Promise.all(Array.from({ length: AT_ONCE }, update))],
  ]
  const times = contenders.map((): number[] => [])
  for (let turn = 0; turn < turns; turn += 1) {
    // Back and forth: nobody always comes after the same other.
    const order = [...contenders.entries()]
    for (const [index, [, , work]] of turn % 2 ? order.reverse() : order) {
      const started = performance.now()
      await work()
      times[index]?.push(performance.now() - started)
    }
  }
  const rates = contenders.map(([name, count], index): [string, number] => {
    const sorted = (times[index] ?? []).sort((a, b) => a - b)
    return [name, (count * 1000) / (sorted[sorted.length >> 1] ?? Number.NaN)]
  })
  for (const [name, rate] of rates) t.diagnostic(`${name}: ${Math.round(rate)}/s`)
  return new Map(rates)
}

describe('speed', () => {
  test('checked, logged and durable updates keep up with a bare write, fsync and rename', async (t) => {
    const rates = await compare(t, 300)
    const bare = rates.get('bare') ?? 0
    assert.ok((rates.get('64 at once') ?? 0) >= 0.7 * bare)
    assert.ok((rates.get('one after the other') ?? 0) >= 0.25 * bare)
  })

  test('100,000 events are replayed in seconds and with flat memory', async (t) => {
    const dir = temporaryDir(t)
    const manager = createStateManager({ dir, documents: [page] })
    t.after(() => manager.close())
    await manager.load('page')
    const lines: string[] = []
    for (let seq = 2; seq <= 100_001; seq += 1) {
      const time = new Date(Date.UTC(2027, 0, 1) + seq).toISOString()
      const patch = [{ op: 'replace', path: '/n', value: seq }]
      lines.push(
        JSON.stringify({ seq, time, event: 'update', actor: 'system:trivium', patch, base: seq - 1 }),
      )
    }
    await appendFile(join(dir, 'page.events.jsonl'), `${lines.join('\n')}\n`)
    lines.length = 0
    const before = process.memoryUsage().rss
    const started = performance.now()
    const replayed = await manager.replay('page', Date.UTC(2028, 0, 1))
    const ms = performance.now() - started
    const grown = (process.memoryUsage().rss - before) / 1024 / 1024
    t.diagnostic(`replay of 100,000 events: ${Math.round(ms)} ms, ${Math.round(grown)} MB more`)
    assert.equal(replayed?.document.n, 100_001)
    assert.ok(ms < 5000)
    assert.ok(grown < 150)
  })

  test('many updates leave the memory flat', async (t) => {
    const manager = createStateManager({ dir: temporaryDir(t), documents: [page] })
    t.after(() => manager.close())
    const round = async () => {
      for (let i = 0; i < 20; i += 1)
        await Promise.all(Array.from({ length: 100 }, () => manager.update('page', increment)))
    }
    await round()
    const before = process.memoryUsage().rss
    for (let i = 0; i < 3; i += 1) await round()
    const grown = (process.memoryUsage().rss - before) / 1024 / 1024
    t.diagnostic(`${Math.round(grown)} MB more after 6,000 updates`)
    assert.ok(grown < 80)
  })
})
