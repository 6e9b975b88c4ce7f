import { html } from './html.js'
import { now } from './live.js'
import { Age, Badge } from './parts.js'
import { link } from './router.js'

/**
 * That the last reload failed, and why: what was changed in the files is not in force. `children`: a
 * way to the files, where the page does not show them.
 */
export function FailedReload({ of: { ok, at, goodAt, error }, children }) {
  if (ok) return null
  return html`<section class="failed-reload" aria-label="The last reload failed"><p><${Badge} kind="bad">failed<//> The reload <${Age} at=${at} /> ago. What was read <${Age} at=${goodAt} /> ago stays in force.${children}</p>
    <pre tabindex="0" aria-label="What is wrong">${error}</pre></section>`
}

/** The same on the page of what routes.yaml configures: somebody may be repairing it. */
export function ReloadOfDaemon() {
  const { configuration } = now.value ?? {}
  return (
    configuration &&
    html`<${FailedReload} of=${configuration}> <a href=${link('configuration')}>See the configuration</a><//>`
  )
}
