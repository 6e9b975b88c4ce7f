import { html } from './html.js'
import { ChangePause } from './pause.js'
import { usePauses } from './pauses.js'

/** The button that changes the pause that a trouble is about. `of`: its kind and name. */
export function ChangeOnNow({ of: { kind, name } }) {
  const { value = [], reload } = usePauses()
  const pause = value.find((each) => each.kind === kind && each.name === name)
  return pause ? html`<${ChangePause} of=${pause} done=${reload} />` : null
}
