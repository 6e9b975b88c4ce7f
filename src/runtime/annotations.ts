import type { Skill } from '../core/skill.ts'
import { createNameMatcher } from './names.ts'

/** Skills that a model run may safely repeat after a crash; `gateway-send` deduplicates by its own keys. */
const READS = createNameMatcher(
  '*-list *-show state-get state-wait recall search-notes workbench-get refused gateway-traffic event-groups cost skill-usage slack-installs',
)
const REPEATS = createNameMatcher(
  'state-set state-delete gateway-send event-subscribe event-unsubscribe forget',
)
/** Irreversible skills, for which interfaces ask for confirmation. */
const DESTROYS = createNameMatcher(
  '*-delete *-drop dead-letter-bulk slack-installs-remove event-seek event-unsubscribe callback-release forget approval-decide subscription-replay event-replay person-erase send-cancel run-cancel job-cancel',
)

/** Adds the hints of MCP about what a skill does. */
export function annotated(skill: Skill): Skill {
  const { name, metadata } = skill
  const hints = {
    ...(READS.matches(name) && { readOnlyHint: true }),
    ...(REPEATS.matches(name) && { idempotentHint: true }),
    ...(DESTROYS.matches(name) && { destructiveHint: true }),
  }
  return Object.keys(hints).length > 0 ? { ...skill, metadata: { ...metadata, annotations: hints } } : skill
}
