import { objectsIn } from '../core/json.ts'
import { commandText } from '../lib/command-text.ts'
import type { Connection } from './connection.ts'

/**
 * Says which gateway, route, skill or conversation is paused, so that a message waits for dispatch, and how to resume it. Undefined if
 * none is paused, or if the daemon cannot be asked.
 */
export async function pausedBy(
  daemon: Connection,
  { id, gateway, conversation }: { id: string; gateway: string; conversation: string },
): Promise<string | undefined> {
  try {
    const pauses = objectsIn(await daemon.invoke('pause-list', {}))
    if (pauses.length === 0) return undefined
    const route = objectsIn(await daemon.explain(id)).find(({ chosen }) => chosen === true)
    const names: Record<string, unknown> = { gateway, conversation, route: route?.route, skill: route?.skill }
    const found = pauses.find(({ kind, name }) => names[String(kind)] === name)
    if (!found) return undefined
    const { kind, name } = found
    return `The ${kind} ${name} is paused, so the message waits. ${commandText(`${kind} resume`, name)} resumes it.`
  } catch {
    return undefined
  }
}
