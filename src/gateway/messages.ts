import { requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { timeOf } from '../core/message-id.ts'
import type { DeadLetterService, HistoryLine, MessageService } from '../core/services.ts'
import type { Store } from '../core/store.ts'

/** Looking at messages and their history on the three roads. */
export function createMessages(store: Pick<Store, 'journal'>): MessageService {
  return {
    async show({ id }, { caller }) {
      const message = await store.journal.get(id)
      if (!message) throw new TriviumError('message_not_found', { id })
      requireGateway(caller, message.gateway)
      const accepted: HistoryLine = { at: timeOf(id), road: 'accept', what: 'accepted' }
      return { message, history: [accepted, ...(await store.journal.history(id))] }
    },
    async list(args, { caller }) {
      if (args.gateway !== undefined) requireGateway(caller, args.gateway)
      if (args.gateway !== undefined || !caller.gateways) return store.journal.list(args)
      const lists = await Promise.all(
        caller.gateways.map((gateway) => store.journal.list({ ...args, gateway })),
      )
      // Ids sort as the journal does.
      return lists
        .flat()
        .toSorted((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, args.limit)
    },
  }
}

/** Operating on dead letters of every queue. */
export function createDeadLetters(store: Pick<Store, 'jobs'>): DeadLetterService {
  const { deadLetters } = store.jobs
  const orThrow = <Found>(id: string, found: Found | undefined): Found => {
    if (!found) throw new TriviumError('dead_letter_not_found', { id })
    return found
  }
  return {
    list: (args) => deadLetters.list(args),
    show: async ({ id }) => orThrow(id, await deadLetters.get(id)),
    retry: async ({ id }) => ({ ok: orThrow(id, await deadLetters.retry(id)) }),
    drop: async ({ id }) => ({ ok: orThrow(id, await deadLetters.drop(id)) }),
  }
}
