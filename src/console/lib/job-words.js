import { dateTime } from './parts.js'
import { count } from './troubles.js'

/** Kinds of badges, by the state of the job. */
export const JOB_BADGES = { running: 'busy', done: 'good', failed: 'bad', cancelled: 'dim' }

/** Labels of the kinds of jobs. */
export const KIND_NAMES = {
  replay: 'replay',
  'dead-letters': 'dead letters',
  'person-erase': 'erase a person',
}

/** What a job counts in `done` and `total`. */
const UNITS = { replay: 'event', 'dead-letters': 'dead letter', 'person-erase': 'place' }

/** `3 of 19 places`. */
export function progressOf({ kind, done, total }) {
  const whole = UNITS[kind] ? count(total, UNITS[kind]) : total.toLocaleString('en')
  return `${done.toLocaleString('en')} of ${whole}`
}

/** A description of a job in one line. */
export function aboutJob({ kind, target }) {
  const { topic, group, subscription } = target
  if (kind === 'replay') {
    const receiver = subscription ? `push ${subscription}` : `group ${group}`
    return `Replay ${topic} to ${receiver}, ${rangeOf(target) || 'all retained events'}`
  }
  if (kind === 'dead-letters') {
    const { do: verb, ...filter } = target
    const conditions = Object.entries(filter).map(([key, value]) => `${key} ${shownTime(value)}`)
    const action = `${verb === 'retry' ? 'Retry' : 'Drop'} dead letters`
    return conditions.length > 0 ? `${action}: ${conditions.join(', ')}` : action
  }
  if (kind === 'person-erase') return 'Erase a person'
  return `${kind} ${Object.values(target).join(' ')}`
}

function rangeOf({ since, until, from, to }) {
  const parts = [
    (since ?? from) && `from ${shownTime(since ?? from)}`,
    (until ?? to) && `to ${shownTime(until ?? to)}`,
  ]
  return parts.filter(Boolean).join(' ')
}

/** A time of ISO 8601 in the time of this browser; ids and names unchanged. */
export function shownTime(text) {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? dateTime(new Date(text).getTime()) : String(text)
}

/** What an ended job did, in words. */
export function resultOf({ kind, result, target }) {
  if (kind === 'replay' && result.events !== undefined) {
    const { events, unread = 0, filtered = 0 } = result
    return [
      target.subscription
        ? `${count(events, 'event')} handed to the push ${target.subscription}`
        : `${count(events, 'event')} replayed`,
      unread > 0 && `${count(unread, 'event')} not read yet left in place`,
      filtered > 0 && `${count(filtered, 'event')} left out by its filter`,
    ]
      .filter(Boolean)
      .join(', ')
  }
  if (result.records !== undefined)
    return [
      `${count(result.records, 'record')} ${result.records === 1 ? 'was' : 'were'} erased`,
      ...laterOf(result),
    ].join('; ')
  if (result.count !== undefined)
    return `${count(result.count, 'dead letter')} ${result.count === 1 ? 'was' : 'were'} ${target.do === 'retry' ? 'retried' : 'dropped'}`
  return JSON.stringify(result).slice(0, 200)
}

/** Data directories of daemons that did not run. */
function laterOf({ later = [] }) {
  return later.map(({ host }) => `the data directory on ${host} is erased when its daemon runs again`)
}
