import type { TestContext } from 'node:test'
import type { Store } from '../../src/core/store.ts'
import { createDeadLetters } from '../../src/engine/dead-letters.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { acceptAll, bury, job } from '../contract/store/kit.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'

/** The dead letters and jobs of the daemon `owner`. */
export function openLetters(t: TestContext, store: Store, owner = 'one') {
  const work = createLongWork({ store, owner, log: createMemoryLog(), now: Date.now })
  cleanup(t, () => work.stop())
  return { store, work, letters: createDeadLetters({ store, longWork: work, now: Date.now }) }
}

export type Daemon = ReturnType<typeof openLetters>

/** Dead letters of new messages, one in each of `lanes`. Returns the ids of the messages. */
export async function buryMessages(store: Store, lanes: readonly string[]): Promise<string[]> {
  const ids = await acceptAll(store, lanes)
  for (const [at, id] of ids.entries())
    await bury(
      { store, now: Date.now },
      'dispatch',
      job(id, lanes[at] ?? '', { messageId: id, group: 'orders' }),
    )
  return ids
}
