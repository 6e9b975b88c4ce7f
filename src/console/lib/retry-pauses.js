import { invoke } from './api.js'
import { html } from './html.js'
import { useLoaded } from './parts.js'
import { PauseList, usePauses } from './pauses.js'
import { Resume } from './resume-button.js'
import { count } from './troubles.js'

/** Maximum number of waiting messages whose pauses are looked up. */
const MAX_READ = 20

/**
 * The pauses that will hold dead letters once they are retried. `queue` and `group`: of the
 * letters; `letters`: some of them, with their messages.
 */
async function pausesAhead({ queue, group, letters }) {
  const pauses = await invoke('pause-list')
  if (pauses.length === 0) return []
  if (queue?.startsWith('push/'))
    return pauses.filter(({ kind, name }) => kind === 'subscription' && queue === `push/${name}`)
  const messages = letters.flatMap(({ queue, group, message }) =>
    queue === 'dispatch' && message ? [{ ...message, route: group }] : [],
  )
  const routes = await invoke('route-list')
  const names = new Set([group, ...messages.map(({ route }) => route)].filter(Boolean))
  const skills = routes.filter(({ name }) => names.has(name)).map(({ to }) => to)
  const holds = {
    store: () => true,
    route: ({ name }) => names.has(name),
    skill: ({ name }) => skills.includes(name),
    gateway: ({ name }) => messages.some(({ gateway }) => gateway === name),
    conversation: ({ gateway, name }) =>
      messages.some((message) => message.gateway === gateway && message.conversation === name),
  }
  if (queue !== 'dispatch' && messages.length === 0) return []
  return pauses.filter((pause) => holds[pause.kind]?.(pause))
}

/** Says which pauses will hold retried letters, for a question. Null without such a pause. */
export async function pausesNote(of) {
  const pauses = await pausesAhead(of).catch(() => [])
  if (pauses.length === 0) return null
  return html`<p><b>They wait until the ${pauses.length === 1 ? 'pause ends' : 'pauses end'}:</b></p><${PauseList} of=${pauses} />`
}

/** Why retried messages wait: the pauses that hold them. `of`: a retry with its `messages`. */
export function RetryPauses({ of: { outcomes, messages = [] } }) {
  const { value: pauses = [] } = usePauses()
  const ids = messages
    .filter(({ queue, outcome }) => queue === 'dispatch' && outcome === 'waiting')
    .map(({ id }) => id)
    .slice(0, MAX_READ)
  const { value: attempts = [] } = useLoaded(
    async (signal) =>
      ids.length > 0 && pauses.length > 0 ? invoke('message-attempts', { ids }, signal) : [],
    [ids.join(), pauses.length],
  )
  const held = attempts.flatMap(({ pausedBy = [] }) => pausedBy)
  const holding = pauses.filter((pause) =>
    held.some(({ kind, name }) => kind === pause.kind && name === pause.name),
  )
  if (holding.length === 0 || !outcomes.waiting) return null
  const verb = outcomes.waiting === 1 ? 'waits' : 'wait'
  return html`<p><b>${count(outcomes.waiting, 'message')} ${verb} until the ${holding.length === 1 ? 'pause ends' : 'pauses end'}:</b></p><${PauseList} of=${holding} Action=${Resume} />`
}
