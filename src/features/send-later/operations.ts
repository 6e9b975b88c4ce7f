import { closed, limit, optional } from '../../core/arguments.ts'
import { spoken } from '../../core/spoken.ts'

/** Planned sends, made by `at` or `in` of `gateway-send`: `send-…`. */
export const sends = {
  /** Soonest first: the caller's own, for operators all, for a program those of its gateways. */
  list: closed({
    gateway: optional('Only through this gateway'),
    conversation: spoken(optional('Only into this conversation'), { id: 'conversation' }),
    limit: limit.default(100).describe('Maximum number of entries'),
  }).describe('Lists planned sends, soonest first.'),
  /** Throws `send_not_found`, `send_key_ambiguous`, and `send_decided` if it was already due. */
  cancel: closed({
    id: optional('The send: `key` from gateway-send, `id` from send-list, or the key you chose'),
    key: optional('The `key` that was given to gateway-send'),
    gateway: optional('With a key: only through this gateway'),
    messageId: spoken(optional('With a key: only the answer to this message'), { id: 'message' }),
  })
    .refine(({ id, key }) => (id === undefined) !== (key === undefined), 'give `id` or `key`')
    .describe('Cancels a planned send. It is either sent or cancelled, never both.'),
}
