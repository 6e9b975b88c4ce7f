import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Store } from '../../../src/core/store.ts'
import { saying } from '../../contract/store/kit.ts'
import { until } from '../../fixtures/until.ts'

/** More than two stores acknowledge before they hear of a fail-over, and far less than while it lasts (over a thousand). */
export const MOMENT = 50

/**
 * Accepts and takes messages on several stores while `happens` runs, then takes what is left. A message is lost that was
 * acknowledged and is not in the journal, or that nobody got.
 */
export async function underLoad(stores: readonly Store[], happens: () => Promise<unknown>) {
  const run = randomUUID()
  const accepted = new Set<string>()
  const taken: string[] = []
  let over = false
  let failed = false
  const trying = async <T>(what: () => Promise<T>) => {
    try {
      return await what()
    } catch (error) {
      assert.ok(error instanceof TriviumError && error.code === 'store_unavailable', String(error))
      await pause(10)
      return false
    }
  }
  const accept = async (store: Store, name: string) => {
    for (let n = 0; !over; n++) {
      const text = `${name} ${n}`
      const isIn = await trying(() => store.journal.accept([saying(text, { key: text, conversation: name })]))
      if (!isIn) continue
      accepted.add(text)
      await pause(2)
    }
  }
  const take = async (store: Store) => {
    for (;;) {
      const one = await trying(() => store.receive.take({}))
      if (one && String(one.message.text).startsWith(run)) taken.push(one.message.text)
      else if ((one === undefined && over) || failed) return
      if (!one) await pause(5)
    }
  }
  const work = stores.flatMap((store, at) => [
    ...[1, 2, 3].map((lane) => accept(store, `${run} ${at}-${lane}`)),
    take(store),
  ])
  try {
    await until(() => accepted.size > 50, 'the load')
    await happens()
    const { size } = accepted
    await until(() => accepted.size > size + 50, 'messages to be accepted again', 60_000)
  } catch (error) {
    failed = true
    throw error
  } finally {
    over = true
  }
  await Promise.all(work)
  const there = new Set<string>()
  const [store] = stores
  for (let before: string | undefined; store; ) {
    const page = await store.journal.search({ limit: 500, before })
    for (const { message } of page.found) there.add(message.text)
    before = page.next
    if (before === undefined) break
  }
  const got = new Set(taken)
  const lost = [...accepted].filter((text) => !there.has(text) || !got.has(text)).length
  return { lost, twice: taken.length - got.size }
}
