type Said = { at?: unknown } | undefined

/** The times (Unix ms) of a row of `conversation-list`. */
type Row = { at?: unknown; reply?: Said; undelivered?: Said; answeredAt?: unknown }

/** When either side of a conversation wrote last (Unix ms), as a row of `conversation-list` shows it. */
export function lastSaidAt({ at, reply, undelivered, answeredAt }: Row): number {
  return Math.max(...[at, reply?.at, undelivered?.at, answeredAt].map((time) => Number(time ?? 0)))
}
