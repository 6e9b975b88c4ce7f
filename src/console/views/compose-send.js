import { useEffect, useRef, useState } from 'preact/hooks'
import { TEST_LASTS } from '../../lib/last-attempt.ts'
import { call } from '../lib/api.js'
import { html } from '../lib/html.js'
import { act, ask, Facts, useLoaded } from '../lib/parts.js'
import { pausesOfDaemon } from '../lib/pauses.js'
import { runCostText } from '../lib/run-average.js'
import { noteTest } from '../lib/tests.js'
import { Receivers, receiversOf } from './compose-receivers.js'
import { effectOf } from './routing.js'

/** Delay (ms) after the last key before routes are explained. */
const SETTLE = 300

/** A message as the API accepts it, of the fields of the form. */
export function draftOf(gateway, { text = '', event, headers, data, ...args }) {
  const own = { ...data, ...(event && { event }), ...(headers && { headers }) }
  return { gateway, ...args, text, ...(Object.keys(own).length > 0 && { data: own }) }
}

/** Sends a test. Asks once per route and receivers, because the skill really runs. */
export function useSend(setSent) {
  const [isBusy, setBusy] = useState(false)
  const confirmed = useRef(new Set())
  const send = async ({ gateway, values, draft, warning }) => {
    if (isBusy) return
    await act(async () => {
      const { routes, message } = await explain(draft)
      const taken = routes.find((route) => route.chosen)
      const receivers = await receiversOf(gateway)
      const way = JSON.stringify([gateway, taken?.route, receivers?.map(({ name }) => name)])
      if (!confirmed.current.has(way) && !(await askFor(message, taken, warning, receivers))) return
      confirmed.current.add(way)
      setBusy(true)
      const { id } = await call('POST', '/v1/messages', { ...draft, test: true, wait: 0 }).finally(() =>
        setBusy(false),
      )
      const test = { key: id, at: Date.now(), gateway, values, draft, id, ...takenBy(taken) }
      noteTest(test)
      setSent(test)
    })
  }
  return { send, isBusy }
}

/** What the result of a test says about its route. */
function takenBy({ route, skill, keys = [] } = {}) {
  return { route, skill, by: keys.map(({ key, wanted }) => ({ key, wanted })) }
}

async function askFor({ gateway, conversation }, taken, warning, receivers) {
  const facts = {
    route: taken ? html`<b>${taken.route}</b>: ${effectOf(taken)}.` : 'No route matches.',
    effects: taken && 'Its reply is only shown here; its other effects are real.',
    cost: taken?.skill && (await runCostText(taken.skill)),
    'if it fails': taken && failing(taken),
    conversation: conversation
      ? html`<b>${conversation}</b>. Its later messages wait until this one ends.`
      : 'its own',
    events: html`<${Receivers} of=${receivers} />`,
  }
  const body = html`${warning && html`<p class="warn-text">The text is sent as it is. ${warning}.</p>`}<${Facts} of=${facts} />`
  return ask({ title: `Send this message to ${gateway}?`, body, action: 'Send test message' })
}

/** What happens to a test that fails. One that waits for a pause or a budget may be too old for another attempt. */
function failing({ pausedBy = [], usedUp }) {
  const waits = usedUp ? [...pausedBy, usedUp] : pausedBy
  const isLate = waits.some(({ until = Number.POSITIVE_INFINITY }) => until > Date.now() + TEST_LASTS)
  return isLate
    ? 'It becomes a dead letter: a test is only retried in its first 5 minutes.'
    : 'It is retried for up to 5 minutes, then it becomes a dead letter.'
}

/** The routes that would take a draft, and the message that it would become. */
async function explain(draft, signal) {
  const [routes, message] = await Promise.all(
    ['/v1/explain', '/v1/draft'].map((path) => call('POST', path, draft, signal)),
  )
  return { routes, message }
}

/** The explanation of a draft, once typing pauses. */
export function useExplained(draft, isWrong) {
  const wanted = JSON.stringify(draft)
  const [settled, setSettled] = useState(wanted)
  useEffect(() => {
    const timer = setTimeout(() => !isWrong && setSettled(wanted), SETTLE)
    return () => clearTimeout(timer)
  }, [wanted, isWrong])
  // Again after a pause: the message may wait for it.
  return useLoaded((signal) => explain(JSON.parse(settled), signal), [settled, pausesOfDaemon()])
}
