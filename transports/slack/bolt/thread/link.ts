import { reasonOf } from '../../../../src/core/errors.ts'
import { perTurn } from '../../../../src/lib/per-turn.ts'
import type { Ask, FromThread, Told, ToThread } from '../protocol.ts'
import { cleanerFor } from '../secrets.ts'

export type Link = ReturnType<typeof createLink>

/** The thread's end of the line to the daemon. What the app writes goes over it without the secrets of its environment. */
export function createLink(send: (messages: FromThread[]) => void) {
  const say = (message: FromThread) =>
    send([message.kind === 'log' ? { ...message, text: cleaned(message.text) } : message])
  /** How runs ended, as many as end together in one message. The rest may be the last that the app says, and does not wait. */
  const ended = perTurn(send)
  const asked = new Map<number, PromiseWithResolvers<unknown>>()
  let serial = 0

  return {
    say,
    /** How a run ended. */
    ended: (id: number, error?: Told) => ended({ kind: 'done', id, ...(error && { error }) }),
    told,
    /** Resolves with the daemon's answer, or rejects with why there is none. */
    ask(ask: Ask): Promise<unknown> {
      const id = ++serial
      const answer = Promise.withResolvers<unknown>()
      asked.set(id, answer)
      say({ kind: 'ask', id, ask })
      return answer.promise
    },
    answered({ id, ...answer }: Extract<ToThread, { kind: 'answer' }>) {
      const waiting = asked.get(id)
      asked.delete(id)
      if (answer.error) waiting?.reject(new Error(answer.error.message))
      else waiting?.resolve(answer.value)
    },
  }
}

/** An error, fit to be sent to the daemon. */
function told(error: unknown): Told {
  const { errors, originals } = Object(error)
  const all = [errors, originals].find(Array.isArray)
  const message = cleaned(all?.length ? all.map(reasonOf).join('; ') : reasonOf(error))
  return error instanceof Error && error.stack ? { message, stack: cleaned(error.stack) } : { message }
}

/** An app may read its variables at any time. */
const cleaned = (text: string) => cleanerFor(process.env)(text)
