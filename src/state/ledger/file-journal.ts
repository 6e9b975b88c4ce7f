import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { TriviumError } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { createBatcher } from '../../lib/batch.ts'
import { writeWhole } from '../../lib/disk.ts'
import { appendLines, unwritable } from '../files/line-file.ts'
import { linesAfter, openIfThere } from '../files/lines.ts'
import { type CallJournal, type CallRecord, isUnfinished } from './ledger.ts'

type Options = {
  /** `<data dir>/pending_calls.jsonl`. */
  path: string
  /** How long a finished call is remembered (ms); default 7 days. An unfinished one stays. */
  keep?: number
  /** Size in bytes from which the file is compacted; default 8 MB. */
  compactAt?: number
  now?: () => number
}

/** Looks at what is known, and may add a record. */
type Step = (calls: Calls) => CallRecord | undefined

type Calls = Map<string, CallRecord>

const DAY = 86_400_000

/**
 * Calls as lines of a file, synced before each `begin` and `end` resolves. For one process at a time: the one that has
 * the embedded store of the data dir open.
 */
export function createFileCallJournal(options: Options): CallJournal {
  const { path, keep = 7 * DAY, compactAt = 8 * 1024 * 1024, now = Date.now } = options
  const by = `pid:${process.pid}`
  let read: Promise<{ calls: Calls; size: number }> | undefined
  const queue = createBatcher<Step, void>({ max: 1000, serial: true, run: commit })
  const time = () => new Date(now()).toISOString()

  return {
    async begin(key) {
      let earlier: CallRecord | undefined
      await queue.add((calls) => {
        earlier = calls.get(key)
        if (earlier?.state === 'failed') earlier = undefined
        return earlier ? undefined : { key, state: 'started', time: time(), by }
      })
      return earlier
    },
    end: (key, outcome) => queue.add(() => ({ key, time: time(), by, ...outcome })),
    get: async (key) => (await known()).calls.get(key),
    unfinished: async () => [...(await known()).calls.values()].filter(isUnfinished),
    close: () => queue.idle(),
  }

  function known() {
    read ??= readCalls(path).catch((error: unknown) => {
      // Once a person mended the file, it can be read.
      read = undefined
      throw error
    })
    return read
  }

  async function commit(steps: Step[]): Promise<[]> {
    const found = await known()
    const lines = steps.flatMap((step) => {
      const record = step(found.calls)
      if (!record) return []
      // Seen at once by the next job of the batch: the same key begins once.
      found.calls.delete(record.key)
      found.calls.set(record.key, record)
      return JSON.stringify(record)
    })
    if (lines.length === 0) return []
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      const begin = await appendLines(path, lines)
      found.size = begin + Buffer.byteLength(lines.join('\n')) + 1
      if (found.size > compactAt) await compact(found)
      return []
    } catch (error) {
      // What the file says counts.
      read = undefined
      throw unwritable(path, error)
    }
  }

  /** Keeps one line a call, and of the finished only those that are young enough. */
  async function compact(found: { calls: Calls; size: number }): Promise<void> {
    const oldest = now() - keep
    const kept = [...found.calls].filter(
      ([, record]) => isUnfinished(record) || (record.state === 'done' && Date.parse(record.time) >= oldest),
    )
    const text = kept.map(([, record]) => `${JSON.stringify(record)}\n`).join('')
    // Where nearly all is still needed, writing it again would only be repeated with every call.
    if (text.length > found.size / 2) return
    await writeWhole(path, text)
    read = Promise.resolve({ calls: new Map(kept), size: text.length })
  }
}

async function readCalls(path: string): Promise<{ calls: Calls; size: number }> {
  const calls: Calls = new Map()
  const place = { offset: 0 }
  await using handle = await openIfThere(path)
  if (handle) {
    for await (const line of linesAfter(handle, place)) {
      const record = parse(line, path)
      calls.delete(record.key)
      calls.set(record.key, record)
    }
  }
  return { calls, size: place.offset }
}

function parse(line: string, path: string): CallRecord {
  try {
    const record: CallRecord = JSON.parse(line)
    if (isJsonObject(record) && typeof record.key === 'string') return record
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  const reason = `this line is no call: ${line.slice(0, 80)}`
  throw new TriviumError('state_corrupt', { path, name: 'pending_calls', reason })
}
