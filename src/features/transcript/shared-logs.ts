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
/** Ms. */
const COPY_EVERY = 1_000
/** The most lines that a daemon can have missed and still copies. */
const KEPT = 50_000

/** Logs that all daemons of a store share: a line goes to a topic, and each copies that, up to where `logs.copied` says. */
export function shareLogs(files: Logs, { store, dataDir, log }: { store: Store; dataDir: string; log: Log }) {
  const { topics } = store
  const cursor = join(dataDir, 'logs.copied')
  // Several daemons, and commands, may have one data dir.
  const lock = createFileLock(`${cursor}.lock`, fileFailure(`${cursor}.lock`))

  const run = (lines: NewEvent[]) => topics.publish(LOG_TOPIC, lines)
  const publisher = createBatcher<NewEvent, string>({ max: BATCH, serial: true, run })
  /** What cannot be told to the others stays here. */
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
    // A store that lost its end, or is another one, gives places again.
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
      await copy().catch((err) => log.warn({ err }, 'the end of the logs is copied at the next start'))
      lock.close()
      await files.close()
    },
  }
}

/** What is kept of the topic: as long as a daemon may be away, and no more than is soon copied. */
export function withSharedLogs(retention: Retention): Retention {
  return { ...retention, topics: { ...retention.topics, [LOG_TOPIC]: { maxCount: KEPT } } }
}
