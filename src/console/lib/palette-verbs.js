import { invoke } from './api.js'
import { decide } from './approval.js'
import { handBackQuestion } from './hand-back.js'
import { act, ask } from './parts.js'
import { cancelRun, pauseWith } from './pause.js'
import { retryMessage } from './retry-message.js'
import { go } from './router.js'

/** Verbs whose objects are searched, by what finds them. */
const VERBS = {
  people: ['erase', 'export'],
  conversations: ['take over', 'hand back', 'settle', 'answer'],
  approvals: ['approve', 'deny'],
  messages: ['retry', 'cancel'],
  causes: ['retry'],
  jobs: ['cancel'],
}

const PHRASE = new RegExp(`^(${[...new Set(Object.values(VERBS).flat())].join('|')})\\s+(\\S.*)$`, 'i')

/** `{ verb, object }` of a text such as `take over émile`; without a verb, the object is the text. */
export function phraseIn(text) {
  const [, verb, object = text] = PHRASE.exec(text) ?? []
  return { verb: verb?.toLowerCase(), object }
}

/** The same for what a finder finds: other verbs are words of the search. */
export function phraseFor(found, text) {
  const phrase = phraseIn(text)
  return VERBS[found].includes(phrase.verb) ? phrase : { object: text }
}

/**
 * The name of an entry for a conversation after a verb, and what it does: it opens the question, or the
 * field of the answer. Empty without a verb.
 */
export function actOnConversation(row, verb) {
  const { gateway, conversation, from = {} } = row
  const who = from.name || from.address || from.id || conversation
  const path = ['conversations', gateway, conversation]
  if (verb === 'answer') return verbEntry('Answer', () => go(path, { do: 'answer' }))
  if (verb === 'hand back') return verbEntry('Hand back', () => handBack(row, who))
  if (verb !== 'take over') return {}
  const question = { kind: 'conversation', of: { gateway, conversation }, name: who, action: 'Take over' }
  return verbEntry('Take over', async () => (await pauseWith(question)) && go(path))
}

/** `prefix` comes before the name of the entry. */
const verbEntry = (prefix, run) => ({ prefix, run })

async function handBack(row, who) {
  const { body, change } = await handBackQuestion([row])
  if (!(await ask({ title: `Hand ${who} back?`, body, action: 'Hand back' }))) return
  await act(async () => {
    await change(row)
    return `${who} is handed back.`
  })
}

/** The same for a request for an approval, once decided: nothing. */
export function actOnRequest(request, verb) {
  if (request.status !== 'pending' || verb === undefined) return {}
  const isApproval = verb === 'approve'
  return verbEntry(isApproval ? 'Approve' : 'Deny', () => decide(request, isApproval))
}

/** Messages that a verb is for, by their outcomes. */
const OUTCOMES = { retry: 'dead', cancel: 'running' }
/** Maximum number of messages that are read. */
const MAX_MESSAGES = 6

/** Failed messages to retry, and running ones whose attempt can be cancelled. Nothing without a verb. */
export async function messagesFor(verb, search, signal) {
  const outcome = OUTCOMES[verb]
  if (outcome === undefined) return []
  const { messages } = await invoke('message-search', { search, outcome, limit: MAX_MESSAGES }, signal)
  return messages.map((message) => ({
    message,
    ...verbEntry(verb === 'retry' ? 'Retry' : 'Cancel the attempt', () =>
      verb === 'retry' ? retryMessage(message) : cancelRun(message.id),
    ),
  }))
}
