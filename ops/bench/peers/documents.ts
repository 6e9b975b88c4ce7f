import { closeSync, fsyncSync, mkdtempSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { z } from 'zod'
import type { JsonObject } from '../../../src/core/json.ts'
import { type DocumentSpec, formatDocument } from '../../../src/state/document.ts'
import { createStateManager, type StateManager } from '../../../src/state/manager.ts'
import { servePeer } from '../lib/serve-peer.ts'
import { spreadOf } from '../lib/statistics.ts'

const AT_ONCE = 64

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
    lines: Array.from({ length: 20 }, (_, index) => `${'x'.repeat(90)}${index}`),
  }),
}

const dir = mkdtempSync(join(tmpdir(), 'trivium-documents-'))
const manager = createStateManager({ dir: join(dir, 'state'), documents: [page] })
const { document } = await manager.load('page')
const text = formatDocument(document)
const bytes = Buffer.from(text)
const update = () => manager.update('page', increment)
const updateAtOnce = () => Promise.all(Array.from({ length: AT_ONCE }, update))

const contenders: [name: string, writes: number, write: () => Promise<unknown> | undefined][] = [
  ['bare', 1, bareWrite],
  ['atomic', 1, () => writeFileAtomic(join(dir, 'atomic'), text)],
  ['sequential', 1, update],
  ['atOnce', AT_ONCE, updateAtOnce],
]

servePeer(
  {
    /** Writes a second by the median: the contenders take turns write by write, so that all meet the same noise. */
    async turns(params) {
      const { seconds } = z.object({ seconds: z.number() }).parse(params)
      const times = new Map(contenders.map(([name]): [string, number[]] => [name, []]))
      const deadline = performance.now() + seconds * 1000
      for (let turn = 0; performance.now() < deadline; turn++) {
        // Back and forth: nobody always comes after the same other.
        for (const [name, , write] of turn % 2 ? contenders.toReversed() : contenders) {
          const began = performance.now()
          await write()
          times.get(name)?.push(performance.now() - began)
        }
      }
      const rate = (name: string, writes: number) => (writes * 1000) / spreadOf(times.get(name) ?? []).median
      return Object.fromEntries(contenders.map(([name, writes]) => [name, rate(name, writes)]))
    },

    /** Makes a document with this many events, and reads it back as it was at the last of them. */
    async replay(params) {
      const { events } = z.object({ events: z.number() }).parse(params)
      const at = mkdtempSync(join(dir, 'replay-'))
      const replayed = createStateManager({ dir: at, documents: [page] })
      await writeEvents(replayed, at, events)
      const before = process.memoryUsage.rss()
      const began = performance.now()
      const last = await replayed.replay('page', Date.UTC(2028, 0, 1))
      const took = (performance.now() - began) / 1000
      const grown = (process.memoryUsage.rss() - before) / 1024 / 1024
      await replayed.close()
      return { took, grown, bad: last?.document.n === events + 1 ? 0 : 1 }
    },

    async updates(params) {
      const { count } = z.object({ count: z.number() }).parse(params)
      for (let done = 0; done < count; done += AT_ONCE) await updateAtOnce()
      return {}
    },
  },
  async () => {
    await manager.close()
    rmSync(dir, { recursive: true, force: true })
  },
)

function increment(changed: JsonObject) {
  changed.n = Number(changed.n) + 1
}

/** What every durable write of a whole file does at least. */
function bareWrite(): undefined {
  const temporary = join(dir, 'bare.tmp')
  const fd = openSync(temporary, 'w')
  writeSync(fd, bytes)
  fsyncSync(fd)
  closeSync(fd)
  renameSync(temporary, join(dir, 'bare'))
}

async function writeEvents(target: StateManager, at: string, events: number): Promise<void> {
  await target.load('page')
  const lines = Array.from({ length: events }, (_, index) => {
    const seq = index + 2
    const time = new Date(Date.UTC(2027, 0, 1) + seq).toISOString()
    const patch = [{ op: 'replace', path: '/n', value: seq }]
    return JSON.stringify({ seq, time, event: 'update', actor: 'system:trivium', patch, base: seq - 1 })
  })
  await appendFile(join(at, 'page.events.jsonl'), `${lines.join('\n')}\n`)
}
