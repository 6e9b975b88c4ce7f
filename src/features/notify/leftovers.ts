import { NOTIFY_TOPICS, OPERATIONS_TOPIC } from '../../core/event.ts'
import type { Store } from '../../core/store.ts'
import { MINUTE } from '../../core/units.ts'
import { ruleGroup, ruleState } from './rule.ts'
import { rulePush } from './schema.ts'

/** Minimum interval (ms) between checks. */
const CHECK_INTERVAL = MINUTE
/**
 * How long (ms) an id must be gone from the rules before its data is removed: during an update,
 * daemons have different configurations.
 */
const GONE_FOR = 10 * MINUTE

/**
 * Removes the groups and the state of rules that `notify:` no longer has. Call `check` often; it
 * resolves quickly.
 */
export function createLeftovers(store: Pick<Store, 'kv' | 'topics'>, now: () => number) {
  const goneSince = new Map<string, number>()
  let checkedAt = Number.NEGATIVE_INFINITY

  const remove = async (id: string) => {
    await store.topics.unsubscribe(OPERATIONS_TOPIC, ruleGroup(id))
    await store.topics.unsubscribe(NOTIFY_TOPICS + id, rulePush(id))
    await store.kv.delete(ruleState(id))
  }
  return {
    /** `ids`: those of the current rules. */
    async check(ids: ReadonlySet<string>): Promise<void> {
      const at = now()
      if (Math.abs(at - checkedAt) < CHECK_INTERVAL) return
      checkedAt = at
      const gone = goneRulesIn(await store.topics.groups(), ids)
      for (const id of goneSince.keys()) if (!gone.has(id)) goneSince.delete(id)
      for (const id of gone) {
        const since = Math.min(goneSince.get(id) ?? at, at)
        goneSince.set(id, since)
        if (at - since >= GONE_FOR) await remove(id)
      }
    },
  }
}

type Groups = readonly { topic: string; group: string }[]

/** The ids of rules that have a group, but are not among `ids`. */
function goneRulesIn(groups: Groups, ids: ReadonlySet<string>): Set<string> {
  const found = groups.flatMap(({ topic, group }) => {
    const isMain = topic === OPERATIONS_TOPIC
    const id = isMain ? group.slice(ruleGroup('').length) : topic.slice(NOTIFY_TOPICS.length)
    const isOfRule = isMain ? group === ruleGroup(id) : topic === NOTIFY_TOPICS + id && group === rulePush(id)
    return isOfRule && !ids.has(id) ? [id] : []
  })
  return new Set(found)
}
