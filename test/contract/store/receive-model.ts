import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReceiveFilter, Store } from '../../../src/core/store.ts'
import { defined } from '../../../src/lib/defined.ts'
import fc from '../../fixtures/fast-check.ts'
import { acceptAll, DAY, MINUTE, type StoreFactory, withStore } from './kit.ts'

type ModelMessage = {
  id: string
  gateway: string
  conversation: string
  state: 'ready' | 'leased' | 'taken'
  until: number
  receipt?: string
}

const command = fc.record({
  do: fc.constantFrom(
    'accept',
    'accept',
    'accept',
    'take',
    'take',
    'take',
    'take',
    'choose',
    'choose',
    'ack',
    'release',
    'wait',
    'reopen',
    'trim',
  ),
  count: fc.integer({ min: 1, max: 6 }),
  gateway: fc.constantFrom('a', 'b'),
  conversation: fc.constantFrom('x', 'y', 'own'),
  by: fc.constantFrom('all', 'gateway', 'conversation', 'both'),
  isLeased: fc.boolean(),
  place: fc.nat(20),
})

/** The receive road behaves like a list: a take gets the oldest ready message that fits, wherever it lies. */
export function receiveModel(factory: StoreFactory): void {
  const name = 'any history of messages, takes and leases on two gateways agrees with a simple model'
  if (factory.leavesOut(name)) return
  test(name, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 40, size: 'max' }), async (commands) => {
        await withStore(factory, async (bench) => {
          let messages: ModelMessage[] = []
          let isPumped = true
          const endLeases = () => {
            for (const one of messages)
              if (one.state === 'leased' && one.until <= bench.now()) one.state = 'ready'
          }
          for (const each of commands) {
            const { gateway, place } = each
            const some = messages[place % Math.max(1, messages.length)]
            if (each.do === 'accept') {
              const own = each.conversation === 'own'
              const rest = own ? { gateway } : { gateway, conversation: each.conversation }
              for (const id of await acceptAll(bench.store, Array(each.count).fill('m'), rest)) {
                const conversation = own ? id : each.conversation
                messages.push({ id, gateway, conversation, state: 'ready', until: 0 })
              }
              isPumped = false
            } else if (each.do === 'take') {
              const wanted = each.conversation === 'own' ? (some?.conversation ?? 'none') : each.conversation
              const filter: ReceiveFilter = defined({
                gateway: each.by === 'gateway' || each.by === 'both' ? gateway : undefined,
                conversation: each.by === 'conversation' || each.by === 'both' ? wanted : undefined,
              })
              endLeases()
              const expected = messages.find(
                (one) =>
                  one.state === 'ready' &&
                  one.gateway === (filter.gateway ?? one.gateway) &&
                  one.conversation === (filter.conversation ?? one.conversation),
              )
              const taken = await bench.store.receive.take(filter, each.isLeased ? MINUTE : undefined)
              assert.equal(taken?.message.id, expected?.id)
              if (!expected || !taken) continue
              expected.state = each.isLeased ? 'leased' : 'taken'
              expected.until = bench.now() + MINUTE
              if (taken.receipt) expected.receipt = taken.receipt
            } else if (each.do === 'choose') {
              endLeases()
              const isReady = some?.state === 'ready'
              const filter = { only: some?.id ?? 'none' }
              const taken = await bench.store.receive.take(filter, each.isLeased ? MINUTE : undefined)
              assert.equal(taken?.message.id, isReady ? some.id : undefined)
              if (!isReady || !taken) continue
              some.state = each.isLeased ? 'leased' : 'taken'
              some.until = bench.now() + MINUTE
              if (taken.receipt) some.receipt = taken.receipt
            } else if (each.do === 'ack' || each.do === 'release') {
              if (!some?.receipt) continue
              const holds = some.state === 'leased' && some.until > bench.now()
              assert.equal(await bench.store.receive[each.do](some.receipt), holds)
              if (holds) some.state = each.do === 'ack' ? 'taken' : 'ready'
            } else if (each.do === 'wait') {
              bench.advance(MINUTE)
            } else if (each.do === 'reopen') {
              await bench.reopen()
            } else {
              // Retention removes what dispatch has passed.
              if (!isPumped) {
                const { cursor, items: next } = await bench.store.journal.unpumped(1_000)
                const last = next.at(-1)
                if (last) await bench.store.journal.pumped(cursor, last.id, [])
                isPumped = true
              }
              const maxCount = Math.max(1, messages.length - each.count)
              await bench.store.trim({ journal: { maxAge: DAY, maxCount } })
              if (messages.length > maxCount) messages = messages.slice(messages.length - maxCount)
            }
          }
          endLeases()
          await bench.store.receive.take({ gateway: 'none' })
          const { ready, leased } = (await bench.store.stats()).receive
          const inState = (state: ModelMessage['state']) => messages.filter((one) => one.state === state)
          assert.deepEqual([ready, leased], [inState('ready').length, inState('leased').length])
          const shown = await shownBy(bench.store)
          assert.deepEqual(
            shown,
            inState('ready').map(({ id }) => id),
          )
          const rest: (string | undefined)[] = []
          while (rest.length <= ready) rest.push((await bench.store.receive.take({}))?.message.id)
          assert.deepEqual(rest, [...inState('ready').map(({ id }) => id), undefined])
        })
      }),
      { numRuns: 40 },
    )
  })
}

/** The ids of all that a taker who chooses is shown, oldest first. */
async function shownBy({ receive }: Store): Promise<string[]> {
  const ids: string[] = []
  for (let after = 0, more = true; more; ) {
    const looked = await receive.look({ part: 0, after, max: 2 })
    ids.push(...looked.items.map(({ message }) => message.id))
    after = looked.to
    more = looked.more
    if (more) continue
    const back = await receive.lookAt(0, looked.back)
    ids.push(...back.items.map(({ message }) => message.id))
  }
  return ids.sort()
}
