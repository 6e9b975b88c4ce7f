import { type JsonObject, objectsIn } from '../core/json.ts'
import { timeOf } from '../core/readable.ts'
import { budgetFreeText } from '../lib/budget-wait.ts'
import { resumeCommand } from '../lib/resume-command.ts'
import type { Connection } from './connection.ts'
import { usedUpIn } from './route-facts.ts'

/**
 * Says which pauses make a message wait for dispatch (of its gateway, route, skill or conversation,
 * or of everything), how to end them, and when its used-up budget is free again. Undefined without
 * such a pause, or if the daemon cannot be asked.
 */
export async function pausedBy(
  daemon: Pick<Connection, 'invoke' | 'explain' | 'status'>,
  { id, gateway, conversation }: { id: string; gateway: string; conversation: string },
): Promise<string | undefined> {
  try {
    const pauses = objectsIn(await daemon.invoke('pause-list', {}))
    if (pauses.length === 0) return undefined
    if (pauses.some(isOfStore)) return STORE_PAUSED
    const route = objectsIn(await daemon.explain(id)).find(({ chosen }) => chosen === true)
    const names: Record<string, unknown> = { gateway, conversation, route: route?.route, skill: route?.skill }
    const found = pauses.filter((pause) => {
      const isHere = pause.kind !== 'conversation' || pause.gateway === gateway
      return isHere && names[String(pause.kind)] === pause.name
    })
    if (found.length === 0) return undefined
    const usedUp = usedUpIn(await daemon.status()).find(({ skill }) => skill === route?.skill)
    const held = found.map(
      (pause) =>
        `The ${pause.kind} ${pause.name} is paused, so the message waits. ${resumeCommand(pause)} resumes it.`,
    )
    const budget = usedUp && budgetFreeText(usedUp, timeOf)
    return [...held, ...(budget ? [`It runs after that when ${budget}.`] : [])].join(' ')
  } catch {
    return undefined
  }
}

/** When the used-up budget that a message waits for is free again; undefined if it waits for none. */
export async function waitsForBudget(
  daemon: Pick<Connection, 'explain' | 'status'>,
  id: string,
): Promise<string | undefined> {
  try {
    const route = objectsIn(await daemon.explain(id)).find(({ chosen }) => chosen === true)
    const usedUp = usedUpIn(await daemon.status()).find(({ skill }) => skill === route?.skill)
    return usedUp && `The message waits: ${budgetFreeText(usedUp, timeOf)}.`
  } catch {
    return undefined
  }
}

const STORE_PAUSED = 'Everything is paused, so the message waits. `trivium daemon resume` resumes it.'

/** Why a message waits, if the whole store is paused: no reply will come until it is resumed. */
export async function pausedByStore(daemon: Connection): Promise<string | undefined> {
  const pauses = await daemon.invoke('pause-list', {}).catch(() => null)
  return objectsIn(pauses).some(isOfStore) ? STORE_PAUSED : undefined
}

function isOfStore({ kind }: JsonObject): boolean {
  return kind === 'store'
}
