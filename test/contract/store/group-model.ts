import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../fixtures/fast-check.ts'
import { MINUTE, publishAll, type StoreFactory, withStore } from './kit.ts'

type Command =
  | { do: 'publish'; count: number }
  | { do: 'read'; mode: 'consume' | 'peek' | 'lease'; max: number }
  | { do: 'ack' | 'nack' | 'delay'; places: number[] }
  | { do: 'wait' }

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ do: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    do: fc.constant('read' as const),
    mode: fc.constantFrom('consume' as const, 'peek' as const, 'lease' as const),
    max: fc.integer({ min: 1, max: 5 }),
  }),
  fc.record({
    do: fc.constantFrom('ack' as const, 'nack' as const, 'delay' as const),
    places: fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }),
  }),
  fc.constant({ do: 'wait' as const }),
)

/**
 * A group behaves like a list of events of which some are consumed and some hidden until a time: reads
 * return the first visible ones in order.
 */
export function groupModel(factory: StoreFactory, runs: number): void {
  test('any history of reads, acks, nacks and delays of a group agrees with a simple model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 25 }), async (commands) => {
        await withStore(factory, async ({ store, now, advance }) => {
          await store.topics.subscribe('t', 'g', 'start')
          const ids: string[] = []
          const hidden = new Map<string, number>()
          const consumed = new Set<string>()
          const visible = () => ids.filter((id) => !consumed.has(id) && (hidden.get(id) ?? 0) <= now())
          for (const each of commands) {
            if (each.do === 'publish') {
              ids.push(
                ...(await publishAll(
                  store,
                  't',
                  Array.from({ length: each.count }, () => 'x'),
                )),
              )
            } else if (each.do === 'wait') {
              advance(MINUTE)
            } else if (each.do === 'read') {
              const expected = visible().slice(0, each.max)
              const request = { group: 'g', max: each.max, mode: each.mode, lease: MINUTE }
              const [batch] = await store.topics.read('t', [request])
              assert.deepEqual(
                batch?.events.map((event) => event.id),
                expected,
              )
              if (each.mode === 'consume') for (const id of expected) consumed.add(id)
              if (each.mode === 'lease') for (const id of expected) hidden.set(id, now() + MINUTE)
              const waits = [...hidden]
                .filter(([id, at]) => !consumed.has(id) && at > now())
                .map(([, at]) => at)
              assert.equal(batch?.nextVisible, waits.length ? Math.min(...waits) : undefined)
            } else {
              const chosen = [...new Set(each.places.flatMap((place) => ids[place] ?? []))]
              const live = chosen.filter((id) => !consumed.has(id))
              if (each.do === 'ack') {
                assert.equal(await store.topics.ack('t', 'g', chosen), live.length)
                for (const id of live) consumed.add(id)
              } else {
                const delay = each.do === 'delay' ? MINUTE : 0
                assert.equal(await store.topics.nack('t', 'g', chosen, delay), live.length)
                for (const id of live) hidden.set(id, now() + delay)
              }
            }
          }
        })
      }),
      { numRuns: runs },
    )
  })
}
