import { objectsIn, pathGet, toJson } from '../core/json.ts'
import type { Pauses } from '../features/pauses/pauses.ts'
import type { SkillManager } from '../runtime/manager.ts'

/** How long (ms) the callers of a skill are cached: a draft is explained while somebody types. */
const LIFETIME = 15_000
/** Maximum number of pending requests that are examined. */
const MAX_REQUESTS = 1_000
/** Maximum number of skills whose callers are read for one paused skill. */
const MAX_SKILLS = 20

/**
 * Makes the function that finds the pauses of the skills that a skill calls, itself or through
 * others: then its run waits. Calls are known from earlier runs and from pending requests.
 */
export function createCalledPauses(
  { invoke }: Pick<SkillManager, 'invoke'>,
  { list }: Pick<Pauses['view'], 'list'>,
  now: () => number,
) {
  const known = new Map<string, { at: number; callers: Promise<string[]> }>()
  const callersOf = (skill: string): Promise<string[]> => {
    const last = known.get(skill)
    if (last && now() - last.at < LIFETIME) return last.callers
    const callers = readCallers(invoke, skill).catch(() => [])
    known.set(skill, { at: now(), callers })
    return callers
  }
  /** Whether runs of `skill` lead to calls of `called`. */
  const calls = async (skill: string, called: string): Promise<boolean> => {
    const seen = new Set([called])
    for (const name of seen) {
      for (const caller of await callersOf(name)) seen.add(caller)
      if (seen.has(skill)) return true
      if (seen.size > MAX_SKILLS) return false
    }
    return false
  }
  return async (skill: string) => {
    const pauses = list().filter(({ kind, name }) => kind === 'skill' && name !== skill)
    if (pauses.length === 0) known.clear()
    const found = await Promise.all(
      pauses.map(async (pause) => ((await calls(skill, pause.name)) ? [pause] : [])),
    )
    return found.flat()
  }
}

/** The skills that called a skill, and those whose requests for it are pending. */
async function readCallers(invoke: SkillManager['invoke'], name: string): Promise<string[]> {
  const [usage, requests] = await Promise.all([
    invoke('skill-usage', { name, limit: 1 }),
    invoke('approval-list', { status: 'pending', limit: MAX_REQUESTS }),
  ])
  const ran = objectsIn(pathGet(toJson(usage), 'callers')).flatMap(
    ({ by }) => /^skill (.+)$/.exec(String(by))?.[1] ?? [],
  )
  const asking = objectsIn(toJson(requests)).flatMap(({ skill, calledBy }) =>
    skill === name && typeof calledBy === 'string' ? [calledBy] : [],
  )
  return [...new Set([...ran, ...asking])]
}
