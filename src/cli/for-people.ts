import type { Json } from '../core/json.ts'
import { withAuthors } from './about-conversation.ts'
import { withMessages } from './about-events.ts'
import type { Connection } from './connection.ts'

type Add = (daemon: Pick<Connection, 'running' | 'invoke'>, result: Json) => Promise<Json>

/**
 * Adds what people want to see beside the result of a built-in skill; programs ask for it
 * themselves.
 */
export async function forPeople(
  skill: string,
  result: Json,
  daemon: Pick<Connection, 'running' | 'invoke'>,
): Promise<Json> {
  const add = Object.hasOwn(ADDED, skill) ? ADDED[skill] : undefined
  return add ? add(daemon, result) : result
}

const ADDED: Readonly<Record<string, Add>> = {
  'conversation-show': withAuthors,
  'subscription-show': withMessages,
}
