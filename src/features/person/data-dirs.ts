import { hash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { z } from 'zod'
import { allKeys } from '../../core/all-keys.ts'
import type { Log } from '../../core/log.ts'
import type { KeyValues } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'
import type { JobTools } from '../../engine/long-work.ts'
import { repeat } from '../../lib/loop.ts'
import { pause } from '../../lib/pause.ts'
import { fromStored, type Person, personSchema, SUBJECT_PREFIX } from './person.ts'
import type { Place, Subject } from './place.ts'

export type DataDirs = ReturnType<typeof createDataDirs>

/** The registration of a data directory. `lastSeen`: when its daemon last ran (Unix ms). */
export const dirSchema = z.object({ host: z.string(), lastSeen: z.number() })
export type Dir = z.infer<typeof dirSchema>

/** Key prefix of the registrations of data directories, by their daemons. */
const DIR_PREFIX = 'data-dir:'
/** How long (ms) a data directory, and requests for it, are kept after its daemon was last seen. */
const DIR_TTL = 7 * DAY
/** Key prefix of directories whose daemon runs. An erasure waits only for these. */
const RUNNING_PREFIX = 'data-dir-running:'
const RUNNING_TTL = 30_000
const REGISTER_INTERVAL = 10_000
/**
 * Key prefix of requests to erase a person in a data directory: `<job>:<dir>` follows. The daemon
 * of the directory deletes a request that it has handled.
 */
const REQUEST_PREFIX = 'person-erase-dir:'
/**
 * Key prefix of persons, by job. They are kept after the end of the job, for the daemons that have
 * not handled their request yet.
 */
const LATER_PREFIX = 'person-erase-later:'
const POLL_INTERVAL = 3_000

/**
 * Erases in the data directories of other daemons. Each daemon erases in its own; a daemon that is
 * down does so after its next start.
 */
export function createDataDirs(deps: {
  kv: KeyValues
  /** Whether several daemons may share this store. */
  isShared: boolean
  dataDir: string
  places: readonly Place[]
  subjectOf(person: Person): Subject
  log: Log
  now(): number
}) {
  const { kv, places, log } = deps
  const host = hostname()
  /** The id of this data directory. */
  const own = hash('sha256', `${host}:${realpathSync(deps.dataDir)}`).slice(0, 16)
  let isStarted = false
  let registeredAt = Number.NEGATIVE_INFINITY

  const register = () => kv.set(DIR_PREFIX + own, { host, lastSeen: deps.now() }, { ttl: DIR_TTL })
  const poll = async () => {
    if (performance.now() - registeredAt > REGISTER_INTERVAL) {
      await register()
      await kv.set(RUNNING_PREFIX + own, true, { ttl: RUNNING_TTL })
      registeredAt = performance.now()
    }
    const requests = (await allKeys(kv, REQUEST_PREFIX)).filter((key) => key.endsWith(`:${own}`))
    for (const key of requests) await handle(key, key.slice(REQUEST_PREFIX.length, -own.length - 1))
  }
  const handle = async (key: string, job: string) => {
    const found = (await kv.get(SUBJECT_PREFIX + job)) ?? (await kv.get(LATER_PREFIX + job))
    const stored = personSchema.safeParse(found?.value).data
    if (stored) await eraseIn(places, deps.subjectOf(fromStored(stored)))
    await kv.delete(key)
    await forgetIfDone(kv, job)
  }
  const isRunning = async (dir: string) => (await kv.get(RUNNING_PREFIX + dir)) !== undefined
  const others = async () =>
    (await allKeys(kv, DIR_PREFIX)).map((key) => key.slice(DIR_PREFIX.length)).filter((dir) => dir !== own)
  const loop = repeat(poll, POLL_INTERVAL, 'erasing in this data directory', log)

  return {
    start(): void {
      if (!deps.isShared) return
      isStarted = true
      loop.start()
    },
    /** Whether other daemons of this store have data directories. */
    hasOthers: async () => deps.isShared && (await others()).length > 0,
    /** After this, no job waits for this daemon. */
    async stop(): Promise<void> {
      await loop.stop()
      if (!isStarted) return
      await Promise.all([register(), kv.delete(RUNNING_PREFIX + own)])
    },
    /**
     * Waits until all daemons that run have erased the person in their data directories. Resolves
     * with the directories of daemons that do not run: these erase the person if they run again
     * within a week.
     */
    async eraseOthers(job: string, { save, signal }: JobTools): Promise<Dir[]> {
      if (!deps.isShared) return []
      for (const dir of await others()) await kv.set(`${REQUEST_PREFIX}${job}:${dir}`, true, { ttl: DIR_TTL })
      for (;;) {
        signal.throwIfAborted()
        const open = await openIn(kv, job)
        const running = await filter(open, isRunning)
        if (running.length === 0) return keepForLater(kv, job, open)
        const hosts = (await Promise.all(running.map((dir) => infoOf(kv, dir)))).map((dir) => dir.host)
        await save({ at: `the data directories of daemons on ${hosts.join(', ')}` })
        await pause(POLL_INTERVAL / 3, signal)
      }
    },
  }
}

/** The directories whose daemons have not handled the request of this job yet. */
async function openIn(kv: KeyValues, job: string): Promise<string[]> {
  const keys = await allKeys(kv, `${REQUEST_PREFIX}${job}:`)
  return keys.map((key) => key.slice(REQUEST_PREFIX.length + job.length + 1))
}

/** Keeps the person for the daemons that do not run. Returns their directories. */
async function keepForLater(kv: KeyValues, job: string, open: readonly string[]): Promise<Dir[]> {
  const person = open.length === 0 ? undefined : (await kv.get(SUBJECT_PREFIX + job))?.value
  if (person === undefined) return []
  await kv.set(LATER_PREFIX + job, person, { ttl: DIR_TTL })
  // A daemon may have come back meanwhile, and handled the last request.
  await forgetIfDone(kv, job)
  return Promise.all(open.map((dir) => infoOf(kv, dir)))
}

async function forgetIfDone(kv: KeyValues, job: string): Promise<void> {
  if ((await openIn(kv, job)).length === 0) await kv.delete(LATER_PREFIX + job)
}

async function infoOf(kv: KeyValues, dir: string): Promise<Dir> {
  return dirSchema.safeParse((await kv.get(DIR_PREFIX + dir))?.value).data ?? { host: 'unknown', lastSeen: 0 }
}

async function filter<T>(items: readonly T[], test: (item: T) => Promise<boolean>): Promise<T[]> {
  const passed = await Promise.all(items.map(test))
  return items.filter((_, at) => passed[at])
}

async function eraseIn(places: readonly Place[], subject: Subject): Promise<void> {
  for (const { where, erase } of places) {
    if (where !== 'data dir') continue
    for await (const _ of erase(subject));
  }
}
