import type { AuditEntry } from '../../core/audit.ts'
import type { Message } from '../../core/message.ts'
import type { Journal } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { foldedTest } from '../../lib/fold-text.ts'

/** The message that an entry is about, as the journal has it now. */
export type About = {
  messageId: string
  gateway: string
  conversation: string
  from: Message['from']
  subject?: string
}

/** Actions whose argument `id` may be the id of a message. */
const OF_MESSAGES = /^(?:dead-letter|message)-/
const MESSAGE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
/** Maximum characters of a subject. */
const LONGEST_SUBJECT = 120

/**
 * Makes a function that finds the person and the subject of an entry by the id of its message. The
 * log itself has neither, so that both are gone with an erased message.
 */
export function createAboutReader(journal: Pick<Journal, 'get'>) {
  return async (entry: Pick<AuditEntry, 'action' | 'target'>): Promise<About | undefined> => {
    const id = messageOf(entry)
    if (id === undefined) return undefined
    // A list without the names of an unreachable shard is better than none.
    const message = await journal.get(id).catch(() => undefined)
    if (!message) return undefined
    const { gateway, conversation, from, subject } = message
    const shown = subject === undefined ? undefined : subject.slice(0, LONGEST_SUBJECT)
    return { messageId: id, gateway, conversation, from, ...defined({ subject: shown }) }
  }
}

/** Returns a test whether the person or the subject of an entry has a text in it. */
export function aboutText(text: string): (about: About) => boolean {
  const isIn = foldedTest(text)
  return ({ from, subject }) => [from.name, from.address, from.id, subject].some(isIn)
}

/** The id of the message that an entry is about. */
function messageOf({ action, target = {} }: Pick<AuditEntry, 'action' | 'target'>): string | undefined {
  const { messageId, id } = target
  if (typeof messageId === 'string') return messageId
  const isMessage = OF_MESSAGES.test(action) && typeof id === 'string' && MESSAGE_ID.test(id)
  return isMessage ? id : undefined
}
