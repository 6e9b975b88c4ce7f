import { reasonOf } from '../../../../src/core/errors.ts'
import { perTurn } from '../../../../src/lib/per-turn.ts'
import type { Ask, FromThread, Told, ToThread } from '../protocol.ts'
import { cleanerFor } from '../secrets.ts'

export type Link = ReturnType<typeof createLink>

/** The thread's connection to the daemon. Redacts secrets of the environment in the app's output. */
export function createLink(send: (messages: FromThread[]) => void) {
  const say = (message: FromThread) =>
    send([message.kind === 'log' ? { ...message, text: cleaned(message.text) } : message])
  /** Batches outcomes of runs. Other messages are sent at once, as they may be the app's last. */
  const ended = perTurn(send)
  const asked = new Map<number, PromiseWithResolvers<unknown>>()
  let serial = 0

  return {
    say,
    /** Reports the outcome of a run. */
    ended: (id: number, error?: Told) => ended({ kind: 'done', id, ...(error && { error }) }),
    told,
    cleaned,
    /** Resolves with the daemon's answer, or rejects with its error. */
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

/** Converts an error for the daemon. */
function told(error: unknown): Told {
  const { errors, originals } = Object(error)
  const all = [errors, originals].find(Array.isArray)
  const message = cleaned(all?.length ? all.map(reasonOf).join('; ') : reasonOf(error))
  return error instanceof Error && error.stack ? { message, stack: cleaned(error.stack) } : { message }
}

/** Redacts with the current environment, which the app may change at any time. */
const cleaned = (text: string) => cleanerFor(process.env)(text)
