import { type JsonObject, objectsIn, pathGet, textAt } from '../../../core/json.ts'
import { defined } from '../../../lib/defined.ts'

/**
 * What was sent to the sender after a decision, by the history of the message: each answer with its
 * text and its last state. The message that asks for the approval does not count. Notes without the
 * key of an answer are about something else, such as who retried or dropped it.
 */
export function answersAfter({ decidedAt = 0, shownMessage = null }: JsonObject): JsonObject[] {
  const notes = objectsIn(pathGet(shownMessage, 'history')).filter(({ road, at, detail }) => {
    const key = textAt(Object(detail), 'key')
    const isOfAnswer = key !== undefined && !key.startsWith('approval:')
    return road === 'outbox' && isOfAnswer && Number(at) >= Number(decidedAt)
  })
  const byKey = Map.groupBy(notes, ({ detail }) => textAt(Object(detail), 'key') ?? '')
  return [...byKey.values()].map((own) => {
    const last = own.at(-1)
    const detail = Object(last?.detail)
    const text = own.map((note) => textAt(Object(note.detail), 'text')).findLast((each) => each !== undefined)
    const error = textAt(detail, 'error') ?? textAt(detail, 'reason')
    return defined({ at: last?.at, state: last?.what, text, error })
  })
}
