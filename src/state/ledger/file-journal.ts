import { dirname } from 'node:path'
import { TriviumError } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { createBatcher } from '../../lib/batch.ts'
import { disk, writeWhole } from '../../lib/disk.ts'
import { appendLines, unwritable } from '../files/line-file.ts'
import { linesAfter, openIfThere } from '../files/lines.ts'
import { type CallJournal, type CallRecord, isUnfinished, KEEP_CALLS } from './ledger.ts'

/** Looks at what is known, and may add a record. */
type Step = (calls: Calls) => CallRecord | undefined
type Calls = Map<string, CallRecord>

/**
 * Calls as lines of a file (`<data dir>/pending_calls.jsonl`), each synced before its promise resolves. For one process
 * at a time: the one that has the embedded store of the data dir open. From `compactAt` bytes the file is written anew,
 * without finished calls older than a week.
 */
export function createFileCallJournal(options: {
  path: string
  compactAt?: number
  now?: () => number
}): CallJournal {
  const { path, compactAt = 8 * 1024 * 1024, now = Date.now } = options
  let known: Calls | undefined
  let limit = compactAt
  const queue = createBatcher<Step, void>({ max: 1000, serial: true, run: commit })

  return {
    async swap(key, work) {
      let found: CallRecord | undefined
      await queue.add((calls) => {
        found = calls.get(key)
        return work(found)
      })
      return found
    },
    async all() {
      let found: CallRecord[] = []
      await queue.add((calls) => {
        found = [...calls.values()]
        return undefined
      })
      return found
    },
    close: () => queue.idle(),
  }

  async function commit(steps: Step[]): Promise<[]> {
    known ??= await readCalls(path)
    const calls = known
    const lines = steps.flatMap((step) => {
      const record = step(calls)
      if (!record) return []
      // Seen at once by the next step of the batch: the same key begins once.
      calls.set(record.key, record)
      return JSON.stringify(record)
    })
    if (lines.length === 0) return []
    try {
      disk.makeDir(dirname(path))
      if ((await appendLines(path, lines)) > limit) await compact(calls)
      return []
    } catch (error) {
      // What the file says counts.
      known = undefined
      throw unwritable(path, error)
    }
  }

  /** Keeps one line a call, and of the finished only those that are young enough. */
  async function compact(calls: Calls): Promise<void> {
    const oldest = now() - KEEP_CALLS
    for (const [key, record] of calls) {
      const isKept = record.state === 'done' && Date.parse(record.time) >= oldest
      if (!isKept && !isUnfinished(record)) calls.delete(key)
    }
    const text = [...calls.values()].map((record) => `${JSON.stringify(record)}\n`).join('')
    await writeWhole(path, text)
    limit = Math.max(compactAt, 2 * text.length)
  }
}

async function readCalls(path: string): Promise<Calls> {
  const calls: Calls = new Map()
  await using handle = await openIfThere(path)
  if (!handle) return calls
  for (const line of await linesAfter(handle, { offset: 0 })) {
    const record = parse(line, path)
    calls.set(record.key, record)
  }
  return calls
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
