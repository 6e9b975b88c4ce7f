/** What an erasure never reaches. */
export const OUTSIDE =
  'Trivium cannot erase copies outside: in mailboxes and chats, at model providers, in backups and in logs. Erase them there, too.'

/**
 * Where copies of erased messages may be: consumer groups and push subscriptions that read them.
 * Trivium cannot erase these. Empty without any.
 */
export function copiesAt(receivers: unknown): string[] {
  if (!Array.isArray(receivers) || receivers.length === 0) return []
  return [
    `Copies may be at receivers of their messages: ${receivers.join(', ')}. Ask them to erase theirs, too.`,
  ]
}
