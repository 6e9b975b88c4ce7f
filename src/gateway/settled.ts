import { pathGet } from '../core/json.ts'
import type { Store } from '../core/store.ts'
import { waitFor } from '../lib/wait-for.ts'
import { DISPATCH_QUEUE } from './dispatch.ts'

/** How the dispatch of a message ended, and how many replies it put into the outbox. */
export type SettledDispatch = { outcome: 'done' | 'failed' | 'unrouted'; replies: number }

/**
 * Waits up to `timeout` ms for the end of the dispatch of a message that was accepted with
 * `data.respond: 'result'`, on whichever daemon it runs. Undefined at the timeout.
 */
export function waitUntilSettled(
  store: Pick<Store, 'jobs' | 'onSignal'>,
  messageId: string,
  timeout: number,
  signal?: AbortSignal,
): Promise<SettledDispatch | undefined> {
  return waitFor<SettledDispatch>({
    async attempt() {
      const end = await store.jobs.end(DISPATCH_QUEUE, messageId)
      if (!end) return { retryAt: undefined }
      if (end.state === 'dead') return { value: { outcome: 'failed', replies: 0 } }
      const unrouted = pathGet(end.result, 'outcome') === 'unrouted'
      const replies = Number(pathGet(end.result, 'replies') ?? 0)
      return { value: { outcome: unrouted ? 'unrouted' : 'done', replies } }
    },
    watch: (wake) => store.onSignal(`job:${messageId}`, wake),
    timeout,
    signal,
  })
}
