import assert from 'node:assert/strict'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import type { DeadLetter, HeldJob, PlacedEvent, PlacedMessage, Store } from '../../../src/core/store.ts'
import {
  acceptAll,
  bury,
  job,
  MINUTE,
  part,
  publishAll,
  readAll,
  readAllAfter,
  type StoreFactory,
} from './kit.ts'

const FEW = Array.from({ length: 7 }, (_, index) => `m${index}`)
/** Together 7 MB, more than one read returns. */
const LARGE = Array.from({ length: 24 }, (_, index) => `${index} `.padEnd(300_000, 'x'))

/** A reader that continues only while `more` is true skips nothing and comes to an end. */
export function pagesContract(factory: StoreFactory): void {
  part(factory, 'pages', {
    ...Object.fromEntries(
      [
        { name: 'in small pages', texts: FEW, max: 2 },
        { name: 'in one page of exactly as many', texts: FEW, max: FEW.length },
        { name: 'of a large size', texts: LARGE, max: 100 },
      ].flatMap(({ name, texts, max }) => [
        [
          `the pump and claims read all messages: ${name}`,
          ({ store }: { store: Store }) => pumpAndClaim(store, texts, max),
        ],
        [`\`look\` lists all messages: ${name}`, ({ store }: { store: Store }) => look(store, texts, max)],
        [`\`tail\` reads all messages: ${name}`, ({ store }: { store: Store }) => tail(store, texts, max)],
        [
          `a group reads all messages in every mode: ${name}`,
          ({ store }: { store: Store }) => readGroups(store, texts, max),
        ],
      ]),
    ),
    'lists all dead letters and held jobs, and says when there are no more': async (bench) => {
      const { store } = bench
      for (const id of FEW) await bury(bench, 'q', job(id, id))
      for (const limit of [2, FEW.length]) {
        const letters = await readAllAfter<DeadLetter>((last) =>
          store.jobs.deadLetters.list({ before: last, limit }),
        )
        assert.deepEqual(letters.map(({ id }) => id).toSorted(), FEW)
      }
      assert.equal((await store.jobs.deadLetters.list({ limit: FEW.length })).more, false)
      assert.equal((await store.jobs.deadLetters.list({ limit: FEW.length - 1 })).more, true)

      await store.jobs.add(
        'held',
        FEW.map((id) => job(id, id)),
      )
      const { items } = await store.jobs.claim('held', { max: 10, lease: MINUTE })
      await store.jobs.settle(
        'held',
        items.map(({ id, token }) => ({ id, token, outcome: 'hold' })),
      )
      for (const limit of [2, FEW.length]) {
        const held = await readAllAfter<HeldJob>((last) => store.jobs.held('held', last?.id ?? '', limit))
        assert.deepEqual(
          held.map(({ id }) => id),
          FEW,
        )
      }
      assert.equal((await store.jobs.held('held', '', FEW.length)).more, false)
    },
    'lists large dead letters in short pages, and skips none': async (bench) => {
      const { store } = bench
      const accepted = await acceptAll(store, LARGE)
      for (const id of accepted) await bury(bench, 'q', job(id, id, { messageId: id }))
      for (const limit of [5, 100]) {
        const letters = await readAllAfter<DeadLetter>((last) =>
          store.jobs.deadLetters.list({ before: last, limit }),
        )
        assert.deepEqual(letters.map(({ id }) => id).toSorted(), accepted.toSorted())
      }
    },
    'a claim says whether more jobs are due, beyond `max` or beyond the limit of a group': async ({
      store,
    }) => {
      await store.jobs.add(
        'q',
        FEW.map((id) => job(id, id)),
      )
      const claim = (max: number, limits = {}) => store.jobs.claim('q', { max, lease: MINUTE, limits })
      // Of the seven jobs of the group `g`, the first three claims get 2, 0 and 1. Four are left.
      assert.equal((await claim(2)).more, true)
      assert.equal((await claim(100, { g: 0 })).more, true)
      assert.equal((await claim(100, { g: 1 })).more, true)
      const last = await claim(4)
      assert.deepEqual([last.items.length, last.more], [4, false])
      const none = await claim(1)
      assert.deepEqual([none.items, none.more], [[], false])
    },
    '`tail` and groups say when a topic has no more events': async ({ store }) => {
      const ids = await publishAll(store, 't', FEW)
      assert.equal((await store.topics.tail('t', 0, FEW.length)).more, false)
      assert.equal((await store.topics.tail('t', 0, FEW.length - 1)).more, true)
      await store.topics.subscribe('t', 'g', 'start')
      const read = async (mode: 'peek' | 'consume' | 'lease', max: number) =>
        (await store.topics.read('t', [{ group: 'g', mode, max, lease: MINUTE }]))[0]
      assert.equal((await read('peek', FEW.length))?.more, false)
      assert.equal((await read('peek', FEW.length - 1))?.more, true)
      assert.equal((await read('lease', 3))?.more, true)
      // The three leased ones are visible again, before the four unread ones.
      await store.topics.nack('t', 'g', ids.slice(0, 3), 0)
      assert.equal((await read('peek', FEW.length))?.more, false)
      assert.equal((await read('peek', 2))?.more, true)
      assert.equal((await read('consume', 2))?.more, true)
      assert.equal((await read('consume', 5))?.more, false)
    },
  })
}

async function pumpAndClaim(store: Store, texts: readonly string[], max: number): Promise<void> {
  const ids = await acceptAll(store, texts)
  const pumped = await readAll(async () => {
    const { cursor, items, more } = await store.journal.unpumped(max)
    const jobs = items.map(({ id }) => ({ id, lane: id, group: 'g', messageId: id }))
    const last = items.at(-1)
    if (last) assert.equal(await store.journal.pumped(cursor, last.id, jobs), true)
    return { items, more }
  })
  assert.deepEqual(pumped.map(({ id }) => id).toSorted(), ids)
  const claimed = await readAll(() => store.jobs.claim('dispatch', { max, lease: MINUTE }))
  assert.deepEqual(claimed.map(({ id }) => id).toSorted(), ids)
}

async function look({ journal, receive }: Store, texts: readonly string[], max: number): Promise<void> {
  const ids = await acceptAll({ journal }, texts)
  const found: string[] = []
  for (let part = 0; part < receive.parts; part++) {
    let after = 0
    const listed = await readAll(async () => {
      const page = await receive.look({ part, after, max })
      after = page.to
      return page
    })
    const positions = listed.map(({ position }) => position)
    // The same messages, asked for by position.
    const atPositions = await readAll<PlacedMessage>((last) =>
      receive.lookAt(
        part,
        positions.filter((position) => position > (last?.position ?? 0)),
      ),
    )
    assert.deepEqual(atPositions, listed)
    found.push(...listed.map(({ message }) => message.id))
  }
  assert.deepEqual(found.toSorted(), ids)
}

async function tail(store: Store, texts: readonly string[], max: number): Promise<void> {
  const ids = await acceptAll(store, texts)
  const found: PlacedEvent[] = []
  for (let partition = 0; partition < store.topics.partitions(MESSAGE_TOPIC); partition++) {
    const read = (last?: PlacedEvent) => store.topics.tail(MESSAGE_TOPIC, last?.position ?? 0, max, partition)
    found.push(...(await readAllAfter(read)))
  }
  assert.deepEqual(found.map(({ event }) => event.id).toSorted(), ids)
}

async function readGroups(store: Store, texts: readonly string[], max: number): Promise<void> {
  const { topics } = store
  for (const group of ['consumes', 'leases', 'peeks']) await topics.subscribe(MESSAGE_TOPIC, group, 'now')
  const ids = await acceptAll(store, texts)
  const read = async (group: string, mode: 'consume' | 'lease' | 'peek') => {
    const [batch] = await topics.read(MESSAGE_TOPIC, [{ group, mode, max, lease: MINUTE }])
    return batch ?? assert.fail(`group ${group} does not exist`)
  }
  const idsOf = (events: readonly { id: string }[]) => events.map(({ id }) => id)
  assert.deepEqual(idsOf(await readAll(() => read('consumes', 'consume'))), ids)
  assert.deepEqual(idsOf(await readAll(() => read('leases', 'lease'))), ids)
  await topics.nack(MESSAGE_TOPIC, 'leases', ids, 0)
  assert.deepEqual(idsOf(await readAll(() => read('leases', 'consume'))), ids)
  const peeked = await readAll(async () => {
    const batch = await read('peeks', 'peek')
    await topics.ack(MESSAGE_TOPIC, 'peeks', idsOf(batch.items))
    return batch
  })
  assert.deepEqual(idsOf(peeked), ids)
}
