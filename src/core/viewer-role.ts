/**
 * The role of people who change nothing. They see the console, except the state of skills and what
 * is stored about a person (`trivium person`).
 */
export const VIEWER = 'viewer'

/** Why a call of a viewer was refused, and what to do. */
export const VIEWER_LIMIT =
  'viewers cannot change anything; `console: { oidc: { roles } }` lists the operators'

/**
 * The skills that a viewer may invoke: built-in and read-only, by full name. Skills that show the
 * state of other skills are excluded, because the state may contain secrets.
 */
export const VIEWER_SKILLS: readonly string[] = [
  'approval-list',
  'audit-list',
  'call-list',
  'conversation-list',
  'conversation-show',
  'cost',
  'dead-letter-groups',
  'dead-letter-list',
  'dead-letter-retries',
  'dead-letter-show',
  'event-groups',
  'event-list',
  'event-show',
  'event-unread',
  'delegation-list',
  'gateway-list',
  'gateway-show',
  'gateway-traffic',
  'job-items',
  'job-list',
  'job-show',
  'message-attempts',
  'message-durations',
  'message-histogram',
  'message-list',
  'message-search',
  'message-show',
  'pause-list',
  'refused',
  'route-list',
  'schedule-list',
  'schedule-show',
  'send-list',
  'session-list',
  'skill-usage',
  'slack-installs',
  'subscription-list',
  'subscription-show',
  'subscription-waiting',
  'troubles',
  'view-list',
  'workbench-get',
]
