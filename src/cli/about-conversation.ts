import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import type { Connection } from './connection.ts'

type Daemon = Pick<Connection, 'running' | 'invoke'>

/**
 * Adds to each message of a conversation its last `attempt`, which has what it waits for, and to
 * each reply of a route the `skill` of the route. Only a daemon knows them.
 */
export async function withAuthors(daemon: Daemon, found: Json): Promise<Json> {
  const entries = objectsIn(pathGet(found, 'entries'))
  if (!daemon.running || entries.length === 0) return found
  const ids = entries.flatMap(({ id, outcome }) => (UNSETTLED.has(String(outcome)) ? [String(id)] : []))
  const [routes, attempts] = await Promise.all([
    daemon.invoke('route-list', {}).catch(() => []),
    ids.length === 0 ? [] : daemon.invoke('message-attempts', { ids: ids.slice(-MOST) }).catch(() => []),
  ])
  const skills = skillsOf(objectsIn(routes))
  const byId = new Map(objectsIn(attempts).map((attempt) => [attempt.id, attempt]))
  const shown = entries.map((entry) => ({
    ...entry,
    ...defined({ attempt: byId.get(entry.id), skill: skills.get(`route ${nameIn(entry.by)}`) }),
  }))
  return { ...Object(found), entries: shown }
}

/** Maximum number of messages of one call. */
const MOST = 200
const UNSETTLED = new Set(['waiting', 'running', 'retrying'])

function skillsOf(routes: readonly JsonObject[]): Map<string, string> {
  const ofSkills = routes.filter(({ target }) => target === 'skill')
  return new Map(ofSkills.map(({ name, to }) => [`route ${name}`, String(to)]))
}

/** The name in `route orders`. */
function nameIn(by: Json | undefined): string {
  return String(by ?? '').replace(/^route /, '')
}
