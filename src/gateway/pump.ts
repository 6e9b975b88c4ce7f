import type { Message } from '../core/message.ts'
import type { Journal, NewJob, Note } from '../core/store.ts'

/** The little that the pump needs to know of a route. */
type Routed = { name: string }

/**
 * Moves accepted messages from the journal to the lanes: reads after the dispatch cursor, matches each
 * message, and commits the jobs together with the cursor. A crash between the two steps repeats them
 * harmlessly, and of several daemons one wins each batch.
 *
 * Returns how many messages it moved, or undefined where another daemon was faster. Messages that no route
 * matches get a note in their history and no job, unless somebody waits for how they end.
 */
export async function pumpOnce(options: {
  journal: Pick<Journal, 'unpumped' | 'pumped' | 'note'>
  match(message: Message): Routed | undefined
  unrouted(message: Message): void
  max: number
  now(): number
}): Promise<number | undefined> {
  const { cursor, messages } = await options.journal.unpumped(options.max)
  const last = messages.at(-1)
  if (!last) return 0

  const jobs: NewJob[] = []
  const unmatched: Message[] = []
  for (const { message } of messages) {
    const route = options.match(message)
    if (route || isAwaited(message)) jobs.push(jobFor(message, route?.name ?? ''))
    else unmatched.push(message)
  }
  if (!(await options.journal.pumped(cursor, last.position, jobs))) return undefined
  const note: Note = { at: options.now(), road: 'dispatch', what: 'unrouted' }
  for (const message of unmatched) options.unrouted(message)
  // Asked for in one turn, so that the store makes one step of them.
  await Promise.all(unmatched.map((message) => options.journal.note(message.id, [note])))
  return messages.length
}

/** Messages of one conversation of one gateway share a lane. */
function jobFor(message: Message, route: string): NewJob {
  return {
    id: message.id,
    lane: `${message.gateway}/${message.conversation}`,
    group: route,
    messageId: message.id,
    ...(isAwaited(message) ? { notify: true } : {}),
  }
}

function isAwaited(message: Message): boolean {
  return message.data.respond === 'result'
}
