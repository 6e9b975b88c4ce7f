import { invoke } from './api.js'
import { now } from './live.js'
import { useLoaded } from './parts.js'

const MAX_LETTERS = 200

/** The newest replies and mails that were not delivered, as dead letters. */
export function useUnsent() {
  const { dead = 0 } = now.value?.roads?.find(({ road }) => road === 'outbox') ?? {}
  const { value = [] } = useLoaded(
    async (signal) =>
      dead > 0 ? invoke('dead-letter-list', { queue: 'outbox', limit: MAX_LETTERS }, signal) : [],
    [dead],
  )
  return value
}

/**
 * The dead letter of the last word to the sender of a conversation: its reply or mail came after
 * the newest message and after the last reply that was sent.
 */
export function unsentTo({ gateway, conversation, from, subject, at, reply }, letters) {
  const names = [from?.address, from?.id].map((name) => name?.toLowerCase())
  return letters.find((letter) => {
    if (letter.group !== gateway || letter.at < Math.max(at, reply?.at ?? 0)) return false
    if (letter.message) return letter.message.conversation === conversation
    const { to, subject: sent } = letter.data ?? {}
    return names.includes(String(to).toLowerCase()) && isSameSubject(sent, subject)
  })
}

/** Whether two subjects are the same without `Re:`, or one is absent. */
function isSameSubject(one, other) {
  const bare = (text) =>
    text
      .replace(/^(?:\s*\p{L}{2,3}\s*:)+/u, '')
      .trim()
      .toLowerCase()
  return one === undefined || other === undefined || bare(one) === bare(other)
}
