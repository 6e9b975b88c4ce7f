import { invoke } from './api.js'
import { ask } from './parts.js'
import { count } from './troubles.js'
import { heldBy } from './waiting-messages.js'

/** The operation that ends the pause of the whole store. */
export const EVERYTHING = 'daemon-resume'

/** The question before everything is resumed. */
const ALL = {
  title: 'Resume everything?',
  body: 'Skills, replies, planned sends, pushes and schedules continue in all daemons of the store.',
  action: 'Resume',
}

/**
 * Resumes with an operation. If everything or waiting messages are resumed, asks first; false if
 * the answer is no. `pause`: its kind, name and gateway, and the number of messages known to wait.
 */
export async function resumeWith(skill, args, pause = {}) {
  const question = skill === EVERYTHING ? ALL : await questionOf(pause)
  if (question && !(await ask(question))) return false
  await invoke(skill, args)
  return true
}

/** The question before the messages of a pause run; undefined if none does. */
async function questionOf(pause) {
  const { kind, name, label = name, waiting = 0 } = pause
  // If they cannot be read, the number of the pause is asked about.
  const { ids, others, isCut } = await heldBy(pause).catch(() => ({ ids: [], others: [], isCut: true }))
  const many = isCut ? Math.max(ids.length, waiting - others.length) : ids.length
  if (many === 0) return undefined
  const isConversation = kind === 'conversation'
  return {
    title: isConversation ? 'Hand the conversation back?' : `Resume ${kind} ${label}?`,
    body: `${count(many, 'message', isCut ? '+' : '')} ${many === 1 ? 'waits and runs' : 'wait and run'} now, oldest first.${othersIn(others.length)}`,
    action: isConversation ? 'Hand back' : 'Resume',
  }
}

function othersIn(many) {
  return many === 0 ? '' : ` Another pause still holds ${count(many, 'more message')}.`
}
