import { resumePush } from './group-actions.js'
import { html } from './html.js'
import { now } from './live.js'
import { act, useOnce } from './parts.js'
import { ChangePause } from './pause.js'
import { placeOfPause } from './pauses.js'
import { asks, resumeWith } from './resume.js'

/** The buttons that change and end a pause where it is shown. `done` is called after that. */
export function Resume({ of: pause, done }) {
  const { kind, name, label = name } = pause
  const [isBusy, once] = useOnce()
  const push = kind === 'subscription' && now.value?.subscriptions?.find((each) => each.name === name)
  const resume = async () => {
    const { args, skill } = placeOfPause(pause)
    if (push) await resumePush(push)
    else await act(async () => ((await resumeWith(skill, args, pause)) ? `${label} goes on.` : undefined))
    done?.()
  }
  return html`<${ChangePause} of=${pause} done=${done} /> <button changes type="button" class="small" aria-disabled=${isBusy} onClick=${() => once(resume)} aria-label=${`Resume ${kind} ${label}`}>Resume${(push || asks(pause)) && ' …'}</button>`
}
