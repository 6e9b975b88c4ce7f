import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { senderText } from '../engine/print/sender.ts'
import { lineOf } from '../lib/short-text.ts'
import type { Connection } from './connection.ts'

/** Maximum number of messages that are read. */
const MAX_MESSAGES = 50
/** Maximum characters of a text. */
const MAX_TEXT = 60

/**
 * For a push of the topic `gateway-message`: adds to each attempt a field `about` with the sender
 * and the beginning of the text of its message.
 */
export async function withMessages(daemon: Pick<Connection, 'invoke'>, push: Json): Promise<Json> {
  if (pathGet(push, 'topic') !== 'gateway-message') return push
  const attempts = objectsIn(pathGet(push, 'attempts'))
  const ids = [...new Set(attempts.map(({ event }) => String(event)))].slice(0, MAX_MESSAGES)
  const found = await Promise.all(ids.map(async (id) => [id, await aboutOf(daemon, id)] as const))
  const about = new Map(found)
  const shown = attempts.map((attempt) => ({ ...attempt, about: about.get(String(attempt.event)) ?? '' }))
  return { ...Object(push), attempts: shown }
}

/** Adds such a field `about` for the oldest unread message to the groups of `event-groups`. */
export async function withOldestMessages(daemon: Pick<Connection, 'invoke'>, groups: Json): Promise<Json> {
  const shown = objectsIn(groups).map(async (group): Promise<JsonObject> => {
    const isOfMessages = group.topic === 'gateway-message' && group.oldestId !== undefined
    return isOfMessages ? { ...group, about: await aboutOf(daemon, String(group.oldestId)) } : group
  })
  return Promise.all(shown)
}

/** The sender and the beginning of the text; empty if the message is no longer stored. */
async function aboutOf(daemon: Pick<Connection, 'invoke'>, id: string): Promise<string> {
  const found = await daemon.invoke('message-show', { id }).catch(() => null)
  const message: JsonObject = Object(pathGet(found, 'message'))
  const text = message.subject ?? pathGet(found, 'summary') ?? message.text
  if (message.gateway === undefined) return ''
  return lineOf([senderText(message.from), text].filter(Boolean).join(': '), MAX_TEXT)
}
