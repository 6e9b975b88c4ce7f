import type { Skill } from '../core/skill.ts'
import { createNameMatcher } from './names.ts'

/** Skills that change nothing. */
const READ_ONLY = createNameMatcher(
  '*-list *-show state-get state-wait recall search-notes workbench-get refused gateway-traffic event-groups event-unread cost skill-usage slack-installs ' +
    'person-count person-open message-search message-attempts message-histogram message-durations subscription-waiting dead-letter-groups dead-letter-retries job-items assistant-help',
)
/**
 * Skills that have the same effect when run twice, so that a model run may repeat them after a
 * crash. `gateway-send` deduplicates by its own keys.
 */
const IDEMPOTENT = createNameMatcher(
  'state-set state-delete gateway-send event-subscribe event-unsubscribe forget view-save',
)
/** Irreversible skills, for which interfaces ask for confirmation. */
const DESTRUCTIVE = createNameMatcher(
  '*-delete *-drop dead-letter-bulk slack-installs-remove event-seek event-skip event-unsubscribe callback-release forget approval-decide subscription-replay event-replay person-erase message-erase send-cancel run-cancel job-cancel',
)
/** Skills whose calls each have an effect, but destroy nothing. */
const HARMLESS = createNameMatcher(
  '*-pause *-resume *-add *-claim *-finish *-take *-accept *-create *-settle *-update event-emit event-wait event-ack event-extend ' +
    'gateway-receive gateway-ack gateway-nack gateway-extend gateway-reconnect refused-try message-resend message-retry message-replay subscription-retry ' +
    'callback-wait callback-respond dead-letter-retry person-export remember digest-now delegate work-done schedule-in-words ' +
    'schedule-run remind artifact-save ask-person conversation-note trouble-acknowledge trouble-release',
)

/** Whether a skill is in one of the lists above. A test requires it of each built-in skill. */
export function isClassified(name: string): boolean {
  return [READ_ONLY, IDEMPOTENT, DESTRUCTIVE, HARMLESS].some((list) => list.matches(name))
}

/** Adds the hints of MCP about what a skill does (`ToolAnnotations` of its schema). */
export function withAnnotations(skill: Skill): Skill {
  const { name, metadata } = skill
  const hints = {
    ...(READ_ONLY.matches(name) && { readOnlyHint: true }),
    ...(IDEMPOTENT.matches(name) && { idempotentHint: true }),
    ...(DESTRUCTIVE.matches(name) && { destructiveHint: true }),
    // Without a hint, MCP clients take a tool that changes something for a destructive one.
    ...(HARMLESS.matches(name) && { destructiveHint: false }),
  }
  return Object.keys(hints).length > 0 ? { ...skill, metadata: { ...metadata, annotations: hints } } : skill
}
