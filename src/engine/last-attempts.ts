import { requireGateway } from '../core/call.ts'
import { textAt } from '../core/json.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { messages } from './operations/messages.ts'
import type { RunningAttempts } from './running-attempts.ts'

/** Notes of dispatch that end an attempt. */
const ENDS = ['done', 'failed', 'dead']

/** The last attempt of dispatch on each of several messages, for lists. */
export function createLastAttempts(deps: {
  store: Pick<Store, 'journal'>
  attempts: Pick<RunningAttempts, 'of'>
}): Pick<ServiceOf<typeof messages>, 'attempts'> {
  const { journal } = deps.store
  return {
    async attempts({ ids }, { caller }) {
      const found = ids.map(async (id) => {
        if (caller.gateways !== undefined) {
          const message = await journal.get(id)
          if (!message) return []
          requireGateway(caller, message.gateway)
        }
        const running = deps.attempts.of(id)
        if (running) return [{ id, ...running }]
        const last = lastOf(await journal.history(id))
        return last ? [{ id, ...last }] : []
      })
      return (await Promise.all(found)).flat()
    },
  }
}

/** `ms`: how long the attempt ran. `unsent`: why the reply was not sent. */
function lastOf(notes: readonly Note[]) {
  const end = notes.findLast(({ road, what }) => road === 'dispatch' && ENDS.includes(what))
  if (!end) return undefined
  const { route, attempt, ms, error, code, delay } = Object(end.detail)
  const silent = notes.findLast(({ road, what }) => road === 'outbox' && /^(not sent|suppressed)$/.test(what))
  const nextAt = delay === undefined ? undefined : end.at + Number(delay)
  const unsent = textAt(silent?.detail, 'reason')
  return { at: end.at, what: end.what, ...defined({ route, attempt, ms, error, code, nextAt, unsent }) }
}
