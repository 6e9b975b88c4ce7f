import { hash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Log } from '../../core/log.ts'
import type { KeyValues } from '../../core/store.ts'
import { DAY, HOUR } from '../../core/units.ts'
import type { JobTools } from '../../engine/long-work.ts'
import { repeat } from '../../lib/loop.ts'
import { pause } from '../../lib/pause.ts'
import { fromStored, type Person, personSchema, SUBJECT_PREFIX } from './person.ts'
import type { Place, Subject } from './place.ts'

export type DataDirs = ReturnType<typeof createDataDirs>

/** Key prefix of data directories, which their daemons register. */
const DIR_PREFIX = 'data-dir:'
/** A data directory that was not registered for this time (ms) does not hold up a job any more. */
const DIR_TTL = 7 * DAY
const REGISTER_INTERVAL = HOUR
/** Key prefix of the requests of jobs to data directories: `<job>:<dir>`. A daemon deletes a request that it has handled. */
const REQUEST_PREFIX = 'person-erase-dir:'
/** Interval (ms) at which daemons look for requests. */
const POLL_INTERVAL = 3_000
/** Maximum number of data directories and of requests. */
const MAX_LISTED = 10_000

/** Erases in the data directories of other daemons: each daemon does its own. */
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
  const { kv, places } = deps
  const own = hash('sha256', `${hostname()}:${realpathSync(deps.dataDir)}`).slice(0, 16)
  let registeredAt = Number.NEGATIVE_INFINITY
  const register = async () => {
    if (deps.now() - registeredAt <= REGISTER_INTERVAL) return
    await kv.set(DIR_PREFIX + own, { host: hostname(), at: deps.now() }, { ttl: DIR_TTL })
    registeredAt = deps.now()
  }
  const poll = async () => {
    await register()
    const requests = (await kv.list(REQUEST_PREFIX, MAX_LISTED)).filter((key) => key.endsWith(`:${own}`))
    for (const key of requests) {
      const job = key.slice(REQUEST_PREFIX.length, -own.length - 1)
      const stored = personSchema.safeParse((await kv.get(SUBJECT_PREFIX + job))?.value).data
      if (stored) await eraseIn(places, deps.subjectOf(fromStored(stored)))
      await kv.delete(key)
    }
  }
  const loop = repeat(poll, POLL_INTERVAL, 'erasing in this data directory', deps.log)

  return {
    start: loop.start,
    stop: loop.stop,
    /** Resolves when the daemons of all other data directories have erased the person of a job. */
    async eraseOthers(job: string, { save, signal }: JobTools): Promise<void> {
      if (!deps.isShared) return
      const others = (await kv.list(DIR_PREFIX, MAX_LISTED))
        .map((key) => key.slice(DIR_PREFIX.length))
        .filter((dir) => dir !== own)
      if (others.length === 0) return
      for (const dir of others) await kv.set(`${REQUEST_PREFIX}${job}:${dir}`, true, { ttl: DIR_TTL })
      for (;;) {
        signal.throwIfAborted()
        const open = await kv.list(`${REQUEST_PREFIX}${job}:`, MAX_LISTED)
        if (open.length === 0) return
        await save({ at: `the data directories of ${open.length} other daemons` })
        await pause(POLL_INTERVAL / 3, signal)
      }
    },
  }
}

async function eraseIn(places: readonly Place[], subject: Subject): Promise<void> {
  for (const { where, erase } of places) {
    if (where !== 'data dir') continue
    for await (const _ of erase(subject));
  }
}
