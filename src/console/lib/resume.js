import { invoke } from './api.js'
import { ask } from './parts.js'

/** The operation that ends the pause of the whole store. */
export const EVERYTHING = 'daemon-resume'

/** Resumes with an operation. To resume everything, asks first; false if the answer is no. */
export async function resumeWith(skill, args) {
  const title = 'Resume everything?'
  const body = 'Skills, replies, planned sends, pushes and schedules continue in all daemons of the store.'
  if (skill === EVERYTHING && !(await ask({ title, body, action: 'Resume' }))) return false
  await invoke(skill, args)
  return true
}
