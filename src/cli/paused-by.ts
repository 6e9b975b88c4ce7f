import { type JsonObject, objectsIn } from '../core/json.ts'
import { resumeCommand } from '../lib/resume-command.ts'
import type { Connection } from './connection.ts'

/**
 * Says which pause makes a message wait for dispatch (of its gateway, route, skill or conversation,
 * or of everything), and how to end it. Undefined without such a pause, or if the daemon cannot be
 * asked.
 */
export async function pausedBy(
  daemon: Pick<Connection, 'invoke' | 'explain'>,
  { id, gateway, conversation }: { id: string; gateway: string; conversation: string },
): Promise<string | undefined> {
  try {
    const pauses = objectsIn(await daemon.invoke('pause-list', {}))
    if (pauses.length === 0) return undefined
    if (pauses.some(isOfStore)) return STORE_PAUSED
    const route = objectsIn(await daemon.explain(id)).find(({ chosen }) => chosen === true)
    const names: Record<string, unknown> = { gateway, conversation, route: route?.route, skill: route?.skill }
    const found = pauses.find((pause) => {
      const isHere = pause.kind !== 'conversation' || pause.gateway === gateway
      return isHere && names[String(pause.kind)] === pause.name
    })
    if (!found) return undefined
    return `The ${found.kind} ${found.name} is paused, so the message waits. ${resumeCommand(found)} resumes it.`
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
