import { useEffect } from 'preact/hooks'
import { answersAfter } from '../../lib/answers-after.ts'
import { invoke } from './api.js'
import { useLoaded } from './parts.js'

/** How often (ms) to look for an answer that is not sent yet, and for how long after the decision. */
const LOOK = { every: 1_000, for: 30_000 }
/** Answers to requests that were decided long ago, by request; the oldest are forgotten first. */
const known = new Map()
const MAX_KNOWN = 500

/** What was sent to the sender of a request since it was decided. */
export function useAnswers({ id, message, status, decidedAt, expiresAt }) {
  const since = status === 'pending' ? undefined : (decidedAt ?? expiresAt)
  const { value = [], reload } = useLoaded(
    async (signal) => {
      if (!message || since === undefined) return []
      return known.get(id) ?? read({ id, message, since }, signal)
    },
    [message?.id, since],
  )
  const isOpen =
    message && since !== undefined && isRecent(since) && !value.some(({ state }) => state === 'sent')
  useEffect(() => {
    if (!isOpen) return
    const timer = setTimeout(reload, LOOK.every)
    return () => clearTimeout(timer)
  }, [isOpen, value])
  return value
}

const isRecent = (since) => Date.now() - since < LOOK.for

async function read({ id, message, since }, signal) {
  const shown = await invoke('message-show', { id: message.id }, signal).catch(() => undefined)
  if (!shown) return []
  const answers = answersAfter(since, shown.history)
  if (!isRecent(since) && answers.every(({ state }) => state === 'sent')) {
    if (known.size >= MAX_KNOWN) known.delete(known.keys().next().value)
    known.set(id, answers)
  }
  return answers
}
