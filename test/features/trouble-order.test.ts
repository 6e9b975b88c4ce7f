import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Trouble } from '../../src/core/trouble.ts'
import { inOrder } from '../../src/features/troubles/trouble-order.ts'
import { error, info, warning } from '../../src/features/troubles/trouble-parts.ts'

const text = (title: string, since: number, people?: number, count = 1) => ({
  ...{ title, since, text: '', todo: '', count },
  ...(people !== undefined && { people }),
})

test('people who wait come first, then total outages, then what fails by people and size, then the rest', () => {
  const troubles: Trouble[] = [
    info('paused', { reason: 'contacts' }, text('Route contacts is paused', 3)),
    info('paused', { schedule: 'month-end' }, text('Schedule month-end is paused', 2)),
    error('refusals', { gateway: 'courier' }, text('Gateway courier refuses every delivery', 9)),
    warning('group-stalled', { group: 'search' }, text('Group search has no reader', 9, undefined, 527)),
    warning('schedule-failed', { schedule: 'ledger' }, text('Schedule ledger fails', 1)),
    error('dead-letters', { group: 'orders' }, text('9 dead letters of orders', 8, 9)),
    error('dead-letters', { group: 'payments' }, text('6 dead letters of payments', 7, 5)),
    error('subscription-down', { subscription: 'crm' }, text('Push crm fails', 2)),
    error('store-down', {}, text('The store does not accept messages', 10)),
    warning('retrying', { gateway: 'shop' }, text('6 messages are tried again', 5, 6)),
    info('refusals', { gateway: 'shop' }, text('Gateway shop accepts deliveries again', 4)),
    warning('approval-waiting', {}, text('14 requests wait for an approval', 6)),
    warning('unanswered', {}, text('4 people wait for an answer from a person', 5)),
    warning('paused', { reason: 'restore' }, text('Everything is paused', 11)),
  ]
  assert.deepEqual(
    inOrder(troubles).map(({ title }) => title),
    [
      'Everything is paused',
      '4 people wait for an answer from a person',
      '14 requests wait for an approval',
      'The store does not accept messages',
      'Push crm fails',
      'Gateway courier refuses every delivery',
      '9 dead letters of orders',
      '6 messages are tried again',
      '6 dead letters of payments',
      'Group search has no reader',
      'Schedule ledger fails',
      'Gateway shop accepts deliveries again',
      'Schedule month-end is paused',
      'Route contacts is paused',
    ],
  )
})
