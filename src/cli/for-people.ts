import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import { comparable } from '../lib/person-identity.ts'
import { withAuthors } from './about-conversation.ts'
import type { Connection } from './connection.ts'
import { heldLater } from './held-later.ts'
import { withMessages } from './message-previews.ts'
import { similarSender } from './person/known-person.ts'
import { skillPauseEffect } from './skill-pause-effect.ts'
import { withAttempts } from './with-attempts.ts'

type Add = (daemon: Pick<Connection, 'running' | 'invoke'>, result: Json, args: JsonObject) => Promise<Json>

/** Adds what the command has beside the result of a built-in skill, for `--json` too. */
export async function forAll(
  skill: string,
  result: Json,
  daemon: Pick<Connection, 'running' | 'invoke'>,
): Promise<Json> {
  return skill === 'gateway-list' ? withTraffic(daemon, result, {}) : result
}

/**
 * Adds what people want to see beside the result of a built-in skill; programs ask for it
 * themselves.
 */
export async function forPeople(
  skill: string,
  result: Json,
  daemon: Pick<Connection, 'running' | 'invoke'>,
  args: JsonObject,
): Promise<Json> {
  const add = Object.hasOwn(ADDED, skill) ? ADDED[skill] : undefined
  return add ? add(daemon, result, args) : result
}

/** Adds its `traffic` of the last hour to each gateway. */
const withTraffic: Add = async (daemon, gateways) => {
  const traffic = objectsIn(await daemon.invoke('gateway-traffic', {}).catch(() => []))
  return objectsIn(gateways).map((gateway) => {
    const own = traffic.find((each) => each.gateway === gateway.name)
    return { ...gateway, ...(own && { traffic: own }) }
  })
}

/** Adds to each paused gateway its `pause`: by whom, until when and why. */
const withPauses: Add = async (daemon, gateways) => {
  const all = objectsIn(gateways)
  if (!all.some(({ paused }) => paused)) return gateways
  const pauses = objectsIn(await daemon.invoke('pause-list', {}).catch(() => []))
  return all.map((gateway) => {
    const pause = pauses.find(({ kind, name }) => kind === 'gateway' && name === gateway.name)
    return { ...gateway, ...(pause && { pause }) }
  })
}

/**
 * Adds `failedReload`, why what was changed in the files is not in force, to gateways whose settings may
 * be among them.
 */
const withFailedReload: Add = async (daemon, gateways) => {
  const found = await daemon.invoke('troubles', {}).catch(() => null)
  const failed = objectsIn(pathGet(found, 'troubles')).find(({ code }) => code === 'configuration')
  if (!failed) return gateways
  const failedReload = `${failed.title}: ${failed.text}`
  return Array.isArray(gateways)
    ? objectsIn(gateways).map((gateway) => ({ ...gateway, failedReload }))
    : { ...Object(gateways), failedReload }
}

/** Adds to a request that is read by its id the message that led to it, as `shownMessage`. */
const withRequestMessage: Add = async (daemon, requests, { id }) => {
  if (id === undefined) return requests
  const all = objectsIn(requests).map(async (request) => {
    const messageId = pathGet(request, 'message.id')
    if (messageId === undefined) return request
    // Retention may have removed it.
    const shownMessage = await daemon.invoke('message-show', { id: messageId }).catch(() => null)
    return { ...request, shownMessage }
  })
  return Promise.all(all)
}

/** Adds to a secret that was tried where the `secrets` of its gateway are. */
const withPlaces: Add = async (daemon, tried, { gateway }) => {
  const shown = await daemon.invoke('gateway-show', { gateway: String(gateway) }).catch(() => null)
  const { secrets, refusals } = Object(shown)
  const isChanged = objectsIn(refusals).some(({ cause }) => cause === 'failed-change')
  return { ...Object(tried), ...defined({ secrets }), isChanged }
}

/** Adds `heldLater` to a pause of dispatch: sentences on what else it holds. */
const withHeldLater: Add = async (daemon, paused) => ({
  ...Object(paused),
  ...defined({ heldLater: await heldLater(daemon, Object(pathGet(paused, 'pause'))) }),
})

/** Also adds the `effect` of pausing a skill: what it holds, and who still calls the skill. */
const withEffect: Add = async (daemon, paused, args) => ({
  ...Object(await withHeldLater(daemon, paused, args)),
  ...defined({ effect: await skillPauseEffect(daemon, String(args.skill)) }),
})

/** Maximum number of people with whom something is open. */
const MAX_OPEN = 1_000

/** Adds to each person what is `open` with them, as `person-open` has it. */
const withOpen: Add = async (daemon, result) => {
  if (!daemon.running) return result
  const found = await daemon.invoke('person-open', { limit: MAX_OPEN }).catch(() => null)
  const open = new Map(
    objectsIn(pathGet(found, 'people')).map((each) => [comparable(String(each.identity)), each.open]),
  )
  const people = objectsIn(pathGet(result, 'people')).map((person) => ({
    ...person,
    ...defined({ open: open.get(comparable(String(person.identity))) }),
  }))
  return { ...Object(result), people }
}

/** Maximum number of senders whose names are looked up. */
const MAX_SENDERS = 1_000

/** Adds missing `name`s of people, from other messages of theirs. */
const withNames: Add = async (daemon, result) => {
  const people = objectsIn(pathGet(result, 'people'))
  if (!daemon.running || people.every(({ name }) => name !== undefined)) return result
  const senders = await daemon.invoke('person-list', { limit: MAX_SENDERS }).catch(() => null)
  const names = new Map(
    objectsIn(pathGet(senders, 'people')).map((each) => [comparable(String(each.identity)), each.name]),
  )
  const named = people.map((person) => {
    const name = person.name ?? names.get(comparable(String(person.identity)))
    return { ...person, ...defined({ name }) }
  })
  return { ...Object(result), people: named }
}

/** Adds to the count of a person without data the `similar` identity of a sender. */
const withSimilar: Add = async (daemon, result, { identity }) => {
  if (pathGet(result, 'total') !== 0 || !daemon.running) return result
  return { ...Object(result), ...defined({ similar: await similarSender(daemon, identity) }) }
}

const ADDED: Readonly<Record<string, Add>> = {
  'approval-list': withRequestMessage,
  'conversation-pause': withHeldLater,
  'conversation-show': withAuthors,
  'gateway-list': async (...asked) => withFailedReload(asked[0], await withPauses(...asked), {}),
  'gateway-pause': withHeldLater,
  'gateway-show': withFailedReload,
  'message-search': withAttempts,
  'person-count': withSimilar,
  'person-erase': withSimilar,
  'person-list': withOpen,
  'person-open': withNames,
  'refused-try': withPlaces,
  'route-pause': withHeldLater,
  'skill-pause': withEffect,
  'subscription-show': withMessages,
}
