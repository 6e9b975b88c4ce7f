/** The role of people who may see everything in the console and change nothing. */
export const VIEWER = 'viewer'

/** The skills that a viewer may invoke: built-in ones that only read, by their whole names. State of skills may hold secrets. */
export const VIEWER_SKILLS: readonly string[] = [
  'approval-list',
  'audit-list',
  'call-list',
  'conversation-list',
  'conversation-show',
  'cost',
  'dead-letter-groups',
  'dead-letter-list',
  'dead-letter-show',
  'delegation-list',
  'gateway-list',
  'job-list',
  'job-show',
  'message-list',
  'message-search',
  'message-show',
  'pause-list',
  'refused',
  'route-list',
  'schedule-list',
  'send-list',
  'session-list',
  'skill-usage',
  'slack-installs',
  'subscription-list',
  'subscription-show',
  'troubles',
  'workbench-get',
]
