import { createHmac } from 'node:crypto'
import { type Customer, type Facts, TEAM } from './people.ts'
import type { Random } from './random.ts'

/** The webhook gateways of the demo, and how often something comes by each. */
export const HOOKS = [
  { kind: 'github', weight: 12 },
  { kind: 'payments', weight: 22 },
  { kind: 'orders', weight: 18 },
  { kind: 'jobs', weight: 6 },
] as const

export type Hook = (typeof HOOKS)[number]['kind']

type Delivery = { event: string; body: object }

/** What a provider posts: as much of its payload as a person looks at. */
export function deliveryOf(hook: Hook, random: Random, facts: Facts, customer: Customer): Delivery {
  return { github, payments, orders, jobs }[hook](random, facts, customer)
}

const COMMITS = [
  'Fix the rounding of totals in Swiss francs',
  'Show the roast date on the label',
  'Retry the tax service after a timeout',
  'Upgrade the checkout to the new address form',
  'Add Wrocław to the delivery zones',
  'Remove the old newsletter pop-up, nobody liked it',
  'Übersetzungen für die Mahlgrade',
]
const ISSUES = [
  'Basket forgets the grind size',
  'Search finds no “Kochere” without accent',
  'Payment page is blank in Safari 19',
  'Emails in Japanese arrive as question marks',
  'Stock goes below zero when two people buy the last one',
]

function github(random: Random, { count, version }: Facts): Delivery {
  const { name } = random.pick(TEAM)
  const sender = { login: name.split(' ')[0]?.toLowerCase() }
  const repository = { full_name: `harbour-coffee/${random.pick(['shop', 'roastery', 'labels'])}` }
  const shared = { repository, sender }
  const number = 300 + random.below(400)
  const made: readonly (() => Delivery)[] = [
    () => {
      const commits = Array.from({ length: 1 + random.below(Number(count)) }, () => {
        return { id: hex(random, 40), message: random.pick(COMMITS), author: { name } }
      })
      return { event: 'push', body: { ref: 'refs/heads/main', pusher: { name }, commits, ...shared } }
    },
    () => {
      const issue = { number, title: random.pick(ISSUES), body: `Seen with shop ${version}.` }
      return { event: 'issues', body: { action: random.pick(['opened', 'closed']), issue, ...shared } }
    },
    () => {
      const pull_request = { number, title: random.pick(COMMITS), additions: random.below(400) }
      return {
        event: 'pull_request',
        body: { action: random.pick(['opened', 'synchronize', 'closed']), pull_request, ...shared },
      }
    },
    () => {
      const workflow_run = {
        name: 'tests',
        head_branch: 'main',
        conclusion: random.pick(['success', 'success', 'failure']),
      }
      return { event: 'workflow_run', body: { action: 'completed', workflow_run, ...shared } }
    },
  ]
  return random.pick(made)()
}

const PAYMENT_EVENTS = [
  { type: 'payment_intent.succeeded', weight: 20 },
  { type: 'invoice.paid', weight: 6 },
  { type: 'charge.refunded', weight: 3 },
  { type: 'payment_intent.payment_failed', weight: 3 },
  { type: 'charge.dispute.created', weight: 1 },
]

function payments(random: Random, { order, amount }: Facts, { address, name }: Customer): Delivery {
  const { type } = random.weighted(PAYMENT_EVENTS)
  const cents = Math.round(Number(amount.slice(1)) * 100)
  const object = {
    amount: cents,
    currency: 'eur',
    metadata: { order },
    billing_details: { email: address, name },
  }
  const event = { id: `evt_${hex(random, 24)}`, object: 'event', type, livemode: false }
  return { event: type, body: { ...event, data: { object } } }
}

const ORDER_EVENTS = [
  { event: 'order.created', weight: 12 },
  { event: 'order.packed', weight: 8 },
  { event: 'order.shipped', weight: 8 },
  { event: 'stock.low', weight: 1 },
]

function orders(
  random: Random,
  { order, product, city, amount }: Facts,
  { name, address }: Customer,
): Delivery {
  const { event } = random.weighted(ORDER_EVENTS)
  const items = [{ product, quantity: 1 + random.below(3) }]
  // Somebody always leaves the street out, and then the carrier takes no parcel.
  const street =
    random.below(40) > 0 ? `${random.pick(['Harbour', 'Mill', 'Linden'])} Street ${1 + random.below(90)}` : ''
  const customer = { name, email: address, street, city }
  return { event, body: { id: hex(random, 16), event, order, total: amount, items, customer } }
}

function jobs(random: Random, { order, count }: Facts): Delivery {
  const event = random.pick(['label.print', 'picture.resize', 'newsletter.send'])
  return { event, body: { job: hex(random, 12), event, by: 'back office', order, copies: Number(count) } }
}

function hex(random: Random, length: number): string {
  return Array.from({ length }, () => random.below(16).toString(16)).join('')
}

/** The secrets of the demo. They guard nothing: its gateways listen on loopback, for as long as it runs. */
const SECRETS = {
  github: 'demo-github-secret',
  payments: 'whsec_demo_payments',
  orders: 'demo-orders-secret',
}

/** The request as its provider makes and signs it; a forged one with another secret. */
export function requestOf(hook: Hook, { event, body, forged }: Delivery & { forged: boolean }, at: number) {
  const content = JSON.stringify(body)
  const type = { 'content-type': 'application/json' }
  if (hook === 'jobs') return { headers: type, content }
  const sign = (text: string) =>
    createHmac('sha256', forged ? 'somebody else' : SECRETS[hook])
      .update(text)
      .digest('hex')
  const seconds = Math.floor(at / 1000)
  const signed = {
    github: () => ({
      'x-github-event': event,
      'x-github-delivery': sign(`${content}${at}`).slice(0, 32),
      'x-hub-signature-256': `sha256=${sign(content)}`,
    }),
    payments: () => ({ 'stripe-signature': `t=${seconds},v1=${sign(`${seconds}.${content}`)}` }),
    orders: () => ({ 'x-signature': sign(content) }),
  }
  return { headers: { ...type, ...signed[hook]() }, content }
}
