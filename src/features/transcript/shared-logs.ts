import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileFailure } from '../../core/errors.ts'
import { LOG_TOPIC, type NewEvent } from '../../core/event.ts'
import { toJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Retention } from '../../core/retention.ts'
import type { Store } from '../../core/store.ts'
import { createBatcher } from '../../lib/batch.ts'
import { writeAtomically } from '../../lib/disk.ts'
import { createFileLock } from '../../lib/file-lock.ts'
import { repeat } from '../../lib/loop.ts'
import type { Logs } from './logs.ts'

/** Maximum lines that are published or copied together. */
const BATCH = 100
/** Interval (ms) between polls of the topic. */
const COPY_INTERVAL = 1_000
/** Maximum number of lines in the topic, for daemons that were away. */
const MAX_LINES = 50_000

/**
 * Shares logs between all daemons of a store: lines go to a topic, and each daemon copies them, up
 * to the position in `logs.copied`.
 */
export function shareLogs(files: Logs, { store, dataDir, log }: { store: Store; dataDir: string; log: Log }) {
  const { topics } = store
  const cursor = join(dataDir, 'logs.copied')
  // Several daemons and commands may share a data directory.
  const lock = createFileLock(`${cursor}.lock`, fileFailure(`${cursor}.lock`))

  const publisher = createBatcher<NewEvent, string>({
    max: BATCH,
    serial: true,
    run: (lines) => topics.publish(LOG_TOPIC, lines),
  })
  /**
   * Publishes lines for all daemons. A line that cannot be published is only in the file of this
   * daemon.
   */
  const publishing =
    <Entry extends { time?: number }>(type: string, writeHere: (entry: Entry) => Promise<void>) =>
    async (line: Entry) => {
      const entry = { ...line, time: line.time ?? Date.now() }
      await publisher.add({ type, source: 'trivium', data: toJson(entry) }).catch(() => writeHere(entry))
    }

  const copy = () =>
    lock.during(async () => {
      let isBehind = true
      while (isBehind) isBehind = await copyBatch()
    })
  /** Resolves with whether there are more lines. */
  const copyBatch = async (): Promise<boolean> => {
    // The cursor may be ahead: a new store, or one that lost writes, begins with lower positions.
    const copied = existsSync(cursor) ? Number(readFileSync(cursor, 'utf8')) : 0
    const start = Math.min(copied || 0, await topics.end(LOG_TOPIC))
    const lines = await topics.tail(LOG_TOPIC, start, BATCH)
    const writes = lines.items.map(({ event: { type, data } }) =>
      type === 'message' ? files.message(Object(data)) : files.event(Object(data)),
    )
    await Promise.all(writes)
    const last = lines.items.at(-1)
    if (last) await writeAtomically(cursor, String(last.position))
    return last !== undefined && lines.more
  }
  const copying = repeat(copy, COPY_INTERVAL, 'logs of all daemons', log)

  return {
    ...files,
    message: publishing('message', files.message),
    event: publishing('event', files.event),
    start: copying.start,
    async close() {
      await publisher.idle()
      await copying.stop()
      await copy().catch((err) =>
        log.warn({ err }, 'the last lines of the logs will be copied at the next start'),
      )
      lock.close()
      await files.close()
    },
  }
}

/**
 * Adds the retention of the topic: enough for an absent daemon, and not too much to copy quickly.
 */
export function withSharedLogs(retention: Retention): Retention {
  return { ...retention, topics: { ...retention.topics, [LOG_TOPIC]: { maxCount: MAX_LINES } } }
}
