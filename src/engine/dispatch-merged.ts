import type { Steer } from '../core/call.ts'
import { pathGet } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { ClaimedJob, Note } from '../core/store.ts'
import type { DispatchOptions } from './dispatch-options.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'

/** History entries for messages merged into a call. */
const MERGES = ['collects', 'supersedes', 'is steered']

/** Messages merged into the call of another message while their conversation was busy. */
export function createMerged({ store, steered }: Pick<DispatchOptions, 'store' | 'steered'>) {
  return {
    /** Messages merged into a parked call; their own jobs have ended. */
    async of(history: readonly Note[]): Promise<Message[]> {
      const merges = history.filter(({ road, what }) => road === 'dispatch' && MERGES.includes(what))
      const ids = merges.flatMap(({ detail }) => pathGet(detail, 'messages') ?? []).map(String)
      const found = await Promise.all(ids.map((id) => store.journal.get(id)))
      return found.filter((message) => message !== undefined)
    },
    /**
     * Lets a running model take newly arrived messages, which then belong to this job in the store.
     */
    steer: (job: ClaimedJob, group: string, messages: Message[]): Steer => ({
      messages,
      async listen() {
        const found = await store.jobs.mergeFollowing(DISPATCH_QUEUE, { id: job.id, token: job.token, group })
        // A lost claim ends the attempt by itself.
        for (const message of found ?? []) {
          messages.push(message)
          await steered?.(message)
        }
      },
    }),
  }
}
