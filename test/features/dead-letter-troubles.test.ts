import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLetterCauses } from '../../src/api/letter-causes.ts'
import type { DeadLetter, LetterFilter } from '../../src/core/store.ts'
import { HOUR, MINUTE } from '../../src/core/units.ts'
import { deadLetterTroubles } from '../../src/features/troubles/dead-letter-troubles.ts'
import type { Retrying } from '../../src/features/troubles/one-cause.ts'
import { messageOf } from '../runtime/support/message.ts'

const NOW = Date.parse('2026-11-29T09:00:00Z')

/** Dead letters of a queue and group with the same error; `ages`: ms before now. */
function letters(
  queue: string,
  group: string,
  error: string,
  ages: readonly number[],
  rest: Partial<DeadLetter> = {},
): DeadLetter[] {
  return ages.map((age, index) => {
    const at = NOW - age
    const errors = [{ at, code: 'skill_failed', message: error }]
    return {
      id: `${group}-${error}-${index}`,
      queue,
      group,
      lane: '',
      at,
      errors,
      reason: 'attempts',
      ...rest,
    }
  })
}

/** A store with these dead letters. */
function storeWith(all: readonly DeadLetter[]) {
  const sorted = all.toSorted((a, b) => b.at - a.at || b.id.localeCompare(a.id))
  const queues = Map.groupBy(sorted, ({ queue }) => queue)
  const jobs = [...queues].map(([queue, own]) => ({
    queue,
    waiting: 0,
    running: 0,
    dead: own.length,
    ...(own.at(-1) && { deadAt: own.at(-1)?.at ?? 0 }),
  }))
  let reads = 0
  const list = async ({ before, limit }: LetterFilter) => {
    reads++
    const from = before ? sorted.findIndex(({ id }) => id === before.id) + 1 : 0
    return { items: sorted.slice(from, from + limit), more: sorted.length > from + limit }
  }
  const stats = {
    journal: { messages: 0 },
    receive: { ready: 0, leased: 0, lost: {} },
    dispatch: { unpumped: 0 },
    jobs,
  }
  return { list, stats, reads: () => reads }
}

async function troublesOf(all: readonly DeadLetter[], retrying: readonly Retrying[] = []) {
  const { list, stats } = storeWith(all)
  const causes = await createLetterCauses({ list }, () => NOW)(stats)
  return deadLetterTroubles({ stats, causes, schedules: [] }, NOW, retrying)
}

test('each cause of dead letters is a trouble since its own beginning, the one that grows first', async () => {
  const found = await troublesOf([
    ...letters('dispatch', 'labels', 'Skill render failed: the address has no street', [
      44 * HOUR,
      30 * HOUR,
      8 * HOUR,
    ]),
    ...letters('dispatch', 'orders', 'Skill confirm failed: SKU 4711 is not in the catalogue', [
      80 * MINUTE,
      40 * MINUTE,
      5 * MINUTE,
    ]),
    ...letters('dispatch', 'orders', 'Skill confirm failed: customs answered 502', [10 * MINUTE]),
  ])
  assert.deepEqual(
    found.map(({ title, count, since }) => [title, count, NOW - (since ?? 0)]),
    [
      ['3 dead letters of orders', 3, 80 * MINUTE],
      ['1 dead letter of orders', 1, 10 * MINUTE],
      ['3 dead letters of labels', 3, 44 * HOUR],
    ],
  )
  assert.equal(found[0]?.text, 'SKU 4711 is not in the catalogue. Last failure 08:55 UTC.')
  assert.partialDeepStrictEqual(found[0]?.where, { queue: 'dispatch', group: 'orders', code: 'skill_failed' })
  assert.equal(new Set(found.map(({ key }) => key)).size, 3)
})

test('a cause began with its first failed attempt, which may be long before its first dead letter', async () => {
  const errors = [23, 9, 5].map((age) => ({
    at: NOW - age * MINUTE,
    code: 'skill_failed',
    message: 'no street',
  }))
  const [found] = await troublesOf(letters('dispatch', 'labels', '', [5 * MINUTE, 4 * MINUTE], { errors }))
  assert.equal(found?.text, 'no street. Last failure 08:56 UTC.')
  assert.equal(NOW - (found?.since ?? 0), 23 * MINUTE)
})

test('a retry that failed again does not make a trouble young or growing', async () => {
  const retriedAt = NOW - 4 * MINUTE
  const found = await troublesOf([
    ...letters('dispatch', 'orders', 'Skill confirm failed: customs answered 502', [10 * MINUTE]),
    ...letters('outbox', 'support', 'no such mailbox', [4 * MINUTE], { firstAt: NOW - 8 * HOUR, retriedAt }),
    ...letters('dispatch', 'labels', 'no street', [3 * MINUTE, 2 * MINUTE], {
      firstAt: NOW - 44 * HOUR,
      retriedAt,
    }),
  ])
  assert.deepEqual(
    found.map(({ text, since }) => [text, NOW - (since ?? 0)]),
    [
      ['customs answered 502.', 10 * MINUTE],
      [
        'no street. Last failure 2026-11-27 13:00 UTC. One was retried at 08:56 UTC and failed again.',
        44 * HOUR,
      ],
      ['no such mailbox. It was retried at 08:56 UTC and failed again.', 8 * HOUR],
    ],
  )
})

test('one cause is one trouble, with its other routes and the messages that are tried again', async () => {
  const error = 'Skill ship failed: the carrier answered 500 for order'
  const from = (id: string, age: number) => ({
    message: messageOf({ from: { id }, receivedAt: NOW - age }),
  })
  const orders = [
    ...letters('dispatch', 'orders', `${error} 12`, [20 * MINUTE], from('renee@example.com', 30 * MINUTE)),
    ...letters('dispatch', 'orders', `${error} 13`, [9 * MINUTE], from('lea@example.com', 10 * MINUTE)),
  ]
  const retrying: Retrying = {
    road: 'dispatch',
    gateway: 'shop',
    state: 'retrying',
    oldestAt: NOW - 40 * MINUTE,
    nextAt: NOW + 5 * MINUTE,
    count: 6,
    failure: { messageId: 'm1', route: 'returns', error: `${error} 99` },
    people: [
      { from: { id: 'ana@example.com' }, gateway: 'chat', since: NOW - 40 * MINUTE, messageId: 'm1' },
      { from: { id: 'lea@example.com' }, gateway: 'chat', since: NOW - 5 * MINUTE, messageId: 'm2' },
    ],
  }
  const other = { ...retrying, failure: { messageId: 'm3', route: 'returns', error: 'no label' } }
  const found = await troublesOf(orders, [retrying, other])
  assert.equal(found.length, 1)
  assert.equal(found[0]?.title, '2 dead letters of orders, and 6 messages of returns are tried again')
  assert.equal(
    found[0]?.text,
    'the carrier answered 500 for order … 3 people wait, ana@example.com since 08:20 UTC. Last failure 08:51 UTC. The next attempt is at 09:05 UTC.',
  )
  assert.equal(found[0]?.count, 8)

  const [both] = await troublesOf([
    ...orders,
    ...letters('dispatch', 'returns', `${error} 14`, [MINUTE], from('10.0.0.7', HOUR)),
  ])
  assert.equal(both?.title, '3 dead letters of orders and returns')
  assert.equal(both?.where.group, undefined)
  assert.doesNotMatch(both?.todo ?? '', /--route/)
  assert.match(both?.text ?? '', /2 people wait, renee@example\.com since 08:30 UTC\./)
})

test('the command of a cause has its error, and leaves out other causes with the same route and code', async () => {
  const found = await troublesOf([
    ...letters('dispatch', 'orders', 'Skill confirm failed: SKU 4711 is not in the catalogue', [HOUR]),
    ...letters('dispatch', 'orders', "Skill confirm failed: customs: didn't answer; it is too busy", [HOUR]),
    ...letters('dispatch', 'labels', 'Skill render failed: the address has no street', [HOUR]),
    ...letters(
      'dispatch',
      'mails',
      "Can't send mail - all recipients were rejected: 550 unknown user here, sorry",
      [HOUR],
    ),
  ])
  const commands = found.map(({ where, todo }) => [where.group, todo.split('`')[1]])
  const start = 'trivium dead-letter list --queue dispatch'
  assert.deepEqual(commands.toSorted(), [
    ['labels', `${start} --route labels --code skill_failed --error 'the address has no street'`],
    [
      'mails',
      `${start} --route mails --code skill_failed --error 'send mail - all recipients were rejected'`,
    ],
    ['orders', `${start} --route orders --code skill_failed --error 'is not in the catalogue'`],
    ['orders', `${start} --route orders --code skill_failed --error 'it is too busy'`],
  ])
  for (const { todo } of found) {
    const [, list = '', , retry] = todo.split('`')
    assert.equal(retry, list.replace('dead-letter list', 'dead-letter retry --all'))
  }
  assert.ok(found.every(({ todo }) => todo.split(/[.;:]\s+/).length === 2))
})

test('replies that were not delivered are a trouble that names their recipients', async () => {
  const error = 'Gateway support permanently rejected the message: 550 no such mailbox'
  const to = (address: string) => ({ data: { to: address, text: 'Hello' } })
  const [found] = await troublesOf([
    ...letters('outbox', 'support', error, [HOUR], to('halldis@example.com')),
    ...letters('outbox', 'support', error, [2 * HOUR], to('omar@example.com')).map((one) => ({
      ...one,
      id: 'omar',
    })),
  ])
  assert.equal(found?.title, '2 replies of support were not delivered')
  assert.match(found?.text ?? '', /^To halldis@example\.com, omar@example\.com: 550 no such mailbox\./)
})

test('beyond five causes the others are one trouble, and so are letters that were not read', async () => {
  const many = 'abcdefg'
    .split('')
    .flatMap((name, at) => letters('dispatch', name, `broken ${name}`, [(at + 1) * MINUTE]))
  const found = await troublesOf(many)
  assert.deepEqual(
    found.map(({ title }) => title),
    ['a', 'b', 'c', 'd', 'e']
      .map((name) => `1 dead letter of ${name}`)
      .concat('2 more dead letters of 2 other causes'),
  )
  assert.equal(found.at(-1)?.since, NOW - 7 * MINUTE)
  const ages = Array.from({ length: 1_200 }, (_, at) => at * MINUTE)
  const deep = await troublesOf(letters('dispatch', 'orders', 'broken', ages))
  assert.deepEqual(
    deep.map(({ title }) => title),
    ['1000 dead letters of orders', '200 more dead letters'],
  )
})

test('runs that an operator cancelled are information, after the failed ones', async () => {
  const message = 'Cancelled by ada: wrong month (message 0190).'
  const cancelled = letters('dispatch', 'ledger', message, [MINUTE]).map((letter) => ({
    ...letter,
    errors: [{ at: NOW, code: 'run_cancelled', message }],
  }))
  const found = await troublesOf([...cancelled, ...letters('dispatch', 'orders', 'broken', [HOUR])])
  assert.deepEqual(
    found.map(({ severity, title }) => [severity, title]),
    [
      ['error', '1 dead letter of orders'],
      ['info', '1 run of ledger was cancelled'],
    ],
  )
  assert.equal(found[1]?.text, 'Cancelled by ada: wrong month.')
})

test('dead letters of test messages are not reported', async () => {
  const tested = { message: messageOf({ data: { replyTarget: { log: true, test: true } } }) }
  const only = letters('dispatch', 'orders', 'broken', [MINUTE], tested)
  assert.deepEqual(await troublesOf(only), [])
  const [found] = await troublesOf([
    ...only,
    ...letters('dispatch', 'orders', 'broken', [2 * MINUTE]).map((one) => ({ ...one, id: 'real' })),
  ])
  assert.equal(found?.count, 1)
})

test('the causes are read again only after a change', async () => {
  const { list, stats, reads } = storeWith(letters('dispatch', 'orders', 'broken', [MINUTE]))
  const read = createLetterCauses({ list }, () => NOW)
  await read(stats)
  const first = reads()
  await read(stats)
  assert.equal(reads(), first + 1, 'only the newest letter')
})
