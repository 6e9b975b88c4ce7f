import type { Approval } from '../../core/approval.ts'
import { textAt } from '../../core/json.ts'
import type { Journal } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'

/**
 * The post of a request in the conversation of its message, which its sender may read: the text,
 * and its last state such as `sent` or `not sent`. Undefined without a message, and if its history
 * cannot be read.
 */
export async function postedOf(journal: Pick<Journal, 'history'>, { id, message }: Approval) {
  if (!message) return undefined
  const history = await journal.history(message.id).catch(() => [])
  const notes = history.filter(
    ({ road, detail }) => road === 'outbox' && textAt(detail, 'key') === `approval:${id}`,
  )
  const last = notes.at(-1)
  if (!last) return undefined
  const text = notes.map(({ detail }) => textAt(detail, 'text')).findLast((each) => each !== undefined)
  const error = textAt(last.detail, 'error') ?? textAt(last.detail, 'reason')
  return { at: last.at, state: last.what, ...defined({ text, error }) }
}
