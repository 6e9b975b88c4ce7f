/** The page where a trouble can be handled: `{ path, query }` for `link`. */
export function placeOf({ code, where }) {
  const { gateway, road } = where
  switch (code) {
    case 'gateway-down':
    case 'messages-lost':
      return { path: ['gateways', gateway] }
    case 'refusals':
      return { path: gateway === '-' ? 'gateways' : ['gateways', gateway] }
    case 'queue-down':
    case 'subscription-down':
    case 'subscription-paused':
    case 'group-lag':
      return { path: 'queues' }
    case 'dead-letters':
      return { path: 'dead-letters' }
    case 'schedule-failed':
      return { path: 'dead-letters', query: { queue: 'schedules' } }
    case 'backlog':
      return { path: 'messages', query: { gateway, outcome: outcomeOf(road, 'waiting') } }
    case 'retrying':
      return { path: 'messages', query: { gateway, outcome: outcomeOf(road, 'retrying', 'replying') } }
    case 'attempt-hangs':
      return { path: 'messages', query: { gateway, outcome: outcomeOf(road, 'running') } }
    case 'unrouted':
      return { path: 'messages', query: { outcome: 'unrouted' } }
    case 'draining':
      return { path: 'messages' }
    case 'approval-waiting':
      return { path: 'approvals' }
    case 'paused':
      return { path: 'paused' }
    case 'skill-broken':
    case 'mcp-down':
      return { path: 'skills' }
    case 'budget':
      return { path: 'cost' }
    default:
      return { path: 'configuration' }
  }
}

/** The outcome of the messages of a road; undefined if there is none. */
function outcomeOf(road, dispatch, outbox) {
  return { dispatch, outbox }[road]
}

/** `1 dead letter`, `2 dead letters`; with `more`, `100+ messages`. */
export function count(many, what, more = '') {
  return `${many.toLocaleString('en')}${more} ${what}${many === 1 && !more ? '' : 's'}`
}
