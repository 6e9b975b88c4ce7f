import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileFailure } from '../core/errors.ts'
import { LOG_TOPIC, type NewEvent } from '../core/event.ts'
import { toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Retention, Store } from '../core/store.ts'
import { createBatcher } from '../lib/batch.ts'
import { createBell } from '../lib/bell.ts'
import { isMissing, writeWhole } from '../lib/disk.ts'
import { createFileLock } from '../lib/file-lock.ts'
import type { Logs } from '../state/logs/logs.ts'

const BATCH = 500
/** Ms; after a store that was away. */
const LOOK_AGAIN = 2_000
/** The most lines that a daemon can have missed and still copies. */
const KEPT = 50_000

/**
 * Logs that all daemons of one store share: a line goes to a topic, and each daemon copies the topic into its own files, so
 * that every data dir has all of it. How far that is stands beside them, in `logs.copied`.
 */
export function shareLogs(
  files: Logs,
  { store, dataDir, log, now }: { store: Store; dataDir: string; log: Log; now(): number },
) {
  const { topics } = store
  const cursor = join(dataDir, 'logs.copied')
  // Several daemons, and commands, may have one data dir.
  const lock = createFileLock(`${cursor}.lock`, fileFailure(`${cursor}.lock`))
  const bell = createBell()
  let stopped = false
  let following: Promise<void> | undefined

  const run = (lines: NewEvent[]) => topics.publish(LOG_TOPIC, lines)
  const publisher = createBatcher<NewEvent, string>({ max: BATCH, serial: true, run })
  /** What cannot be told to the others stays here. */
  const write = async <Entry extends { time?: number }>(type: string, given: Entry, here: Write<Entry>) => {
    const entry = { ...given, time: given.time ?? now() }
    await publisher.add({ type, source: 'trivium', data: toJson(entry) }).catch(() => here(entry))
  }

  const copy = () =>
    lock.during(async () => {
      while (await copySome());
    })
  const copySome = async () => {
    // A store that lost its end, or is another one, gives places again.
    const start = Math.min(placeIn(cursor), await topics.end(LOG_TOPIC))
    const lines = await topics.tail(LOG_TOPIC, start, BATCH)
    const writes = lines.map(({ event: { type, data } }) =>
      type === 'message' ? files.message(Object(data)) : files.event(Object(data)),
    )
    await Promise.all(writes)
    const last = lines.at(-1)
    return last !== undefined && (await writeWhole(cursor, String(last.position)))
  }
  const follow = async () => {
    while (!stopped) {
      bell.clear()
      await copy().catch((err) => log.debug({ err }, 'the logs of all daemons cannot be copied yet'))
      await bell.sleep(LOOK_AGAIN)
    }
  }

  return {
    ...files,
    message: (entry: Parameters<Logs['message']>[0]) => write('message', entry, files.message),
    event: (entry: Parameters<Logs['event']>[0]) => write('event', entry, files.event),
    /** Begins to copy. */
    start() {
      const off = store.onSignal(`topic:${LOG_TOPIC}`, bell.ring)
      following = follow().finally(off)
    },
    async close() {
      stopped = true
      bell.ring()
      await publisher.idle()
      await following
      await copy().catch((err) => log.warn({ err }, 'the end of the logs is copied at the next start'))
      lock.close()
      await files.close()
    },
  }
}

type Write<Entry> = (entry: Entry) => Promise<void>

/** What is kept of the topic: as long as a daemon may be away, and no more than is soon copied. */
export function withSharedLogs(retention: Retention): Retention {
  return { ...retention, topics: { ...retention.topics, [LOG_TOPIC]: { maxCount: KEPT } } }
}

function placeIn(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8')) || 0
  } catch (error) {
    if (isMissing(error)) return 0
    throw error
  }
}
