const SHOPIFY_ORDER = {
  id: 4711,
  name: '#1001',
  email: 'ada@example.com',
  total_price: '20.00',
  currency: 'EUR',
  line_items: [{ sku: 'ESPRESSO-250', title: 'Espresso', quantity: 2, price: '10.00' }],
}

/**
 * Examples of what providers send, by the `scheme` of a gateway. `headers`: those
 * from which Trivium reads the type of an event, and by which routes match.
 */
const SAMPLES = {
  github: [
    sample(
      'push',
      { 'x-github-event': 'push' },
      {
        ref: 'refs/heads/main',
        repository: { full_name: 'example/shop' },
        pusher: { name: 'ada' },
        commits: [{ id: 'b1946ac92492d2347c6235b4d2611184', message: 'Show the price with tax' }],
      },
    ),
    sample(
      'issues: opened',
      { 'x-github-event': 'issues' },
      {
        action: 'opened',
        issue: { number: 7, title: 'The cart is empty', user: { login: 'ada' } },
        repository: { full_name: 'example/shop' },
      },
    ),
    sample('ping', { 'x-github-event': 'ping' }, { zen: 'Keep it logically awesome.', hook_id: 1 }),
  ],
  gitlab: [
    sample(
      'push',
      { 'x-gitlab-event': 'Push Hook' },
      {
        object_kind: 'push',
        ref: 'refs/heads/main',
        user_username: 'ada',
        project: { path_with_namespace: 'example/shop' },
      },
    ),
    sample(
      'merge request',
      { 'x-gitlab-event': 'Merge Request Hook' },
      {
        object_kind: 'merge_request',
        user: { username: 'ada' },
        object_attributes: { iid: 7, action: 'open', title: 'Show the price with tax' },
      },
    ),
  ],
  stripe: [
    sample(
      'payment_intent.succeeded',
      {},
      {
        id: 'evt_test_1',
        type: 'payment_intent.succeeded',
        data: { object: { id: 'pi_test_1', amount: 2000, currency: 'eur', status: 'succeeded' } },
      },
    ),
    sample(
      'charge.refunded',
      {},
      {
        id: 'evt_test_2',
        type: 'charge.refunded',
        data: { object: { id: 'ch_test_1', amount: 2000, amount_refunded: 2000, currency: 'eur' } },
      },
    ),
    sample(
      'invoice.payment_failed',
      {},
      {
        id: 'evt_test_3',
        type: 'invoice.payment_failed',
        data: { object: { id: 'in_test_1', amount_due: 900, attempt_count: 1, customer: 'cus_test_1' } },
      },
    ),
  ],
  shopify: [
    sample('orders/create', shopifyHeaders('orders/create'), SHOPIFY_ORDER),
    sample('orders/paid', shopifyHeaders('orders/paid'), { ...SHOPIFY_ORDER, financial_status: 'paid' }),
    sample('customers/update', shopifyHeaders('customers/update'), {
      id: 7064,
      email: 'ada@example.com',
      first_name: 'Ada',
      last_name: 'Biller',
      state: 'enabled',
      verified_email: true,
      tags: 'loyal',
      currency: 'EUR',
    }),
    sample('refunds/create', shopifyHeaders('refunds/create'), {
      id: 12,
      order_id: 4711,
      note: 'arrived broken',
    }),
  ],
  slack: [
    sample(
      'app_mention',
      {},
      {
        type: 'event_callback',
        team_id: 'T0EXAMPLE',
        event_id: 'Ev0EXAMPLE',
        event: { type: 'app_mention', user: 'U0EXAMPLE', text: '<@U0BOT> hello', channel: 'C0EXAMPLE' },
      },
    ),
  ],
  meta: [
    sample(
      'WhatsApp message',
      {},
      {
        object: 'whatsapp_business_account',
        entry: [
          {
            id: '1',
            changes: [
              {
                field: 'messages',
                value: {
                  messages: [{ id: 'wamid.1', from: '491700000000', type: 'text', text: { body: 'Hello' } }],
                },
              },
            ],
          },
        ],
      },
    ),
  ],
  telegram: [
    sample(
      'message',
      {},
      {
        update_id: 1,
        message: {
          message_id: 1,
          from: { id: 7, first_name: 'Ada' },
          chat: { id: 7, type: 'private' },
          text: 'Hello',
        },
      },
    ),
  ],
  linear: [
    sample(
      'Issue created',
      { 'linear-event': 'Issue' },
      {
        action: 'create',
        type: 'Issue',
        data: { id: 'a1', title: 'The cart is empty', priority: 2 },
      },
    ),
  ],
  sentry: [
    sample(
      'issue created',
      { 'sentry-hook-resource': 'issue' },
      {
        action: 'created',
        data: { issue: { id: '1', title: 'TypeError: price is undefined', level: 'error' } },
      },
    ),
  ],
  pagerduty: [
    sample(
      'incident.triggered',
      {},
      {
        event: {
          id: '01',
          event_type: 'incident.triggered',
          data: { id: 'P1', title: 'Checkout is down', urgency: 'high' },
        },
      },
    ),
  ],
  typeform: [
    sample(
      'form_response',
      {},
      {
        event_id: '1',
        event_type: 'form_response',
        form_response: { form_id: 'a1', answers: [{ type: 'text', text: 'Hello' }] },
      },
    ),
  ],
}

/** For gateways without a provider, or with one that has no samples here. */
const ANY = [
  sample('JSON with a type', {}, { type: 'order.paid', id: 'order-4711', amount: 20, currency: 'EUR' }),
  sample('JSON list', {}, [
    { id: 1, name: 'Espresso' },
    { id: 2, name: 'Filter' },
  ]),
  { name: 'plain text', headers: {}, text: 'Hello' },
]

function shopifyHeaders(topic) {
  return { 'x-shopify-topic': topic, 'x-shopify-shop-domain': 'example.myshopify.com' }
}

function sample(name, headers, body) {
  return { name, headers, text: JSON.stringify(body, null, 2) }
}

/** The first values of a test at a gateway: a sample of its provider, or what its first route wants. */
export function usualValues(about, routes) {
  const [first] = about?.transport === 'webhook' ? samplesFor(about, routes) : []
  return first ? valuesOfSample(first) : { text: 'Hello' }
}

/** A name without glob or expression, as `match` has it. */
const EXACT = /^[\w.:-]+$/

/** What the routes of a webhook gateway want, as far as they name events. */
function samplesOfRoutes({ name }, routes = []) {
  const wanted = routes.flatMap(({ match = {} }) =>
    [match.gateway].flat().includes(name) ? match.event : [],
  )
  const events = [...new Set(wanted.flat())].filter((event) => EXACT.test(event))
  return events.map((event) => sample(event, {}, { type: event }))
}

/** The values of a form that is filled in with a sample. */
export function valuesOfSample({ text, headers }) {
  return { text, headers: Object.keys(headers).length > 0 ? JSON.stringify(headers, null, 2) : '' }
}

/** The samples for a gateway: its provider's, or those of its routes and general ones. */
export function samplesFor(about = {}, routes) {
  if (about.transport === 'webhook')
    return SAMPLES[about.scheme] ?? [...samplesOfRoutes(about, routes), ...ANY]
  return [
    { name: 'a question', headers: {}, text: 'Where is my order 4711?' },
    { name: 'a word for help', headers: {}, text: 'help' },
  ]
}
