import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUnansweredReading, type ListUnanswered } from '../../src/api/unanswered-readings.ts'
import { MINUTE } from '../../src/core/units.ts'
import { createConversations } from '../../src/engine/conversations.ts'
import { unansweredTroubles } from '../../src/features/troubles/unanswered-trouble.ts'
import { callOf, MESSAGE_DEPS, newMessage } from '../engine/kit.ts'
import { storeKinds } from '../runtime/support/store.ts'

const later = () => Date.now() + 10 * MINUTE

for (const { kind, place, open } of storeKinds())
  test(`people who wait for an answer of a person are one trouble, on the ${kind} store`, async (t) => {
    const store = await open(t, await place(t))
    const write = async (name: string) => {
      const from = { id: `${name}@example.org`, name }
      const [one] = await store.journal.accept([newMessage({ gateway: 'support', conversation: name, from })])
      await store.journal.note(one?.id ?? '', [{ at: Date.now(), road: 'dispatch', what: 'unrouted' }])
    }
    await write('Layla')
    await write('Grace')
    await write('Alice')
    const holdOf = ({ conversation }: { conversation: string }) =>
      conversation === 'Alice' ? { by: 'ada', since: Date.now(), isAnswered: false } : undefined
    const { list } = createConversations({ ...MESSAGE_DEPS, holdOf, store })
    const troubles = async (now: () => number) =>
      unansweredTroubles(await createUnansweredReading((args) => list(args, callOf()), now)())

    assert.deepEqual(await troubles(Date.now), [], 'nobody has waited for long')
    const [trouble, ...others] = await troubles(later)
    assert.partialDeepStrictEqual(trouble, {
      code: 'unanswered',
      severity: 'warning',
      title: '2 people wait for an answer from a person',
      count: 2,
    })
    assert.match(trouble?.text ?? '', /^The longest: Layla, in support\./)
    assert.deepEqual(others, [])
  })

const ROW = { gateway: 'support', from: { id: 'layla@example.org' }, waitingSince: 0 }

test('only those are counted whom nothing but a person will answer', async () => {
  const outcomes = ['done', 'unrouted', 'approval', 'retrying', 'waiting', 'dead', 'undelivered'] as const
  const conversations = outcomes.map((outcome) => ({ ...ROW, outcome }))
  const read = createUnansweredReading(async () => ({ conversations }), Date.now)
  assert.partialDeepStrictEqual(await read(), { count: 2, more: false })
})

test('a search that ended early may have left out others', async () => {
  const read = createUnansweredReading(
    async () => ({ conversations: [{ ...ROW, outcome: 'done' }], next: 'older' }),
    Date.now,
  )
  const found = await read()
  assert.partialDeepStrictEqual(found, { count: 1, more: true })
  assert.match(unansweredTroubles(found)[0]?.title ?? '', /^At least 1 /)
})

test('a slow reading is shared, and does not hold up the list of troubles', async () => {
  const answer = Promise.withResolvers<Awaited<ReturnType<ListUnanswered>>>()
  let calls = 0
  const read = createUnansweredReading(() => {
    calls++
    return answer.promise
  }, Date.now)
  assert.deepEqual(await Promise.all([read(), read()]), [undefined, undefined])
  const both = Promise.all([read(), read()])
  answer.resolve({ conversations: [{ ...ROW, outcome: 'done' }] })
  assert.partialDeepStrictEqual(await both, [{ count: 1 }, { count: 1 }])
  assert.partialDeepStrictEqual(await read(), { count: 1 })
  assert.equal(calls, 1, 'the next reading has its time')
})
