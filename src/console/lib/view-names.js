/**
 * Other names of views, by path: the nouns of the command line, and words of similar tools. Their
 * singulars count too.
 */
const NAMES = {
  now: ['home', 'dashboard', 'status', 'troubles', 'problems', 'overview', 'daemon'],
  messages: ['events', 'runs', 'tail', 'search'],
  conversations: ['inbox', 'chats', 'unanswered'],
  'dead-letters': ['dead', 'dlq', 'failed', 'errors', 'letters'],
  approvals: ['requests', 'decisions'],
  queues: ['groups', 'subscriptions', 'pushes', 'webhooks', 'topics', 'consumers', 'calls'],
  gateways: ['refusals', 'transports', 'channels', 'slack'],
  routes: ['routing', 'rules'],
  skills: ['sessions', 'functions', 'workflows'],
  cost: ['costs', 'usage', 'budgets', 'tokens'],
  schedules: ['sends', 'cron', 'crons'],
  paused: ['pauses'],
  jobs: ['replays', 'exports', 'erasures'],
  compose: ['test', 'tests', 'test-message', 'send'],
  people: ['persons', 'senders', 'customers', 'users', 'contacts'],
  audit: ['audits', 'audit-log', 'log', 'history'],
  configuration: ['config', 'settings', 'routes.yaml'],
}

/** Names whose further path parts mean something else than those of the view. */
const ALONE = new Set(['cron', 'crons', 'sends', 'subscriptions', 'pushes', 'events', 'runs', 'refusals'])

/**
 * The path that is intended by one without a view: `#/groups` is `#/queues`, `#/message/ID` is
 * `#/messages/ID`. Undefined if nothing is known by this name.
 */
export function intendedPath([first = '', ...rest]) {
  const names = [first.toLowerCase(), `${first.toLowerCase()}s`]
  const path = Object.keys(NAMES).find((each) =>
    names.some((name) => name === each || NAMES[each].includes(name)),
  )
  if (path === undefined || path === first) return undefined
  return names.some((name) => ALONE.has(name)) ? [path] : [path, ...rest]
}
