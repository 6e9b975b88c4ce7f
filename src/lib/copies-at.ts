/**
 * Where copies may be that an erasure does not reach, from the configuration: gateways with mailboxes
 * and chats, and model providers. `receivers`: consumer groups and push subscriptions of messages.
 */
export type Outside = { mailboxes: string[]; chats: string[]; models: string[]; receivers: string[] }

/** What an erasure never reaches, if the places are not known. */
const UNKNOWN = ['in mailboxes and chats', 'at model providers']

/** What an erasure never reaches, in one sentence. */
export function outsideText(outside: unknown): string {
  const { mailboxes, chats, models }: Record<string, unknown> = Object(outside)
  const known = [
    named('in mailboxes', mailboxes),
    named('in chats', chats),
    named('at model providers', models),
  ].flat()
  const places = Array.isArray(mailboxes) ? known : UNKNOWN
  const all = [...places, 'in backups and in logs'].join(', ')
  return `Trivium cannot erase copies outside: ${all}. Erase them there, too.`
}

function named(where: string, names: unknown): string[] {
  return Array.isArray(names) && names.length > 0 ? [`${where} (${names.join(', ')})`] : []
}

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
