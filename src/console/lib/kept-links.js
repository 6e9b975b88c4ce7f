import { partsOf } from './person-identity.js'
import { link } from './router.js'

/**
 * Where the records of a place or of one of its kinds are shown, for a person: undefined if the
 * console has no page that shows these alone. `search`: the search for their messages.
 */
export function linkToKept({ who: [identity], search, open = {} }) {
  const { name } = partsOf(identity)
  const approvals = open.approvals > 0 ? { search: name } : { search: name, show: 'decided' }
  const places = {
    messages: ['messages', { search }],
    'messages that wait': ['messages', { search, outcome: 'waiting' }],
    'dead letters': ['messages', { search, outcome: 'dead' }],
    transcript: ['conversations', { search, show: 'all' }],
    'conversation notes': ['conversations', { search, show: 'all' }],
    approvals: ['approvals', approvals],
  }
  return (place, kind) => {
    const target = places[kind] ?? places[place]
    return target && link(...target)
  }
}
