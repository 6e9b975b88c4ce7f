import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import type { Trouble } from '../../core/trouble.ts'
import { HOUR } from '../../core/units.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { newAndReplayed } from '../../lib/new-and-replayed.ts'
import { capitalised, error, warning } from './trouble-parts.ts'

/** How long (ms) a failure is a trouble if nothing is retried. The receiver may work again. */
const KNOWN_FOR = HOUR
const NOTHING = 'Nothing waits to be sent: its next event shows whether the receiver works again.'

/** A push that sends nothing, or of whose attempts a large share fails. `at`: Unix ms. */
export function subscriptionTroubles(subscription: SubscriptionInfo, at: number): Trouble[] {
  const { name, state, detail = 'It gave no reason', waiting, failedAt = at } = subscription
  if (state === 'active') return errorTroubles(subscription, at)
  const hasNothing = state === 'failing' && waiting === 0
  if (hasNothing && at - failedAt > KNOWN_FOR) return []
  const more = hasNothing ? ` ${NOTHING}` : waiting > 0 ? ` ${backlogText(subscription)}` : ''
  const text = `${capitalised(detail)}.${more}`
  const where = { subscription: name }
  const since = subscription.paused?.since ?? subscription.failingSince
  const counts = { count: waiting, ...defined({ since }) }
  if (state === 'paused') {
    const todo = `${commandText('subscription resume', name)} sends them.`
    return [warning('subscription-paused', where, { title: `Push ${name} is paused`, text, todo, ...counts })]
  }
  if (hasNothing) {
    const todo = `Fix its receiver; ${commandText('subscription show', name)} has the attempts.`
    return [warning('subscription-down', where, { title: `Push ${name} fails`, text, todo, ...counts })]
  }
  const title = state === 'disabled' ? `Push ${name} is switched off` : `Push ${name} fails`
  const verb = state === 'disabled' ? 'resume' : 'retry'
  const todo = `Fix its receiver; events are kept meanwhile. ${commandText(`subscription ${verb}`, name)} tries at once.`
  return [error('subscription-down', where, { title, text, todo, ...counts })]
}

/** `At least 70 events wait: 5 queued, 65 unread.` */
function backlogText({ waiting, replayed, queued, matching, more }: SubscriptionInfo): string {
  const least = more ? 'At least ' : ''
  const parts = replayed === undefined ? '' : `${newAndReplayed(waiting, replayed)}; `
  return `${least}${counted(waiting, 'event waits', 'events wait')}: ${parts}${queued} queued, ${matching} unread.`
}

function errorTroubles({ name, errors }: SubscriptionInfo, at: number): Trouble[] {
  if (!errors || at - errors.lastAt > KNOWN_FOR) return []
  const { failed, of, since, reason } = errors
  const title = `Push ${name} fails on many attempts`
  const text = `${failed} of the last ${of} attempts failed, the last one because ${reason}. Failed events are tried again, and become dead letters after all their attempts.`
  const todo = `Fix its receiver; ${commandText('subscription show', name)} has the attempts.`
  return [warning('subscription-errors', { subscription: name }, { title, text, todo, count: failed, since })]
}
