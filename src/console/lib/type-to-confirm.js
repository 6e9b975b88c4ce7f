import { html } from './html.js'

/**
 * The field for the number of things that an erasure takes, which must be typed before it. `what`: these
 * things. `answers`: the number, and other texts that are accepted instead.
 */
export function TypeToConfirm({ what, answers, typed }) {
  const [number] = answers
  const isOther = !answers.some((answer) => answer.startsWith(typed.value))
  return html`<label>Type the number of ${what}, <code>${number}</code>, to confirm <input autofocus data-confirms autocomplete="off" spellcheck=${false} onInput=${(
    event,
  ) => {
    typed.value = event.target.value.trim()
  }} /></label><p class="error" role="status">${isOther && `This is not ${number}.`}</p>`
}
