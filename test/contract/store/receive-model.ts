import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReceiveFilter, Store } from '../../../src/core/store.ts'
import { defined } from '../../../src/lib/defined.ts'
import fc from '../../fixtures/fast-check.ts'
import { acceptAll, DAY, MINUTE, pumpAll, type StoreFactory, withStore } from './kit.ts'

type ModelMessage = {
  id: string
  gateway: string
  conversation: string
  state: 'ready' | 'leased' | 'taken'
  until: number
  receipt?: string
}

/** One command, with all parameters that any command needs. */
const command = fc.record({
  do: fc.oneof(
    { weight: 4, arbitrary: fc.constant('take' as const) },
    { weight: 3, arbitrary: fc.constant('accept' as const) },
    { weight: 2, arbitrary: fc.constant('choose' as const) },
    { weight: 5, arbitrary: fc.constantFrom('ack', 'release', 'wait', 'reopen', 'trim') },
  ),
  count: fc.integer({ min: 1, max: 6 }),
  gateway: fc.constantFrom('a', 'b'),
  /** `own`: none is given, so the id of the message is its conversation. */
  conversation: fc.constantFrom('x', 'y', 'own'),
  by: fc.constantFrom('all', 'gateway', 'conversation', 'both'),
  isLeased: fc.boolean(),
  /** Index of a message. */
  choice: fc.nat(20),
})

/**
 * The receive road behaves like a list: a take returns the oldest ready message that matches its
 * filter.
 */
export function receiveModel(factory: StoreFactory): void {
  const name = 'any sequence of messages, takes and leases on two gateways agrees with a simple model'
  if (factory.leavesOut(name)) return
  test(name, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 40, size: 'max' }), async (commands) => {
        await withStore(factory, async (bench) => {
          let messages: ModelMessage[] = []
          const endExpiredLeases = () => {
            for (const message of messages)
              if (message.state === 'leased' && message.until <= bench.now()) message.state = 'ready'
          }
          for (const each of commands) {
            const { gateway } = each
            const chosen = messages[each.choice % Math.max(1, messages.length)]
            const lease = each.isLeased ? MINUTE : undefined
            const noteTake = (message: ModelMessage, receipt?: string) => {
              message.state = each.isLeased ? 'leased' : 'taken'
              message.until = bench.now() + MINUTE
              if (receipt) message.receipt = receipt
            }
            if (each.do === 'accept') {
              const isOwn = each.conversation === 'own'
              const rest = isOwn ? { gateway } : { gateway, conversation: each.conversation }
              for (const id of await acceptAll(bench.store, Array(each.count).fill('m'), rest)) {
                const conversation = isOwn ? id : each.conversation
                messages.push({ id, gateway, conversation, state: 'ready', until: 0 })
              }
            } else if (each.do === 'take') {
              const conversation =
                each.conversation === 'own' ? (chosen?.conversation ?? 'none') : each.conversation
              const filter: ReceiveFilter = defined({
                gateway: each.by === 'gateway' || each.by === 'both' ? gateway : undefined,
                conversation: each.by === 'conversation' || each.by === 'both' ? conversation : undefined,
              })
              endExpiredLeases()
              const expected = messages.find(
                (message) =>
                  message.state === 'ready' &&
                  message.gateway === (filter.gateway ?? message.gateway) &&
                  message.conversation === (filter.conversation ?? message.conversation),
              )
              const taken = await bench.store.receive.take(filter, lease)
              assert.equal(taken?.message.id, expected?.id)
              if (expected) noteTake(expected, taken?.receipt)
            } else if (each.do === 'choose') {
              endExpiredLeases()
              const expected = chosen?.state === 'ready' ? chosen : undefined
              const taken = await bench.store.receive.take({ only: chosen?.id ?? 'none' }, lease)
              assert.equal(taken?.message.id, expected?.id)
              if (expected) noteTake(expected, taken?.receipt)
            } else if (each.do === 'ack' || each.do === 'release') {
              if (!chosen?.receipt) continue
              const isHeld = chosen.state === 'leased' && chosen.until > bench.now()
              assert.equal(await bench.store.receive[each.do](chosen.receipt), isHeld)
              if (isHeld) chosen.state = each.do === 'ack' ? 'taken' : 'ready'
            } else if (each.do === 'wait') {
              bench.advance(MINUTE)
            } else if (each.do === 'reopen') {
              await bench.reopen()
            } else {
              // Retention only removes messages before the dispatch cursor.
              await pumpAll(bench.store)
              const maxCount = Math.max(1, messages.length - each.count)
              await bench.store.trim({ journal: { maxAge: DAY, maxCount } })
              messages = messages.slice(-maxCount)
            }
          }
          endExpiredLeases()
          // Any take also makes messages with expired leases ready in the store.
          await bench.store.receive.take({ gateway: 'none' })
          const { ready, leased } = (await bench.store.stats()).receive
          const idsIn = (state: ModelMessage['state']) =>
            messages.filter((message) => message.state === state).map(({ id }) => id)
          assert.deepEqual([ready, leased], [idsIn('ready').length, idsIn('leased').length])
          assert.deepEqual(await lookAll(bench.store), idsIn('ready'))
          const taken: (string | undefined)[] = []
          while (taken.length <= ready) taken.push((await bench.store.receive.take({}))?.message.id)
          assert.deepEqual(taken, [...idsIn('ready'), undefined])
        })
      }),
      { numRuns: 40 },
    )
  })
}

/** The ids of all messages that `look` and `lookAt` list, oldest first. */
async function lookAll({ receive }: Store): Promise<string[]> {
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
