/** Maximum number of messages held by pauses that the daemon counts. */
export const MOST_HELD = 1_000

/** `67 held by pauses`; empty if there are none. */
export function heldText(held: unknown): string {
  const many = Number(held ?? 0)
  if (many === 0) return ''
  return `${many.toLocaleString('en')}${many >= MOST_HELD ? '+' : ''} held by pauses`
}
