import { objectsIn, pathGet, toJson } from '../core/json.ts'
import { skillPauseText, skillUseOf } from '../lib/skill-pause-text.ts'
import type { SkillManager } from '../runtime/manager.ts'

/** How long (ms) the effect of a pause is cached. */
const LIFETIME = 15_000
/** Maximum number of pending requests that are examined. */
const MAX_REQUESTS = 1_000

/**
 * Makes the function that says what the pause of a skill holds. Undefined if
 * that cannot be read.
 */
export function createSkillPauseEffects({ invoke }: Pick<SkillManager, 'invoke'>, now: () => number) {
  const known = new Map<string, { at: number; text: Promise<string | undefined> }>()
  const read = async (name: string) => {
    const [routes, schedules, usage, requests] = await Promise.all([
      invoke('route-list', {}),
      invoke('schedule-list', {}),
      invoke('skill-usage', { name, limit: 1 }),
      invoke('approval-list', { status: 'pending', limit: MAX_REQUESTS }),
    ])
    const calling = objectsIn(toJson(requests)).filter(({ skill, calledBy }) => skill === name && calledBy)
    const callers = [
      ...objectsIn(pathGet(toJson(usage), 'callers')).map(({ by }) => String(by)),
      ...calling.map(({ calledBy }) => `skill ${calledBy}`),
    ]
    const lists = { routes: objectsIn(toJson(routes)), schedules: objectsIn(toJson(schedules)) }
    return skillPauseText(skillUseOf(name, { ...lists, callers }))
  }
  /** `names`: the paused skills. Others are forgotten. */
  return async (names: readonly string[]): Promise<Map<string, string>> => {
    for (const name of known.keys()) if (!names.includes(name)) known.delete(name)
    const found = names.map(async (name) => {
      const last = known.get(name)
      const isFresh = last !== undefined && now() - last.at < LIFETIME
      const text = isFresh ? last.text : read(name).catch(() => undefined)
      if (!isFresh) known.set(name, { at: now(), text })
      return [name, await text] as const
    })
    const texts = await Promise.all(found)
    return new Map(texts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const])))
  }
}
