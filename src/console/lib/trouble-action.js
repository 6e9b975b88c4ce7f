import { html } from './html.js'
import { later } from './later-file.js'
import { act, useOnce } from './parts.js'
import { link } from './router.js'
import { placeOf } from './troubles.js'
import { useWaitingOfSkill } from './waiting-of-skill.js'

const TryNow = later.part('TryNow')

/** The label of the link to the place where a trouble is handled, by its code. */
const LABELS = {
  'gateway-down': 'Check the gateway',
  'messages-lost': 'See the gateway',
  refusals: 'See what was refused',
  'queue-down': 'See the queues',
  'group-lag': 'See the group',
  'group-stalled': 'See the group',
  'dead-letters': 'See the causes',
  'schedule-failed': 'See the failed runs',
  backlog: 'See the messages',
  retrying: 'See the messages',
  'attempt-hangs': 'See or cancel it',
  unrouted: 'See the messages',
  'approval-waiting': 'Decide',
  unanswered: 'See who waits',
  'skill-broken': 'See the error',
  configuration: 'See the line',
  budget: 'See the cost',
  'subscription-down': 'See the push',
  'subscription-errors': 'See the attempts',
  'subscription-paused': 'See the push',
}

function labelOf({ code, where }) {
  return code === 'backlog' && where.road === 'receive' ? 'See the gateway' : LABELS[code]
}

/** The operation that ends a pause, or tries a failing push, with its arguments. */
function resumeOf({ code, where, title, count }) {
  if (code === 'subscription-paused' || code === 'subscription-down') {
    const name = where.subscription
    if (code === 'subscription-paused' || title.endsWith(' is switched off'))
      return { skill: 'subscription-resume', args: { name }, name, kind: 'subscription' }
    // No events wait for another attempt.
    if (count === 0) return undefined
    return {
      skill: 'subscription-retry',
      args: { name },
      name,
      verb: 'Try now',
      said: `${name} is tried now.`,
    }
  }
  if (code !== 'paused') return undefined
  if (title === 'Everything is paused') return { skill: 'daemon-resume', args: {}, name: 'everything' }
  if (where.gateway) return resumeOfKind('gateway', where.gateway)
  if (where.skill) return resumeOfKind('skill', where.skill)
  if (where.schedule) return { ...resumeOfKind('schedule', where.schedule), args: { id: where.schedule } }
  return title.startsWith('Route ') ? resumeOfKind('route', where.reason) : undefined
}

function resumeOfKind(kind, name) {
  return { skill: `${kind}-resume`, args: { [kind]: name }, name, kind }
}

/** The end of the text of a pause that holds messages. The count is 1 even if it holds none. */
const WAITING = /\d messages? waits?\.$/

/** The messages that wait for a pause, as a link; nothing if none does, or no filter finds them. */
function SeeWaiting({ of: { where, text, count: many } }) {
  if (!WAITING.test(text)) return null
  const { gateway, skill, reason } = where
  const label = many === 1 ? 'See it' : 'See them'
  if (!gateway && skill) return html`<${WaitingOfSkill} skill=${skill} label=${label} />`
  const query = { outcome: 'waiting', ...(gateway ? { gateway } : { route: reason }) }
  return html`<a class="action" href=${link('messages', query)}>${label}</a>`
}

function WaitingOfSkill({ skill, label }) {
  const query = useWaitingOfSkill({ name: skill })
  return query && html`<a class="action" href=${link('messages', query)}>${label}</a>`
}

const isOneCause = ({ code, where }) => code === 'dead-letters' && where.pattern !== undefined

/** The button that changes a pause, loaded after the first view. */
const Change = later.part('ChangeOnNow')

/** What can be done about a trouble here: a button that ends a pause, or the way to its place. */
export function TroubleAction({ trouble }) {
  const [isBusy, once] = useOnce()
  const { code } = trouble
  const { path, query } = placeOf(trouble)
  const resume = resumeOf(trouble)
  const label = isOneCause(trouble) || (code === 'paused' && !resume) ? 'See them' : labelOf(trouble)
  if (!label && !resume) return null
  const end = () =>
    act(async () => {
      const { resumeWith } = await later.fetch()
      const { skill, args, said } = resume
      const ended = await resumeWith(skill, args, resume)
      return ended && (said ?? ended)
    })
  return html`${code === 'paused' && resume && html`<${SeeWaiting} of=${trouble} />`}${label && html`<a class="action" href=${link(path, query)}>${label}</a>`}
    ${code === 'retrying' && html`<${TryNow} of=${trouble} />`}
    ${code.endsWith('paused') && resume && html` <${Change} of=${resume} />`}
    ${resume && html` <button changes type="button" class="small" aria-disabled=${isBusy} onClick=${() => once(end)} aria-label=${resume.verb ? `${resume.verb}: ${resume.name}` : `Resume ${resume.name}`}>${resume.verb ?? 'Resume'}</button>`}`
}
