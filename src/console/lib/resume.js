import { resumedUseText } from '../../lib/resumed-budget.ts'
import { heldRunsText, resumedText, waitedText } from '../../lib/resumed-text.ts'
import { invoke, mayRun } from './api.js'
import { amountIn } from './budget-amount.js'
import { clockOf } from './clock-of.js'
import { html } from './html.js'
import { now } from './live.js'
import { Age, ask, Gist } from './parts.js'
import { HOLDS_MESSAGES, kindInWords } from './pause-form.js'
import { count } from './troubles.js'
import { heldBy, heldRuns } from './waiting-messages.js'

/** The operation that ends the pause of the whole store. */
export const EVERYTHING = 'daemon-resume'

/** Maximum number of messages that a question lists. */
const MAX_LISTED = 5
/** How long (ms) to wait until messages are recorded as handled, and how often to look. */
const DISMISSAL = { for: 10_000, every: 300 }

const CAME_MEANWHILE =
  'Another message has come, so the conversation was not handed back. Read it, then hand back again.'

/** The question before everything is resumed. */
const ALL = {
  title: 'Resume everything?',
  body: 'Skills, replies, planned sends, pushes and schedules continue in all daemons of the store.',
  action: 'Resume',
}

/**
 * Resumes with an operation. If everything or waiting messages are resumed, asks first. Resolves with
 * a sentence that says what was resumed and what runs now; undefined if the answer is no. `pause`: its
 * kind, name and gateway, and the number of messages known to wait.
 */
export async function resumeWith(skill, args, pause = {}) {
  const kind = skill === EVERYTHING ? 'store' : skill.replace(/-resume$/, '')
  const held = HOLDS_MESSAGES.has(kind) && !pause.drop ? await readHeld(pause) : undefined
  const question =
    kind === 'store' ? ALL : held && held.many + held.runs > 0 ? await questionOf(pause, held) : undefined
  if (question && !(await ask(question))) return undefined
  const isHandled = await question?.begin?.()
  await invoke(skill, args)
  const { name = '', label } = pause
  const said = resumedText({ kind: kindInWords(kind), name, label })
  return held ? `${said} ${isHandled ? handledText(held.many) : ranText(held)}` : said
}

const handledText = (many) => `${count(many, 'message')} ${many === 1 ? 'is' : 'are'} recorded as handled.`

/** What became of the held messages of a pause that has ended. */
function ranText({ many, runs, isCut, others, forBudget }) {
  const rest =
    others.length === 0
      ? ''
      : ` ${count(others.length, 'message')} still ${others.length === 1 ? 'waits' : 'wait'} for another pause.`
  if (many + runs === 0 && rest) return rest.trim()
  return `${waitedText(many, nextOf(many, forBudget), { isCut, runs })}${rest}`
}

function nextOf(many, { waiting, until }) {
  if (waiting === 0) return many === 1 ? ', and runs now' : ', and run now'
  if (waiting >= many) return ` and still ${many === 1 ? 'waits' : 'wait'} for ${budgetUntil(until)}`
  return `: ${waiting.toLocaleString('en')} still for ${budgetUntil(until)}; the others run now`
}

/**
 * The messages that only this pause holds. If they cannot be read, their known number. `runs`: see
 * `heldRuns`.
 */
async function readHeld(pause) {
  const runs = await heldRuns(pause)
  const held = await heldBy(pause).catch(() => ({
    ids: [],
    others: [],
    messages: [],
    routeOf: new Map(),
    isCut: true,
  }))
  const { ids, others, isCut } = held
  const many = isCut ? Math.max(ids.length, (pause.waiting ?? 0) - others.length) : ids.length
  return { ...held, many, runs, forBudget: await waitingForBudget(held, many) }
}

/** How many messages will then wait for a used-up budget of their skills, and until when. */
async function waitingForBudget({ ids, routeOf }, many) {
  const usedUp = now.value?.usedUp ?? []
  if (ids.length === 0 || usedUp.length === 0) return { waiting: 0 }
  const routes = await invoke('route-list').catch(() => [])
  const found = ids.flatMap((id) => {
    const to = routes.find(({ name }) => name === routeOf.get(id))?.to
    return usedUp.find(({ skill }) => skill === to) ?? []
  })
  const waiting = found.length === ids.length ? many : found.length
  return { waiting, until: Math.min(...found.map(({ until }) => until)) }
}

/** Whether `resumeWith` probably asks before it ends a pause. */
export function asks({ kind, waiting = 0, runs = 0 }) {
  return kind === 'store' || waiting + runs > 0
}

/** The question before the messages of a pause run. */
async function questionOf(pause, held) {
  const { kind, name, label = name } = pause
  const { many, others, isCut } = held
  const starts = [
    many > 0 && startText({ ...held, count: count(many, 'message', isCut ? '+' : '') }),
    held.runs > 0 && heldRunsText(held.runs, ` and ${held.runs === 1 ? 'runs' : 'run'} now`),
  ]
  const use = many > 0 ? await useText(pause) : ''
  const runs = `${starts.filter(Boolean).join(' ')}${othersIn(others.length)}${use}`
  if (kind === 'conversation')
    return handBack(pause, { ...held, isAnswered: await isAnswered(pause, held) }, runs)
  return { title: `Resume ${kindInWords(kind)} ${label}?`, body: runs, action: 'Resume' }
}

/** When the messages of a pause run: now, or when their used-up budget is available again. */
function startText({ many, count, forBudget }) {
  const { waiting, until } = forBudget
  const verb = many === 1 ? 'waits' : 'wait'
  if (waiting === 0) return `${count} ${verb} and ${many === 1 ? 'runs' : 'run'} now, oldest first.`
  if (waiting >= many) return `${count} still ${verb} for ${budgetUntil(until)}.`
  return `${count} ${verb}: ${waiting.toLocaleString('en')} still for ${budgetUntil(until)}; the others run now, oldest first.`
}

const budgetUntil = (until) => `a used-up budget, until ${clockOf(until)}`

/** The expected budget use of waiting messages, after a space; empty if unknown. */
async function useText(pause) {
  const { budgets = [] } = await invoke('cost', { since: '1d' }).catch(() => ({}))
  const text = resumedUseText(budgets, pause, { time: clockOf, amount: amountIn })
  return text && ` ${text}`
}

/** Whether somebody has answered since the newest of the waiting messages of a conversation. */
export async function isAnswered({ gateway, name: conversation }, { messages }) {
  const { reply } = await invoke('conversation-show', { gateway, conversation, limit: 1 }).catch(() => ({}))
  return reply !== undefined && messages.every(({ at }) => at < reply.at)
}

/**
 * The question before a conversation is handed back: it lists the messages that run, and offers to
 * record them as handled, as the person may have answered them already.
 */
function handBack(pause, { ids, messages, isCut, isAnswered }, runs) {
  const canDismiss = !isCut && mayRun('conversation-pause')
  let isHandled = canDismiss && isAnswered
  const choose = (event) => {
    isHandled = event.target.checked
  }
  const oldestFirst = messages.toReversed()
  const left = oldestFirst.length - MAX_LISTED
  const body = html`<p>${runs}</p>
    <ul class="plain">${oldestFirst.slice(0, MAX_LISTED).map((message) => html`<li key=${message.id}><${Gist} of=${message} /> <span class="dim"><${Age} at=${message.at} /> ago</span></li>`)}${left > 0 && html`<li class="dim">and ${left} more</li>`}</ul>
    ${canDismiss && html`<p><label><input type="checkbox" checked=${isHandled} onChange=${choose} /> ${ids.length === 1 ? 'I have answered it: no skill runs for it' : 'I have answered them: no skill runs for them'}</label></p>`}`
  return {
    title: pause.label ? `Hand ${pause.label} back?` : 'Hand the conversation back?',
    body,
    action: 'Hand back',
    async begin() {
      if (isHandled) await dismiss(pause, ids)
      return isHandled
    },
  }
}

/**
 * Records waiting messages as handled by a person. Throws if another message has come since they
 * were listed: nobody has read it.
 */
export async function dismiss(pause, ids) {
  const { gateway, name, reason } = pause
  const place = { gateway, conversation: name }
  const again = { ...place, ...(reason && { reason }) }
  const { ids: now } = await heldBy(pause)
  if (now.some((id) => !ids.includes(id))) throw new Error(CAME_MEANWHILE)
  await invoke('conversation-pause', { ...again, drop: true })
  try {
    await recorded(ids)
  } finally {
    // Later messages wait again.
    await invoke('conversation-pause', again)
  }
  const { messages } = await invoke('message-search', { ...place, outcome: 'dropped', limit: 1 })
  const last = ids.toSorted().at(-1)
  if (messages.some(({ id }) => id > last)) throw new Error(CAME_MEANWHILE)
}

/** Waits until messages are recorded as handled. */
async function recorded(ids) {
  for (const end = Date.now() + DISMISSAL.for; Date.now() < end; ) {
    const attempts = await invoke('message-attempts', { ids })
    if (attempts.every(({ outcome }) => outcome !== 'waiting' && outcome !== 'running')) return
    await new Promise((resolve) => setTimeout(resolve, DISMISSAL.every))
  }
  throw new Error('Some messages are not recorded as handled yet, so it was not handed back. Try again.')
}

function othersIn(many) {
  return many === 0 ? '' : ` Another pause still holds ${count(many, 'more message')}.`
}
