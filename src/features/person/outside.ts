import { MESSAGE_TOPIC } from '../../core/event.ts'
import { pathGet } from '../../core/json.ts'
import type { RouteMatch } from '../../core/match.ts'
import type { Message } from '../../core/message.ts'
import type { Note, Store } from '../../core/store.ts'
import { isLasting } from '../../engine/event-access.ts'
import { compileMatcher } from '../../engine/matcher.ts'
import type { Outside } from '../../lib/copies-at.ts'
import { conversationKey, type Person } from './person.ts'

/** The configuration, as far as it says where copies are. */
export type OutsideConfig = {
  gateways: readonly { name: string; transport: string }[]
  /** Such as `anthropic:claude-sonnet-5`. */
  models: readonly string[]
}

export type OutsideDeps = {
  store: Pick<Store, 'journal' | 'topics'>
  outside(): OutsideConfig
  /** The filter of a consumer group or push subscription. */
  matchOf(topic: string, group: string): Promise<RouteMatch | undefined>
  /** Whether a failed run of a route may have called a model. */
  mayCallModel(route: string): boolean
}

/** Number of messages that are read together. */
const PAGE_SIZE = 100
/** How long (ms) messages are searched. What is not known then counts as a place with copies. */
const SEARCH_TIME = 3_000

/**
 * Where copies of a person's messages may be that an erasure does not reach. Receivers are those that
 * got one: groups that have read past a message that their filter allows, and pushes with an attempt.
 * Model providers are those that handled one. What cannot be known, such as of messages that only the
 * transcript still has, counts as a copy.
 */
export function createOutside(deps: OutsideDeps) {
  return async (person: Person, signal: AbortSignal): Promise<Outside> => {
    const { gateways, models } = deps.outside()
    const ofKind = (kind: string) =>
      gateways.filter(({ transport }) => transport === kind).map(({ name }) => name)
    const found = await copiesOf(person, deps, signal)
    const providers = found.mayBeAtModels ? [...found.models, ...models] : found.models
    return {
      mailboxes: ofKind('email'),
      chats: ofKind('slack'),
      models: [...new Set([...providers].map((model) => model.split(':')[0] ?? model))].toSorted(),
      receivers: [...found.receivers].toSorted(),
    }
  }
}

type Copies = { receivers: Set<string>; models: Set<string>; mayBeAtModels: boolean }

async function copiesOf(person: Person, deps: OutsideDeps, signal: AbortSignal): Promise<Copies> {
  const { journal } = deps.store
  const copies: Copies = { receivers: new Set(), models: new Set(), mayBeAtModels: false }
  if (person.messages.size === 0) return copies
  const groups = await groupsOf(deps)
  // Newest first, as ids sort in the order of the messages.
  const ids = [...person.messages].toSorted().toReversed()
  const deadline = performance.now() + SEARCH_TIME
  for (let at = 0; at < ids.length; at += PAGE_SIZE) {
    signal.throwIfAborted()
    if (performance.now() > deadline) {
      for (const { name } of groups) copies.receivers.add(name)
      copies.mayBeAtModels = true
      break
    }
    const page = ids.slice(at, at + PAGE_SIZE).map(async (id) => {
      addCopies(copies, { id, message: await journal.get(id), notes: await journal.history(id) })
    })
    await Promise.all(page)
  }
  return copies

  function addCopies(
    to: Copies,
    { id, message, notes }: { id: string; message: Message | undefined; notes: readonly Note[] },
  ): void {
    for (const { name, isReadTo, fits } of groups)
      if (!to.receivers.has(name) && isReadTo(id) && (!message || fits(message))) to.receivers.add(name)
    for (const { road, detail } of notes) {
      const push = pathGet(detail, 'subscription')
      if (road === 'push' && typeof push === 'string') to.receivers.add(push)
    }
    for (const model of modelsIn(notes)) to.models.add(model)
    // In a conversation with others, a model that answered them has also read this message.
    const isShared = message !== undefined && !person.conversations.has(conversationKey(message))
    if (!message || isShared || failedAtModel(notes, deps.mayCallModel)) to.mayBeAtModels = true
  }
}

/** The lasting groups of messages: whether each has read up to a message, and its filter. */
async function groupsOf({ store: { topics }, matchOf }: OutsideDeps) {
  const partitions = Array.from({ length: topics.partitions(MESSAGE_TOPIC) }, (_, partition) => partition)
  const consumed = await Promise.all(partitions.map((partition) => topics.consumed(MESSAGE_TOPIC, partition)))
  const readTo = consumed.map((groups) => new Map(groups.map(({ group, last }) => [group, last])))
  const isReadTo = (name: string, id: string) => {
    const { partition = 0, position } = topics.placeOf(MESSAGE_TOPIC, id) ?? {}
    // Without a place, it is not known.
    return position === undefined || position <= (readTo[partition]?.get(name) ?? 0)
  }
  const names = new Set((await topics.groups(MESSAGE_TOPIC)).map(({ group }) => group).filter(isLasting))
  const found = [...names].map(async (name) => {
    const match = await matchOf(MESSAGE_TOPIC, name)
    const fits = match === undefined ? () => true : compileMatcher(match)
    return { name, isReadTo: (id: string) => isReadTo(name, id), fits }
  })
  return Promise.all(found)
}

/** The models that handled a message or transcribed a recording of it. */
function modelsIn(notes: readonly Note[]): string[] {
  return notes.flatMap(({ road, detail }) => {
    const model = pathGet(detail, 'model')
    return road === 'dispatch' && typeof model === 'string' ? [model] : []
  })
}

/** Whether an attempt failed after a model may have got the message. */
function failedAtModel(notes: readonly Note[], mayCallModel: (route: string) => boolean): boolean {
  return notes.some(({ road, what, detail }) => {
    if (road !== 'dispatch' || (what !== 'failed' && what !== 'dead')) return false
    const [route, code] = [pathGet(detail, 'route'), pathGet(detail, 'code')]
    return String(code).startsWith('model_') || typeof route !== 'string' || mayCallModel(route)
  })
}
