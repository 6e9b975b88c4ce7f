import { join } from 'node:path'
import { fileFailure } from '../core/errors.ts'
import { LOG_TOPIC } from '../core/event.ts'
import { type JsonObject, pathGet, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Retention, Store } from '../core/store.ts'
import { createBatcher } from '../lib/batch.ts'
import { createBell } from '../lib/bell.ts'
import { createFileLock } from '../lib/file-lock.ts'
import type { LogEntry } from '../state/logs/log-reader.ts'
import type { Logs } from '../state/logs/logs.ts'

const BATCH = 500
/** Ms; after a store that was away, and for a data dir whose daemon that copied has died. */
const LOOK_AGAIN = 2_000
/** Lines that are looked at for the number of the last one that was copied. */
const LOOKED_AT = 1_000

/**
 * Logs that all daemons of one store share: a line goes to a topic, and each daemon copies the topic into its own files, so
 * that every data dir has all of it. A copied line carries its number, so that none comes twice.
 */
export function shareLogs(
  files: Logs,
  { store, dataDir, log, now }: { store: Store; dataDir: string; log: Log; now(): number },
) {
  const { topics } = store
  const path = join(dataDir, 'logs.copy.lock')
  // Two daemons may have one data dir.
  const lock = createFileLock(path, fileFailure(path))
  const bell = createBell()
  const copied = { message: 0, event: 0 }
  let holds: (() => void) | undefined
  let isUsed = false
  let stopped = false
  let following: Promise<void> | undefined

  const publisher = createBatcher<{ type: Kind; data: JsonObject }, string>({
    max: BATCH,
    serial: true,
    run: (lines) =>
      topics.publish(
        LOG_TOPIC,
        lines.map((line) => ({ ...line, source: 'trivium' })),
      ),
  })
  /** What cannot be told to the others stays here. */
  const write = async <Entry extends { time?: number }>(
    type: Kind,
    entry: Entry,
    here: (entry: Entry) => Promise<unknown>,
  ) => {
    const timed = { ...entry, time: entry.time ?? now() }
    isUsed = true
    await publisher.add({ type, data: Object(toJson(timed)) }).catch(() => here(timed))
  }

  const copy = async () => {
    holds ??= await begin()
    while (holds) {
      const lines = await topics.tail(LOG_TOPIC, Math.min(copied.message, copied.event), BATCH)
      const last = lines.at(-1)
      if (!last) return onlyIfThere(await topics.end(LOG_TOPIC))
      await Promise.all(lines.map(({ position, event }) => put(position, event.type, Object(event.data))))
      Object.assign(copied, { message: last.position, event: last.position })
    }
  }
  /** A store that lost its end, or is another one, gives places again. */
  const onlyIfThere = (end: number) => {
    copied.message = Math.min(copied.message, end)
    copied.event = Math.min(copied.event, end)
  }
  const put = async (seq: number, type: string, { meta, ...entry }: Parameters<Logs['message']>[0]) => {
    if (type === 'message' && seq > copied.message) await files.message({ ...entry, meta: { ...meta, seq } })
    if (type === 'event' && seq > copied.event)
      await files.event({ event: '', ...entry, ...(meta && { meta }), seq })
  }
  /** Undefined: another daemon copies into this data dir. */
  const begin = async () => {
    const release = lock.tryAcquire()
    if (release) {
      copied.message = await lastOf(files.newestMessages(), 'meta.seq')
      copied.event = await lastOf(files.newestEvents(), 'seq')
    }
    return release
  }
  const follow = async () => {
    while (!stopped) {
      bell.clear()
      await copy().catch((err) => log.debug({ err }, 'the logs of other daemons cannot be copied yet'))
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
      if (following || isUsed)
        await copy().catch((err) => log.warn({ err }, 'the end of the logs is copied at the next start'))
      holds?.()
      lock.close()
      await files.close()
    },
  }
}

/** The most lines that a daemon can have missed and still copies. */
const KEPT = 50_000

/** What is kept of the topic: as long as a daemon may be away, and no more than is soon copied. */
export function withSharedLogs(retention: Retention): Retention {
  return { ...retention, topics: { ...retention.topics, [LOG_TOPIC]: { maxCount: KEPT } } }
}

type Kind = 'message' | 'event'

async function lastOf(newest: AsyncIterable<LogEntry>, path: string): Promise<number> {
  let looked = 0
  for await (const line of newest) {
    const seq = pathGet(line, path)
    if (typeof seq === 'number') return seq
    if (++looked >= LOOKED_AT) break
  }
  return 0
}
