import { invoke } from './api.js'
import { ask } from './parts.js'
import { count } from './troubles.js'
import { countWith } from './waiting-messages.js'

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

/** The question before the messages of a pause run; undefined if none waits. */
async function questionOf({ kind, name, label = name, gateway, waiting = 0 }) {
  const found = await countWith('waiting', { kind, name, gateway })
  const many = Math.max(found?.many ?? 0, waiting)
  if (many === 0) return undefined
  const isConversation = kind === 'conversation'
  return {
    title: isConversation ? 'Hand the conversation back?' : `Resume ${kind} ${label}?`,
    body: `${count(many, 'message', found?.isCut ? '+' : '')} ${many === 1 ? 'waits and runs' : 'wait and run'} now, oldest first. What another pause holds goes on waiting.`,
    action: isConversation ? 'Hand back' : 'Resume',
  }
}
