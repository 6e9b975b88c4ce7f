import {
  routesStopAll,
  routesToStop,
  skillPauseEffect,
  skillPauseText,
  skillUseOf,
} from '../../lib/skill-pause-text.ts'
import { invoke } from './api.js'
import { html } from './html.js'
import { useLoaded } from './parts.js'

/** Who runs a skill. */
async function readUse(name, signal) {
  const [routes, schedules, { callers }, requests] = await Promise.all([
    invoke('route-list', {}, signal),
    invoke('schedule-list', {}, signal),
    invoke('skill-usage', { name, limit: 1 }, signal),
    invoke('approval-list', { status: 'pending', limit: 1_000 }, signal),
  ])
  const asking = requests.filter(({ skill, calledBy }) => skill === name && calledBy)
  const by = [...callers.map((caller) => caller.by), ...asking.map(({ calledBy }) => `skill ${calledBy}`)]
  return skillUseOf(name, { routes, schedules, callers: by })
}

/** Sentences on what pausing a skill holds, and who still calls it. */
export async function effectOfSkillPause(name, signal) {
  return skillPauseText(await readUse(name, signal))
}

/** The same, once it is known. */
export function SkillPauseEffect({ name }) {
  const { value } = useLoaded((signal) => effectOfSkillPause(name, signal), [name])
  return value ?? null
}

/**
 * The same before the pause, with a checkbox for each route whose pause stops calls by other
 * skills. `also`: the selected routes; `choose` gets the new selection.
 */
export function SkillPauseChoice({ name, also, choose }) {
  const { value: use } = useLoaded((signal) => readUse(name, signal), [name])
  if (!use) return null
  const offered = routesToStop(use)
  if (offered.length === 0) return html`<p>${skillPauseText(use)}</p>`
  const tick = (route) =>
    choose(also.includes(route) ? also.filter((each) => each !== route) : [...also, route])
  return html`<p>${routesStopAll(use) ? skillPauseEffect(use) : skillPauseText(use)}</p>
    <fieldset class="pause-also"><legend>${routesStopAll(use) ? 'To stop them, also pause' : 'Also pause'}</legend>${offered.map((route) => html`<label key=${route}><input type="checkbox" checked=${also.includes(route)} onChange=${() => tick(route)} /> route ${route}</label>`)}</fieldset>`
}
