/** What a mark of a provider means. Texts are Markdown with links as in docs/webhook-providers.md. */
export const MARKS = {
  'sender not verified':
    'The provider signs only a part of the delivery. Someone who has seen a delivery can send others with the same signed part, so their sender is [not verified](webhook.md#verified-senders).',
  'id is a hash':
    'The provider sends no id of the delivery. One with the same body is accepted once within 7 days: **two equal events count as one**.',
  'no id':
    'Each delivery is a new message, even if the provider repeats it. If that matters, [name a `key`](#repeated-deliveries) or let the skill compare.',
  'signs the address': 'Trivium has to know its public address: set `TRIVIUM_PUBLIC_URL`.',
  split: 'Each event of a delivery [is a message of its own](webhook-in-depth.md#lists).',
} as const

export type Mark = keyof typeof MARKS

/** The anchor of a mark in docs/webhook-providers.md. */
export function markAnchor(mark: Mark): string {
  return `mark-${mark.replaceAll(' ', '-')}`
}
