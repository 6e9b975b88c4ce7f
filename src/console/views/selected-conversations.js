import { useLayoutEffect, useRef } from 'preact/hooks'
import { invoke, isViewer } from '../lib/api.js'
import { reasonField } from '../lib/ask-reason.js'
import { handBackQuestion } from '../lib/hand-back.js'
import { html } from '../lib/html.js'
import { onKey } from '../lib/keys.js'
import { act, ask, say, useOnce } from '../lib/parts.js'
import { pauseForm } from '../lib/pause-form.js'
import { SelectionBar } from '../lib/selection.js'
import { count } from '../lib/troubles.js'
import { senderOf } from './messages.js'

/** Maximum number of names in a question. */
const MAX_NAMES = 6

/** What each action is for, why it is disabled otherwise, and its question. */
const ACTIONS = [
  {
    key: 's',
    word: 'Settle',
    done: 'settled',
    isFor: ({ waitingSince }) => waitingSince !== undefined,
    otherwise: 'Nobody waits in them',
    question: settleQuestion,
  },
  {
    key: 't',
    word: 'Take over',
    done: 'taken over',
    isFor: ({ heldBy }) => heldBy === undefined,
    otherwise: 'They are already taken over',
    question: takeOverQuestion,
  },
  {
    key: 'h',
    word: 'Hand back',
    done: 'handed back',
    isFor: ({ heldBy }) => heldBy !== undefined,
    otherwise: 'Nobody has taken them over',
    question: handBackQuestion,
  },
]

/**
 * What can be done with the selected conversations. `showsNewest`: each row has the newest message of
 * its conversation. `done` runs after a change.
 */
export function SelectedConversations({ selection, showsNewest, done }) {
  const [isBusy, once] = useOnce()
  const latest = useRef()
  const run = (action) =>
    once(() => runOn(action, selection.chosen.filter(action.isFor), { showsNewest, finish }))
  const finish = () => {
    selection.clear()
    done()
  }
  latest.current = run
  const hasKeys = selection.chosen.length > 0 && !isViewer.value
  useLayoutEffect(() => {
    if (!hasKeys) return
    const ends = ACTIONS.map((action) =>
      onKey(action.key, `${action.word} the selected …`, () => latest.current(action)),
    )
    return () => {
      for (const end of ends) end()
    }
  }, [hasKeys])
  return html`<${SelectionBar} of=${selection}>${ACTIONS.map((action) => {
    const many = selection.chosen.filter(action.isFor).length
    return html`<button key=${action.key} changes type="button" disabled=${many === 0} aria-disabled=${isBusy} title=${many === 0 ? action.otherwise : ''} onClick=${() => run(action)}>${action.word}${many > 0 && ` ${many}`} … <kbd>${action.key}</kbd></button>`
  })}<//>`
}

/** Asks once, then changes each conversation. Says how many were changed, and why others were not. */
async function runOn({ word, done, question }, rows, { showsNewest, finish }) {
  if (rows.length === 0) return
  await act(async () => {
    const { change, ...asked } = await question(rows, showsNewest)
    const title = `${word} ${count(rows.length, 'conversation')}?`
    const about = html`<${Names} of=${rows} />`
    const given = await ask({ title, about, action: word, ...asked })
    if (!given) return undefined
    const failures = []
    for (const row of rows)
      await change(row, given).catch(({ message }) => failures.push(`${senderOf(row.from)}: ${message}`))
    finish()
    const changed = rows.length - failures.length
    if (failures.length === 0) return `${count(changed, 'conversation')} ${done}.`
    say(`${changed} ${done}; ${failures.length} failed: ${failures.join('; ')}`, 'bad')
    return undefined
  })
}

function Names({ of }) {
  return html`<p class="dim">${namesOf(of)}</p>`
}

function namesOf(rows) {
  const names = rows.slice(0, MAX_NAMES).map(({ from }) => senderOf(from))
  return `${names.join(', ')}${rows.length > MAX_NAMES ? ` and ${rows.length - MAX_NAMES} more` : ''}`
}

/** What settling does not end: answers that were not delivered, and open requests for approval. */
function StillOpen({ of }) {
  const undelivered = of.filter((row) => row.undelivered !== undefined)
  const open = of.filter(({ outcome }) => outcome === 'approval')
  return html`${undelivered.length > 0 && html`<p class="problem">The last answer to ${namesOf(undelivered)} was not delivered; settling does not send it.</p>`}
    ${open.length > 0 && html`<p class="problem">A request for approval is open for ${namesOf(open)}; once decided, the answer still goes out.</p>`}`
}

/** If the rows show the newest messages, no conversation with a newer one is settled. */
function settleQuestion(rows, showsNewest) {
  const { field, given } = reasonField()
  const body = html`<p>Nobody waits in them any more, until the next message arrives.</p><${StillOpen} of=${rows} />${field}`
  const change = ({ gateway, conversation, id }) =>
    invoke('conversation-settle', { gateway, conversation, ...(showsNewest && { newest: id }), ...given() })
  return { body, change }
}

function takeOverQuestion() {
  const change = ({ gateway, conversation }, given) =>
    invoke('conversation-pause', { gateway, conversation, ...given })
  const form = pauseForm({ kind: 'conversation', isForSeveral: true, action: 'Take over' })
  return { ...form, change }
}
