import { now } from './live.js'

/** The gateway of requests that reached none, such as to a mistyped path. */
export const NO_GATEWAY = '-'

/** The page where a trouble can be handled: `{ path, query }` for `link`. */
export function placeOf(trouble) {
  const { code, where } = trouble
  const { gateway, road } = where
  switch (code) {
    case 'gateway-down':
    case 'messages-lost':
      return { path: ['gateways', gateway] }
    case 'refusals':
      return { path: gateway === NO_GATEWAY ? 'gateways' : ['gateways', gateway] }
    case 'queue-down':
      return { path: 'queues' }
    case 'subscription-down':
    case 'subscription-errors':
    case 'subscription-paused':
      return { path: pathOfPush(where.subscription) }
    case 'group-lag':
    case 'group-stalled':
      return { path: ['queues', where.topic, where.group] }
    case 'dead-letters':
      return { path: 'dead-letters', query: causeIn(where) }
    case 'schedule-failed':
      return { path: 'dead-letters', query: { queue: 'schedules' } }
    case 'backlog':
      // No filter finds the messages that workers have not pulled; the gateway counts them.
      if (road === 'receive') return { path: ['gateways', gateway] }
      return { path: 'messages', query: { gateway, outcome: outcomeOf(road, 'waiting') } }
    case 'retrying':
      return {
        path: 'messages',
        query: { gateway, route: where.group, outcome: outcomeOf(road, 'retrying', 'replying') },
      }
    case 'attempt-hangs':
      if (where.messageId) return { path: ['messages', where.messageId] }
      return { path: 'messages', query: { gateway, outcome: outcomeOf(road, 'running') } }
    case 'unrouted':
      return { path: 'messages', query: { outcome: 'unrouted' } }
    case 'draining':
      return { path: 'messages' }
    case 'approval-waiting':
      return { path: 'approvals' }
    case 'unanswered':
      return { path: 'conversations', query: { show: 'person' } }
    case 'paused':
      return isOfConversations(trouble)
        ? { path: 'conversations', query: { show: 'held' } }
        : { path: 'paused' }
    case 'skill-broken':
      return { path: ['skills', where.skill] }
    case 'mcp-down':
      return { path: 'skills' }
    case 'budget':
      return { path: 'cost', query: usageOf(trouble) }
    default:
      return { path: 'configuration' }
  }
}

/** The usage in the window of a budget such as `20 EUR/30d`: of all by skill, else by sender. */
function usageOf({ title, where: { reason, skill } }) {
  const [, window] = /\/(\d+[smhd])\b/.exec(reason) ?? []
  const isOfSenders = skill || /senders? ha/.test(title)
  return { by: isOfSenders ? 'sender' : 'skill', since: window === '1d' ? '24h' : window, skill }
}

/** The filter of one cause of dead letters; empty if the trouble covers several. */
function causeIn({ queue, group, code, pattern }) {
  return pattern === undefined ? {} : { queue, group, code, pattern }
}

function pathOfPush(name) {
  const push = now.value?.subscriptions?.find((each) => each.name === name)
  return push ? ['queues', push.topic, name] : 'queues'
}

/** The outcome of the messages of a road; undefined if there is none. */
function outcomeOf(road, dispatch, outbox) {
  return { dispatch, outbox }[road]
}

const UTC = /(?:(\d{4}-\d\d-\d\d) )?(\d\d):(\d\d) UTC/g
const DAY = 86_400_000
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const DATE_CLOCK = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

/**
 * A text of the daemon with its times (`23:18 UTC`) in the time zone of this browser. Without a
 * date, the nearest time is meant.
 */
export function withLocalTimes(text, now = Date.now()) {
  return text.replace(UTC, (_, date, hours, minutes) => {
    if (date) return DATE_CLOCK.format(Date.parse(`${date}T${hours}:${minutes}:00Z`))
    const today = new Date(now).setUTCHours(Number(hours), Number(minutes), 0, 0)
    return CLOCK.format(today + Math.round((now - today) / DAY) * DAY)
  })
}

/** What to do, without the parts about the command line: here is a link or a button for each. */
export function withoutCommands(todo) {
  const parts = todo.split(/(?<=[.;:])\s+/).filter((part) => !part.includes('`trivium'))
  const text = parts.join(' ').replace(/[;:]$/, '.')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** `1 dead letter`, `2 dead letters`; with `more`, `100+ messages`. */
export function count(many, what, more = '') {
  return `${many.toLocaleString('en')}${more} ${what}${many === 1 && !more ? '' : 's'}`
}

function isOfConversations({ title }) {
  return title.startsWith('People have taken over')
}
