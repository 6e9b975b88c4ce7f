import { reasonOf } from '../../../../src/core/errors.ts'
import { perTurn } from '../../../../src/lib/per-turn.ts'
import type { Ask, ErrorData, FromThread, ToThread } from '../protocol.ts'
import { redactorFor } from '../secrets.ts'

type Outcome = Omit<Extract<FromThread, { kind: 'done' }>, 'kind'>

export type Link = ReturnType<typeof createLink>

/**
 * The thread's connection to the daemon. Redacts secrets of the environment in the app's output.
 */
export function createLink(post: (messages: FromThread[]) => void) {
  const send = (message: FromThread) =>
    post([
      message.kind === 'log' || message.kind === 'warning'
        ? { ...message, text: redact(message.text) }
        : message,
    ])
  /**
   * For outcomes of runs. Other messages are sent immediately, because they may be the app's last.
   */
  const sendBatched = perTurn(post)
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  let serial = 0

  return {
    send,
    /** Reports the outcome of a run. */
    reportEnd: (outcome: Outcome) => sendBatched({ kind: 'done', ...outcome }),
    toErrorData,
    redact,
    /** Resolves with the daemon's answer, or rejects with its error. */
    ask(ask: Ask): Promise<unknown> {
      const id = ++serial
      const answer = Promise.withResolvers<unknown>()
      pending.set(id, answer)
      send({ kind: 'ask', id, ask })
      return answer.promise
    },
    /** Settles the `ask` that an answer of the daemon belongs to. */
    settle({ id, ...answer }: Extract<ToThread, { kind: 'answer' }>) {
      const waiting = pending.get(id)
      pending.delete(id)
      if (answer.error) waiting?.reject(new Error(answer.error.message))
      else waiting?.resolve(answer.value)
    },
  }
}

/**
 * Converts an error for the daemon: several errors of Bolt or of an AggregateError become one text.
 */
function toErrorData(error: unknown): ErrorData {
  const { errors, originals } = Object(error)
  const all = [errors, originals].find(Array.isArray)
  const message = redact(all?.length ? all.map(reasonOf).join('; ') : reasonOf(error))
  return error instanceof Error && error.stack ? { message, stack: redact(error.stack) } : { message }
}

/** Redacts with the current environment, which the app may change at any time. */
const redact = (text: string) => redactorFor(process.env)(text)
