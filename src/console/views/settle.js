import { invoke } from '../lib/api.js'
import { askReason } from '../lib/ask-reason.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { Age, act, Moment } from '../lib/parts.js'

/** A button that asks, and marks a conversation as settled. */
export function Settle({ gateway, conversation, done }) {
  const settle = async () => {
    const title = 'No answer is needed?'
    const body = html`<p>Nobody waits here any more, until the next message arrives.</p>`
    const why = await askReason({ title, body, action: 'It is settled' })
    if (!why) return
    await act(async () => {
      await invoke('conversation-settle', { gateway, conversation, ...why })
      return 'The conversation is settled.'
    })
    done()
  }
  return html`<button changes type="button" class="linkish" onClick=${settle}>No answer is needed …</button>`
}

/** Who has settled a conversation, when and why. */
export function SettledNote({ of: { by, at, reason } }) {
  return html`<p class="now-it">Settled by ${authorOf(by)} <${Age} at=${at} /> ago, on <${Moment} at=${at} />${reason ? html`: <span class="said-reason">${reason}</span>` : '.'}</p>`
}
