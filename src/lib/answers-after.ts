import { isObject } from './is-object.ts'

/** An answer to the sender of a message. `state`: its last one, such as `sent`. */
export type Answer = { at: number; state: string; text?: string; error?: string }

/**
 * What was sent to the sender after a decision (Unix ms), by the history of the message: each answer
 * with its text and its last state. The message that asks for the approval does not count. Notes
 * without the key of an answer are about something else, such as who retried or dropped it.
 */
export function answersAfter(decidedAt: number, history: readonly unknown[]): Answer[] {
  const notes = history.flatMap((note) => {
    if (!isObject(note) || note.road !== 'outbox' || Number(note.at) < decidedAt) return []
    const detail = isObject(note.detail) ? note.detail : {}
    const key = textIn(detail.key)
    return key === undefined || key.startsWith('approval:') ? [] : [{ note, detail, key }]
  })
  const byKey = Map.groupBy(notes, ({ key }) => key)
  return [...byKey.values()].flatMap((own) => {
    const last = own.at(-1)
    if (!last) return []
    const text = own.map(({ detail }) => textIn(detail.text)).findLast((each) => each !== undefined)
    const error = textIn(last.detail.error) ?? textIn(last.detail.reason)
    const known = { ...(text !== undefined && { text }), ...(error !== undefined && { error }) }
    return [{ at: Number(last.note.at), state: String(last.note.what), ...known }]
  })
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
