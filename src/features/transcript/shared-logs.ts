import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileFailure } from '../../core/errors.ts'
import { LOG_TOPIC, type NewEvent } from '../../core/event.ts'
import { toJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Retention, Store } from '../../core/store.ts'
import { createBatcher } from '../../lib/batch.ts'
import { writeWhole } from '../../lib/disk.ts'
import { createFileLock } from '../../lib/file-lock.ts'
import { repeat } from '../../lib/loop.ts'
import type { Logs } from './logs.ts'

const BATCH = 100
/** Polling interval (ms). */
const COPY_EVERY = 1_000
/** Maximum number of lines kept for daemons that were away. */
const KEPT = 50_000

/**
 * Shares logs between all daemons of a store: lines go to a topic, and each daemon copies them, up
 * to the position in `logs.copied`.
 */
export function shareLogs(files: Logs, { store, dataDir, log }: { store: Store; dataDir: string; log: Log }) {
  const { topics } = store
  const cursor = join(dataDir, 'logs.copied')
  // Several daemons and commands may share a data directory.
  const lock = createFileLock(`${cursor}.lock`, fileFailure(`${cursor}.lock`))

  const run = (lines: NewEvent[]) => topics.publish(LOG_TOPIC, lines)
  const publisher = createBatcher<NewEvent, string>({ max: BATCH, serial: true, run })
  /** Lines that cannot be published are only written here. */
  const toAll =
    <Entry extends { time?: number }>(type: string, here: (entry: Entry) => Promise<void>) =>
    async (given: Entry) => {
      const entry = { ...given, time: given.time ?? Date.now() }
      await publisher.add({ type, source: 'trivium', data: toJson(entry) }).catch(() => here(entry))
    }

  const copy = () =>
    lock.during(async () => {
      while (await copySome());
    })
  const copySome = async () => {
    // A new store, or one that lost its last writes, assigns positions again.
    const copied = existsSync(cursor) ? Number(readFileSync(cursor, 'utf8')) : 0
    const start = Math.min(copied || 0, await topics.end(LOG_TOPIC))
    const lines = await topics.tail(LOG_TOPIC, start, BATCH)
    const writes = lines.items.map(({ event: { type, data } }) =>
      type === 'message' ? files.message(Object(data)) : files.event(Object(data)),
    )
    await Promise.all(writes)
    const last = lines.items.at(-1)
    const isKept = last !== undefined && (await writeWhole(cursor, String(last.position)))
    return isKept && lines.more
  }
  const copying = repeat(copy, COPY_EVERY, 'logs of all daemons', log)

  return {
    ...files,
    message: toAll('message', files.message),
    event: toAll('event', files.event),
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

/** Retention of the topic: long enough for an absent daemon, and small enough to copy quickly. */
export function withSharedLogs(retention: Retention): Retention {
  return { ...retention, topics: { ...retention.topics, [LOG_TOPIC]: { maxCount: KEPT } } }
}
