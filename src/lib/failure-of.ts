/** Outcomes of messages whose last attempt failed, and of those whose reply was not sent. */
const FAILED: ReadonlySet<unknown> = new Set(['retrying', 'dead'])
const UNSENT: ReadonlySet<unknown> = new Set(['replying', 'undelivered', 'bounced', 'suppressed'])

/**
 * Why the last attempt on a message failed, or why its reply was not sent; undefined if neither is
 * so. `attempt`: the entry of `message-attempts`.
 */
export function failureOf(
  outcome: unknown,
  { error, unsent }: { error?: unknown; unsent?: unknown } = {},
): string | undefined {
  const text = FAILED.has(outcome) ? error : UNSENT.has(outcome) ? unsent : undefined
  return typeof text === 'string' && text !== '' ? text : undefined
}
