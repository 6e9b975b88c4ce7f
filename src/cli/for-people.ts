import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import { withAuthors } from './about-conversation.ts'
import type { Connection } from './connection.ts'
import { withMessages } from './message-previews.ts'
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

/** Adds to the pause of a skill its `effect`: what it holds, and who still calls the skill. */
const withEffect: Add = async (daemon, paused, { skill }) => ({
  ...Object(paused),
  ...defined({ effect: await skillPauseEffect(daemon, String(skill)) }),
})

const ADDED: Readonly<Record<string, Add>> = {
  'approval-list': withRequestMessage,
  'conversation-show': withAuthors,
  'gateway-list': withPauses,
  'message-search': withAttempts,
  'refused-try': withPlaces,
  'skill-pause': withEffect,
  'subscription-show': withMessages,
}
