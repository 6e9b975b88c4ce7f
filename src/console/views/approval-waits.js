import { html } from '../lib/html.js'
import { useWaitingApprovals } from '../lib/route-state.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'
import { useWaitingRequests } from '../lib/waiting-requests.js'

/** `3 messages wait for an approval`, linked to them and to the approvals. */
export function WaitForApproval({ route, many }) {
  return html`<a href=${link('messages', { route, outcome: 'approval' })}>${count(many, 'message')}</a> ${many === 1 ? 'waits' : 'wait'} for an <a href=${link('approvals')}>approval</a>`
}

/** The requests for runs of a skill that wait for an approval, in one line. */
export function RequestsForSkill({ name }) {
  const many = useWaitingRequests().of(name)
  if (many === 0) return null
  return html`<p class="now-it warn"><a href=${link('approvals', { search: name })}>${count(many, 'request')}</a> to run it ${many === 1 ? 'waits' : 'wait'} for an approval.</p>`
}

/** The messages of the routes of a skill that wait for an approval, one line per route. */
export function ApprovalsOfSkill({ routes }) {
  const counts = useWaitingApprovals()
  return routes.map((route) => {
    const approvals = counts[route.name] ?? 0
    return (
      approvals > 0 &&
      html`<p key=${route.name} class="now-it warn"><${WaitForApproval} route=${route.name} many=${approvals} /> (route <a href=${link(['routes', route.name])}>${route.name}</a>).</p>`
    )
  })
}
