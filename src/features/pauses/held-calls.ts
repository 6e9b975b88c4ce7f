import type { KeyValues } from '../../core/store.ts'
import { DAY, MINUTE } from '../../core/units.ts'

/** Prefix of the keys of jobs that wait because their run called a paused skill. */
const PREFIX = 'held-call:'
/** How long (ms) a key is kept. A job that waits longer runs to its call once more. */
const RETENTION_MS = 30 * DAY
/** Maximum number of jobs that are known. Others run to their call once more at each check. */
const MOST = 50_000
const PAGE = 1_000
/** How long (ms) an own entry counts although a list of keys, read meanwhile, lacks it. */
const RECENT = MINUTE

export type HeldCalls = ReturnType<typeof createHeldCalls>

/**
 * The jobs whose runs called a paused skill, and which wait until it is resumed. A job is named by its
 * id, in dispatch by that of its message. The keys in the store are shared by all daemons; the copy in
 * memory is as old as the last `refresh`.
 */
export function createHeldCalls(kv: Pick<KeyValues, 'set' | 'delete' | 'list'>, now: () => number) {
  let known = new Map<string, { skill: string; at: number }>()

  const refresh = async () => {
    const keys: string[] = []
    for (let more = true; more && keys.length < MOST; ) {
      const page = await kv.list(PREFIX, PAGE, keys.at(-1))
      keys.push(...page.items)
      more = page.more
    }
    const recent = [...known].filter(([, { at }]) => at > now() - RECENT)
    known = new Map([...keys.map(entryOf), ...recent])
  }
  const remove = async (jobs: readonly string[]) => {
    const found = jobs.flatMap((job) => {
      const skill = known.get(job)?.skill
      return skill === undefined ? [] : [{ job, skill }]
    })
    await Promise.all(found.map(({ job, skill }) => kv.delete(keyOf(skill, job))))
    for (const { job } of found) known.delete(job)
  }

  return {
    /** The paused skill that a job called. */
    skillOf: (job: string): string | undefined => known.get(job)?.skill,
    areSome: (jobs: readonly string[]) => jobs.some((job) => known.has(job)),
    /** Records that a job waits for a skill. Call it before the job is held. */
    async add(job: string, skill: string): Promise<void> {
      await kv.set(keyOf(skill, job), null, { ttl: RETENTION_MS })
      known.set(job, { skill, at: now() })
    },
    /** Reads the jobs that all daemons have recorded. */
    refresh,
    /** Forgets the jobs that an earlier pause of a skill has left. */
    async clear(skill: string): Promise<void> {
      await refresh()
      await remove([...known].filter(([, one]) => one.skill === skill).map(([job]) => job))
    },
    /** Forgets jobs. Call it before they are released. */
    remove,
  }
}

function keyOf(skill: string, job: string): string {
  return `${PREFIX}${encodeURIComponent(skill)}/${job}`
}

function entryOf(key: string): [string, { skill: string; at: number }] {
  const slash = key.indexOf('/')
  const skill = decodeURIComponent(key.slice(PREFIX.length, slash))
  return [key.slice(slash + 1), { skill, at: 0 }]
}
