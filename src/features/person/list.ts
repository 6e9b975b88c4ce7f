import { requireGateway } from '../../core/call.ts'
import type { Message } from '../../core/message.ts'
import { timeOf } from '../../core/message-id.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Store } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { addSender, hasWords, longestOf, type Sender, wordsIn } from '../../lib/people-in.ts'
import { requireOperator } from './erasure.ts'
import type * as operations from './operations.ts'

/** Number of messages per read of the journal. */
const PAGE = 500
/** Approximate duration (ms) of a call. */
const CALL_TIME = 3_000

/** `person-list`: the senders of the newest messages. Leaves out unreachable shards. */
export function createPersonList(
  { journal }: { journal: Pick<Store['journal'], 'search'> },
  now: () => number = () => performance.now(),
) {
  return {
    async list({ name, gateway, messages: most, before, limit }, call) {
      requireOperator(call, 'Listing people')
      if (gateway !== undefined) requireGateway(call.caller, gateway)
      const words = wordsIn(name ?? '')
      const gateways = gateway === undefined ? call.caller.gateways : [gateway]
      const query = { gateways, sender: longestOf(words), isPartial: true }
      const deadline = now() + CALL_TIME
      const people = new Map<string, Sender<Message>>()
      let messages = 0
      let next = before
      let missing: number[] | undefined
      do {
        call.signal.throwIfAborted()
        const page = await journal.search({ ...query, before: next, limit: Math.min(PAGE, most - messages) })
        for (const { message } of page.found) {
          if (!hasWords(message.from, words)) continue
          addSender(people, message)
          messages++
        }
        next = page.next
        missing = page.away ?? missing
      } while (next !== undefined && messages < most && now() < deadline)
      const shown = [...people.values()].slice(0, limit).map(personRow)
      const searchedTo = next === undefined ? undefined : timeOf(next)
      return { people: shown, total: people.size, messages, ...defined({ next, searchedTo, away: missing }) }
    },
  } satisfies ServiceOf<typeof operations.personList>
}

function personRow({ identity, name, shown, newest, gateways, messages }: Sender<Message>) {
  return {
    identity,
    id: name,
    ...defined({ name: shown }),
    gateways: [...gateways],
    messages,
    newest: { id: newest.id, at: timeOf(newest.id), gateway: newest.gateway },
  }
}
