import { clockOf } from './clock-of.js'
import { html } from './html.js'
import { clock, now } from './live.js'
import { Badge, useLoaded } from './parts.js'
import { link } from './router.js'
import { count } from './troubles.js'
import { countWith, filtersOf } from './waiting-messages.js'

/** Polling interval (ms) of the number of messages that wait. */
const POLL_INTERVAL = 15_000

/** The used-up budget that keeps runs of a skill from beginning: `{ of, limit, until }`. */
export function usedUpOf(skill) {
  return skill && now.value?.usedUp?.find((each) => each.skill === skill)
}

/** The skills whose runs wait for the budget of all models. */
export const skillsWaiting = () =>
  (now.value?.usedUp ?? []).flatMap(({ of, skill }) => (of === 'all' ? skill : []))

/**
 * How many messages wait for the budget of a skill, as a link if they are of one route. `of`: the
 * skill or one of its routes, by `kind` and `name`. `isLinked`: not within a link.
 */
export function WaitForBudget({ of, what, end = '', isLinked = true }) {
  const { value } = useLoaded(async () => {
    const [waiting, filters] = await Promise.all([countWith('waiting', of), filtersOf(of)])
    return { ...waiting, filters }
  }, [of.kind, of.name, Math.floor(clock.value / POLL_INTERVAL)])
  const { many = 0, isCut, filters = [] } = value ?? {}
  if (many === 0) return null
  const plus = isCut ? '+' : ''
  const number = what ? count(many, what, plus) : `${many.toLocaleString('en')}${plus}`
  const text = `${number} ${many === 1 ? 'waits' : 'wait'}`
  return isLinked && filters.length === 1
    ? html`<a href=${link('messages', { ...filters[0], outcome: 'waiting' })}>${text}</a>${end}`
    : html`<span>${text}${end}</span>`
}

/** `budget used up until 18:30`, and how many messages wait, in a list; nothing if runs may begin. */
export function UsedUpState({ skill, of, isLinked }) {
  const usedUp = usedUpOf(skill)
  if (!usedUp) return null
  return html`<${Badge} kind="warn">budget used up until ${clockOf(usedUp.until)}<//> <${WaitForBudget} of=${of} isLinked=${isLinked} /> `
}

/** The same as a notice on the page of a skill, or of one of its routes. */
export function UsedUpNote({ skill, of }) {
  const usedUp = usedUpOf(skill)
  if (!usedUp) return null
  const whose =
    usedUp.of === 'all' ? 'of all skills' : html`of the skill <a href=${link(['skills', skill])}>${skill}</a>`
  return html`<p class="now-it warn" role="status">The budget ${whose} (${usedUp.limit}) is used up until <b>${clockOf(usedUp.until)}</b>. Runs do not begin before, unless the <a href=${link('cost')}>budget</a> is raised. <${WaitForBudget} of=${of} what="message" end="." /></p>`
}
