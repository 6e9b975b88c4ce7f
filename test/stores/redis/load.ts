import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Message } from '../../../src/core/message.ts'
import type { Store } from '../../../src/core/store.ts'
import { saying } from '../../contract/store/kit.ts'
import { until } from '../../fixtures/until.ts'

/**
 * Two stores acknowledge fewer messages than this until they learn of a fail-over. During the whole
 * fail-over they would acknowledge over a thousand.
 */
export const MAX_LOST_IN_FAIL_OVER = 50

/**
 * Accepts and takes messages on several stores while `change` runs, then takes the rest. Lost
 * messages were acknowledged, but are not in the journal or were never taken.
 */
export async function underLoad(stores: readonly Store[], change: () => Promise<unknown>) {
  const run = randomUUID()
  const accepted = new Set<string>()
  const taken: string[] = []
  let isOver = false
  let hasFailed = false
  /** False if the store was unavailable. */
  const attempt = async <T>(call: () => Promise<T>) => {
    try {
      return await call()
    } catch (error) {
      assert.ok(error instanceof TriviumError && error.code === 'store_unavailable', String(error))
      await pause(10)
      return false
    }
  }
  const accept = async (store: Store, name: string) => {
    for (let n = 0; !isOver; n++) {
      const text = `${name} ${n}`
      const message = saying(text, { key: text, conversation: name })
      if (!(await attempt(() => store.journal.accept([message])))) continue
      accepted.add(text)
      await pause(2)
    }
  }
  const isOfRun = ({ text }: Message) => text.startsWith(run)
  const take = async (store: Store) => {
    for (;;) {
      const next = await attempt(() => store.receive.take({}))
      if (next && isOfRun(next.message)) taken.push(next.message.text)
      else if ((next === undefined && isOver) || hasFailed) return
      if (!next) await pause(5)
    }
  }
  const work = stores.flatMap((store, at) => [
    ...[1, 2, 3].map((lane) => accept(store, `${run} ${at}-${lane}`)),
    take(store),
  ])
  try {
    await until(() => accepted.size > 50, 'the load')
    await change()
    const { size } = accepted
    await until(() => accepted.size > size + 50, 'messages to be accepted again')
  } catch (error) {
    hasFailed = true
    throw error
  } finally {
    isOver = true
  }
  await Promise.all(work)
  const inJournal = new Set<string>()
  const [store] = stores
  for (let before: string | undefined; store; ) {
    const page = await store.journal.search({ limit: 500, before })
    for (const { message } of page.found) inJournal.add(message.text)
    before = page.next
    if (before === undefined) break
  }
  const distinct = new Set(taken)
  const lost = [...accepted].filter((text) => !inJournal.has(text) || !distinct.has(text)).length
  return { lost, twice: taken.length - distinct.size }
}
