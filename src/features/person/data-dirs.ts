import { hash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Log } from '../../core/log.ts'
import type { KeyValues } from '../../core/store.ts'
import type { JobTools } from '../../engine/long-work.ts'
import { repeat } from '../../lib/loop.ts'
import { pause } from '../../lib/pause.ts'
import { fromStored, type Person, personSchema, SUBJECT } from './person.ts'
import type { Place, Subject } from './place.ts'

export type DataDirs = ReturnType<typeof createDataDirs>

/** Each daemon registers its data directory. One that has not been seen for a week does not hold up a job. */
const DIR = 'data-dir:'
const DIR_KEPT = 7 * 86_400_000
const SAY_EVERY = 3_600_000
/** A job's request to each data directory, until its daemon has handled it: `<job>:<dir>`. */
const WANTED = 'person-erase-dir:'
const LOOK_EVERY = 3_000
const MOST = 10_000

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
  let said = Number.NEGATIVE_INFINITY
  const look = async () => {
    if (deps.now() - said > SAY_EVERY) {
      await kv.set(DIR + own, { host: hostname(), at: deps.now() }, { ttl: DIR_KEPT })
      said = deps.now()
    }
    const wanted = (await kv.list(WANTED, MOST)).filter((key) => key.endsWith(`:${own}`))
    for (const key of wanted) {
      const job = key.slice(WANTED.length, -own.length - 1)
      const stored = personSchema.safeParse((await kv.get(SUBJECT + job))?.value).data
      if (stored) await eraseIn(places, deps.subjectOf(fromStored(stored)))
      await kv.delete(key)
    }
  }
  const loop = repeat(look, LOOK_EVERY, 'erasing in this data directory', deps.log)

  return {
    start: loop.start,
    stop: loop.stop,
    /** Resolves when all others are done. */
    async eraseOthers(job: string, { save, signal }: JobTools): Promise<void> {
      if (!deps.isShared) return
      const others = (await kv.list(DIR, MOST))
        .map((key) => key.slice(DIR.length))
        .filter((dir) => dir !== own)
      if (others.length === 0) return
      for (const dir of others) await kv.set(`${WANTED}${job}:${dir}`, true, { ttl: DIR_KEPT })
      for (;;) {
        signal.throwIfAborted()
        const left = await kv.list(`${WANTED}${job}:`, MOST)
        if (left.length === 0) return
        await save({ at: `the data directories of ${left.length} other daemons` })
        await pause(LOOK_EVERY / 3, signal)
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
