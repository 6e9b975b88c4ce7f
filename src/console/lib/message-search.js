import { signal } from '@preact/signals'
import { OUTCOME_FILTERS } from '../../lib/outcomes.ts'
import { invoke } from './api.js'
import { html } from './html.js'
import { now } from './live.js'
import { SearchBox } from './search-box.js'

/** Ages and times that `after:` and `before:` suggest. */
const TIMES = ['15m', '1h', '24h', '7d', 'today', 'yesterday']

/** The names of the routes, read when somebody first searches. */
const routes = signal()

function routeNames() {
  if (routes.value === undefined) {
    routes.value = []
    invoke('route-list').then(
      (found) => {
        routes.value = found.map(({ name }) => name)
      },
      () => undefined,
    )
  }
  return routes.value
}

export function gatewayNames() {
  return (now.value?.gateways ?? []).map(({ name }) => name)
}

/** The same keys as SEARCH_KEYS in src/core/search-words.ts. */
const FIELDS = [
  { key: 'from', example: 'ada', about: 'part of the id, name or address of the sender' },
  { key: 'status', example: 'dead,retrying', about: 'its outcome', values: () => OUTCOME_FILTERS },
  { key: 'gateway', example: 'shop', about: 'its gateway', values: gatewayNames },
  { key: 'route', example: 'orders', about: 'the route that took it', values: routeNames },
  { key: 'transport', example: 'webhook', about: 'its transport', values: transports },
  { key: 'conversation', about: 'the id of its conversation' },
  { key: 'event', example: 'order.paid', about: 'the name of its event, for webhooks and Slack' },
  { key: 'attempts', example: '>1', about: 'how many attempts at it have ended: 2, >1, <2' },
  {
    key: 'error',
    example: '"bad gateway"',
    about: 'part of the error of one of its attempts, or of its reply',
  },
  {
    key: 'after',
    example: '2h',
    about:
      'since a time or an age: after:2026-11-21T10:00, after:"yesterday 14:00"; in a range: after:"yesterday 14-15"',
    values: () => TIMES,
  },
  { key: 'before', example: 'yesterday', about: 'before a time', values: () => TIMES },
]

function transports() {
  return (now.value?.gateways ?? []).map(({ transport }) => transport).filter(Boolean)
}

const WORDS = [
  [
    'refund "out of stock" olsen',
    'in the subject, the text (for most webhooks the body), the sender or the event, each of them',
  ],
  ['4711', 'this number; as "4711" in longer ones too'],
  ['0bb2a29d', 'a message id or its end, or an idempotency key'],
  ['-gateway:team', 'not of this gateway; so with -status:done, -route:, -from: and others'],
]
const ALSO = html` The same words work in <code>trivium message list --search</code>.`

/** The search field of messages, with the words of `message list --search`. */
export function MessageSearch({ value, set, focus, toRows, label = 'Search messages' }) {
  return html`<${SearchBox} ...${{ value, set, focus, toRows, label }} placeholder="Search: words, from:, status: …  /" fields=${FIELDS} words=${WORDS} also=${ALSO} />`
}
